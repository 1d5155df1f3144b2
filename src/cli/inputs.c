/*- inputs.c: from --input texts and --params arrays to the arguments of a call.
 *
 *     SPEC    [NAME[.FIELD]...=]VALUE
 *     VALUE   A.npy | B.npz:MEMBER | int64:5 | float32:0.5 | bool:1 | shape:2,3 | str:TEXT |
 *             zeros | ones | random:7 | 1.0,2.0    (generate.c)
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* An argument, or a field of one while a tuple is put together. */
typedef struct slot {
    bool set;
    relax_value value;
    struct slot *fields;
    size_t num_fields;
    const relax_description *of; /* what belongs here; NULL: not known */
    const char *made;            /* VALUE, which waits until sizes are known; NULL: none */
} slot;

static void free_slot(slot *s)
{
    relax_value_release(&s->value);
    for (size_t i = 0; i < s->num_fields; i++)
        free_slot(&s->fields[i]);
    free(s->fields);
}

/* ---- one value ------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

static int read_npz_member(const cli *c, const char *text, const char *colon, relax_value *out)
{
    char path[4096];
    if ((size_t)(colon - text) >= sizeof path)
        return cli_usage(c, "path too long: %s", text);
    memcpy(path, text, (size_t)(colon - text));
    path[colon - text] = 0;
    cli_arrays arrays = { 0 };
    if (!cli_npz_read(c, path, colon + 1, &arrays))
        return CLI_FAULT;
    relax_value_set_tensor(out, arrays.items[0].tensor);
    cli_arrays_free(&arrays);
    return CLI_OK;
}

static int read_shape(const cli *c, const char *text, relax_value *out)
{
    int64_t dims[64];
    size_t ndim = 0;
    char number[32];
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, ",");
        if (ndim == 64 || !len || len >= sizeof number)
            return cli_usage(c, "shape:2,3 lists numbers, found shape:%s", text);
        memcpy(number, p, len);
        number[len] = 0;
        if (!cli_parse_int(number, &dims[ndim++]))
            return cli_usage(c, "shape:2,3 lists numbers, found shape:%s", text);
        p += len + (p[len] == ',');
    }
    return relax_value_set_shape(out, dims, ndim, NULL) == RELAX_OK
               ? CLI_OK
               : cli_error(c, "IN02", NULL, "out of memory");
}

static int read_scalar(const cli *c, relax_dtype dtype, const char *text, relax_value *out)
{
    int64_t i;
    double f;
    int code = dtype & 0xff;
    bool is_bool = dtype == RELAX_BOOL,
         is_float = code != RELAX_DTYPE_INT && code != RELAX_DTYPE_UINT;
    if (is_bool && (!strcmp(text, "true") || !strcmp(text, "True") || !strcmp(text, "1")))
        return relax_value_set_bool(out, 1), CLI_OK;
    if (is_bool && (!strcmp(text, "false") || !strcmp(text, "False") || !strcmp(text, "0")))
        return relax_value_set_bool(out, 0), CLI_OK;
    if (is_float && cli_parse_number(text, &f))
        return relax_value_set_float(out, f), CLI_OK;
    if (!is_bool && !is_float && cli_parse_int(text, &i))
        return relax_value_set_int(out, i), CLI_OK;
    return cli_usage(c, is_bool ? "a truth value is true or false, found %s"
                                : "not a scalar of that dtype: %s", text);
}

static int read_value(const cli *c, const char *text, relax_value *out)
{
    const char *colon = strrchr(text, ':'), *first = strchr(text, ':');
    relax_dtype dtype;
    if (!strncmp(text, "str:", 4))
        return relax_value_set_string(out, text + 4, strlen(text + 4), NULL) == RELAX_OK
                   ? CLI_OK
                   : cli_error(c, "IN02", NULL, "out of memory");
    if (!strncmp(text, "shape:", 6))
        return read_shape(c, text + 6, out);
    if (first && relax_dtype_parse(text, (size_t)(first - text), &dtype) == RELAX_OK &&
        dtype != RELAX_VOID)
        return read_scalar(c, dtype, first + 1, out);
    if (colon && colon - text > 4 && !strncmp(colon - 4, ".npz", 4))
        return read_npz_member(c, text, colon, out);
    if (ends_with(text, ".npz"))
        return cli_usage(c, "%s is an archive: name a member, %s:MEMBER", text, text);
    relax_tensor *tensor = cli_npy_read(c, text);
    if (!tensor)
        return CLI_FAULT;
    relax_value_set_tensor(out, tensor);
    relax_tensor_release(tensor);
    return CLI_OK;
}

/* ---- where it goes -------------------------------------------------------------------------- */

static size_t find_param(const relax_executable *exe, size_t function, const char *name, size_t len)
{
    for (size_t i = 0; i < relax_executable_num_params(exe, function); i++) {
        size_t n;
        const char *p = relax_executable_param_name(exe, function, i, &n);
        if (p && n == len && !memcmp(p, name, len))
            return i;
    }
    return RELAX_NOT_FOUND;
}

/* Field `index` of a tuple under construction; NULL when it is no sensible number or memory is
 * out. */
static slot *field_of(const relax_executable *exe, slot *s, const char *text, size_t len)
{
    size_t index = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || index > 9999)
            return NULL;
        index = index * 10 + (size_t)(text[i] - '0');
    }
    if (!len || s->set || s->made)
        return NULL;
    if (index >= s->num_fields) {
        slot *more = realloc(s->fields, (index + 1) * sizeof *more);
        if (!more)
            return NULL;
        memset(more + s->num_fields, 0, (index + 1 - s->num_fields) * sizeof *more);
        s->fields = more;
        s->num_fields = index + 1;
    }
    s->fields[index].of = relax_description_field(exe, s->of, index);
    return &s->fields[index];
}

/* "x, w" */
static void list_params(const relax_executable *exe, size_t function, char *text, size_t size)
{
    size_t count = relax_executable_num_params(exe, function), used = 0;
    snprintf(text, size, "no parameters");
    for (size_t i = 0; i < count && used + 4 < size; i++) {
        const char *name = relax_executable_param_name(exe, function, i, NULL);
        int n = snprintf(text + used, size - used, "%s%s", i ? ", " : "", name ? name : "?");
        used += n > 0 ? (size_t)n : 0;
    }
}

/* "NAME.0.1" -> slot. */
static slot *named_slot(const cli *c, const relax_executable *exe, size_t function, slot *slots,
                        const char *name, size_t len)
{
    const char *dot = memchr(name, '.', len);
    size_t head = dot ? (size_t)(dot - name) : len;
    size_t param = find_param(exe, function, name, head);
    if (param == RELAX_NOT_FOUND) {
        char names[400];
        list_params(exe, function, names, sizeof names);
        cli_error(c, "RT01", c->files[0], "%s has no parameter %.*s; it has: %s",
                  relax_executable_function_name(exe, function, NULL), (int)head, name, names);
        return NULL;
    }
    slot *s = &slots[param];
    while (dot) {
        const char *from = dot + 1, *end = name + len;
        dot = memchr(from, '.', (size_t)(end - from));
        s = field_of(exe, s, from, (size_t)((dot ? dot : end) - from));
        if (!s) {
            cli_usage(c, "not a field of a tuple: %.*s", (int)len, name);
            return NULL;
        }
    }
    return s;
}

/* The NAME of NAME=VALUE: what stands before the first '=', if it looks like a name (a path may
 * hold '=' too). */
static size_t name_length(const char *text)
{
    size_t n = 0;
    while (text[n] == '_' || text[n] == '.' || (text[n] >= '0' && text[n] <= '9') ||
           (text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z'))
        n++;
    return text[n] == '=' ? n : 0;
}

static bool is_taken(const slot *s) { return s->set || s->num_fields || s->made; }

/* Bytes for a parameter of float8 are its elements: numpy alone cannot name that type. */
static int take_bytes(const cli *c, const relax_executable *exe, slot *s)
{
    relax_dtype want = s->of && relax_description_kind(exe, s->of) == RELAX_VALUE_KIND_TENSOR
                           ? relax_description_dtype(exe, s->of)
                           : RELAX_VOID;
    relax_tensor *t = relax_value_get_tensor(&s->value), *copy = NULL;
    if (!t || relax_tensor_dtype(t) != RELAX_UINT8 ||
        (want != RELAX_FLOAT8_E4M3FN && want != RELAX_FLOAT8_E5M2))
        return CLI_OK;
    if (relax_tensor_create(want, relax_tensor_shape(t), relax_tensor_ndim(t), NULL, &copy, NULL) != RELAX_OK ||
        relax_tensor_copy_in(copy, relax_tensor_data(t), relax_tensor_bytes(t)) != RELAX_OK) {
        relax_tensor_release(copy);
        return cli_error(c, "IN02", NULL, "out of memory");
    }
    relax_value_release(&s->value);
    relax_value_set_tensor(&s->value, copy);
    relax_tensor_release(copy);
    return CLI_OK;
}

static int place_input(const cli *c, const relax_executable *exe, size_t function, slot *slots,
                       size_t count, size_t *position, const char *text)
{
    size_t len = name_length(text);
    slot *s;
    if (len) {
        s = named_slot(c, exe, function, slots, text, len);
        text += len + 1;
    } else {
        while (*position < count && is_taken(&slots[*position]))
            ++*position;
        s = *position < count ? &slots[*position] : NULL;
        if (!s)
            return cli_error(c, "RT01", c->files[0], "%s takes %zu argument%s, found one more: %s",
                             relax_executable_function_name(exe, function, NULL), count,
                             count == 1 ? "" : "s", text);
    }
    if (!s)
        return CLI_FAULT;
    if (is_taken(s))
        return cli_usage(c, "an argument is given twice: %s", text);
    if (cli_is_made(text)) {
        s->made = text;
        return CLI_OK;
    }
    int status = read_value(c, text, &s->value);
    s->set = status == CLI_OK;
    return s->set ? take_bytes(c, exe, s) : status;
}

static int close_tuple(const cli *c, slot *s)
{
    if (!s->num_fields)
        return s->set ? CLI_OK : cli_error(c, "RT01", NULL, "a field of a tuple is missing");
    relax_value *values = calloc(s->num_fields, sizeof *values);
    int status = values ? CLI_OK : cli_error(c, "IN02", NULL, "out of memory");
    for (size_t i = 0; i < s->num_fields && status == CLI_OK; i++) {
        status = close_tuple(c, &s->fields[i]);
        if (status == CLI_OK)
            values[i] = s->fields[i].value;
    }
    if (status == CLI_OK &&
        relax_value_set_tuple(&s->value, values, s->num_fields, NULL) != RELAX_OK)
        status = cli_error(c, "IN02", NULL, "out of memory");
    s->set = status == CLI_OK;
    free(values);
    return status;
}

/* Names of parameters made through the API may hold what names of text cannot. */
static bool is_weight_of(const char *weight, const char *param, size_t len)
{
    bool same = strlen(weight) == len;
    for (size_t i = 0; same && i < len; i++)
        same = weight[i] == cli_name_byte(param[i]);
    return same;
}

/* Parameters that have no argument yet get the weight of their name. */
static int fill_from_params(const cli *c, const relax_executable *exe, size_t function,
                            cli_arrays *params, slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = 0;
        const char *name = relax_executable_param_name(exe, function, i, &len);
        for (size_t k = 0; name && k < params->count && !is_taken(&slots[i]); k++) {
            if (!is_weight_of(params->items[k].name, name, len))
                continue;
            relax_tensor *tensor = cli_array_tensor(c, &params->items[k]);
            if (!tensor)
                return CLI_FAULT;
            relax_value_set_tensor(&slots[i].value, tensor);
            slots[i].set = true;
        }
    }
    return CLI_OK;
}

static bool note_sizes(const relax_executable *exe, const slot *s, cli_sizes *sizes)
{
    bool ok = !s->set || cli_sizes_of(sizes, exe, s->of, &s->value);
    for (size_t i = 0; ok && i < s->num_fields; i++)
        ok = note_sizes(exe, &s->fields[i], sizes);
    return ok;
}

static int make_values(const cli *c, const relax_executable *exe, slot *s, const char *name,
                       const cli_sizes *sizes)
{
    int status = CLI_OK;
    if (s->made) {
        status = cli_make_value(c, exe, s->of, name, s->made, sizes, &s->value);
        s->set = status == CLI_OK;
    }
    for (size_t i = 0; status == CLI_OK && i < s->num_fields; i++)
        status = make_values(c, exe, &s->fields[i], name, sizes);
    return status;
}

/* Arguments that are made are made last: the others say what sizes are. */
static int make_all(const cli *c, const relax_executable *exe, size_t function, slot *slots,
                    size_t count)
{
    cli_sizes sizes = { 0 };
    int status = cli_sizes_read(c, &sizes);
    for (size_t i = 0; i < count && status == CLI_OK; i++)
        if (!note_sizes(exe, &slots[i], &sizes))
            status = cli_error(c, "IN02", NULL, "out of memory");
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        const char *name = relax_executable_param_name(exe, function, i, NULL);
        status = make_values(c, exe, &slots[i], name ? name : "the argument", &sizes);
        if (status == CLI_OK && !note_sizes(exe, &slots[i], &sizes))
            status = cli_error(c, "IN02", NULL, "out of memory");
    }
    cli_sizes_free(&sizes);
    return status;
}

static int complete(const cli *c, const relax_executable *exe, size_t function, slot *slots,
                    size_t count, bool has_params)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i].num_fields && close_tuple(c, &slots[i]) != CLI_OK)
            return CLI_FAULT;
        if (slots[i].set)
            continue;
        const char *name = relax_executable_param_name(exe, function, i, NULL);
        relax_bytes *is = relax_executable_param_text(exe, function, i);
        int status = cli_error(c, "RT01", c->files[0],
                               "no argument for parameter %zu (%s%s%s): give it with --input%s", i + 1,
                               name ? name : "?", is ? ": " : "", is ? relax_bytes_data(is) : "",
                               has_params ? "; --params has no array of that name" : " or --params");
        relax_bytes_release(is);
        return status;
    }
    return CLI_OK;
}

int cli_bind_inputs(const cli *c, const relax_executable *exe, size_t function,
                    cli_arrays *params, relax_value **args, size_t *num_args)
{
    size_t count = relax_executable_num_params(exe, function), position = 0;
    slot *slots = calloc(count + 1, sizeof *slots);
    *args = calloc(count + 1, sizeof **args);
    int status = slots && *args ? CLI_OK : cli_error(c, "IN02", NULL, "out of memory");
    for (size_t i = 0; slots && i < count; i++)
        slots[i].of = relax_executable_param(exe, function, i);
    for (int i = 0; i < c->num_inputs && status == CLI_OK; i++)
        if (!c->bound || !c->bound[i])
            status = place_input(c, exe, function, slots, count, &position, c->inputs[i]);
    if (status == CLI_OK)
        status = fill_from_params(c, exe, function, params, slots, count);
    if (status == CLI_OK)
        status = make_all(c, exe, function, slots, count);
    if (status == CLI_OK)
        status = complete(c, exe, function, slots, count, params->count > 0);
    for (size_t i = 0; slots && i < count; i++) {
        if (status == CLI_OK) {
            (*args)[i] = slots[i].value;
            slots[i].value = (relax_value){ 0 };
        }
        free_slot(&slots[i]);
    }
    *num_args = status == CLI_OK ? count : 0;
    free(slots);
    return status;
}

void cli_release_values(relax_value *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        relax_value_release(&values[i]);
    free(values);
}
