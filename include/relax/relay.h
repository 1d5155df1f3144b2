/*- relay.h: Relay, Relax's predecessor: its text read, checked and printed.
 *
 *     relax_relay_module *m = relax_relay_module_parse(ctx, "m.rly", 5, text, text_len);
 *     if (m && relax_relay_module_infer(m) == RELAX_OK)
 *         text = relax_relay_module_print(m);
 *     relax_relay_module_destroy(m);
 *
 * Relay is a functional language of tensors, tuples, functions, algebraic data types and references
 * whose types are inferred by unification and relations. A text is a module, which begins with
 * #[version = "0.0.5"], or one expression.
 */
#ifndef RELAX_RELAY_H
#define RELAX_RELAY_H

#include <relax/extend.h>
#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* owned: destroy it. It keeps a reference of its context and is used like it: by one thread. */
typedef struct relax_relay_module relax_relay_module;

/* Reads `text` (UTF-8) as a module of Relay or as one expression; `name` is used in messages
 * only. Types are not inferred yet. Every mistake found is a diagnostic (RY, PA07, PA08) of ctx;
 * NULL if there was one.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_relay_module *relax_relay_module_parse(relax_context *ctx,
        const char *name, size_t name_len, const char *text, size_t text_len);
/* Drops it. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
void relax_relay_module_destroy(RELAX_NULLABLE relax_relay_module *module);
/* Gives every expression its type: parameters, lets and results that are not annotated get theirs.
 * RELAX_OK, also where it was done before; else the status of the newest error, and every mistake
 * found is a diagnostic. What has failed once fails again, without further diagnostics. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
relax_status relax_relay_module_infer(relax_relay_module *module);
/* A module of Relax that computes what this one does: one function for each of its functions without type
 * parameters, under the same name as far as Relax allows it, and instances of the generic ones that these
 * use. Instances of algebraic data types are tuples of a tag (int32, the number of the constructor in
 * its definition) and an object, the tuple of the fields. Types are inferred first, if they are not yet. The
 * module is well-formed and normalised; it belongs to the context of `module` and does not need `module`
 * any more. NULL after a diagnostic (RY27, RY28: what Relax has no equivalent for).
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_relay_module_translate(relax_relay_module *module);
/* The text of the module, with the types that were inferred; read again it is an equal module, and
 * printed again the same bytes. NULL when out of memory, or where more than 400 scopes are nested,
 * which no text has that was read without graph variables. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_relay_module_print(relax_relay_module *module);

/* The type of the smallest expression around a place of the text, as text; line and column (of bytes) begin at
 * 1. Types are inferred first. NULL: nothing with a type stands there, the module has mistakes, or out of
 * memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_relay_module_type_at(relax_relay_module *module,
                                                                 uint32_t line, uint32_t column);
/* The type of a global function (`name` without its @) or of a constructor, as text; of the whole where the text is
 * one expression and `name` empty. NULL: there is none, the module has mistakes, or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_relay_module_type_of(relax_relay_module *module,
                                                                 const char *name, size_t name_len);
/* The kind of a type that is given as text, read in the scope of the module: "Type" of types of values, "AdtHandle"
 * of the name of a data type alone. Static text; NULL after a diagnostic. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_BORROWED RELAX_NULLABLE const char *relax_relay_module_kind_of(relax_relay_module *module,
                                                                     const char *type, size_t type_len);

/* ---- what a host adds to a context: relations and operators of Relay --------------------------
 *
 * Register before the first text that mentions the name; a name is registered once (OP16), and not one that
 * Relay has. A relation may be asked many times about one call, whenever something becomes known of its
 * types: it is pure and cheap, keeps none of the types it is given, and assigns only what is certain, because
 * an assignment cannot be undone. What a callback answers is judged before it counts: types of another
 * module and numbers out of range are OP17, types that do not fit each other are mistakes of the text. */

/* What a relation answers. */
enum relax_relay_outcome {
    RELAX_RELAY_HOLDS = 0,
    RELAX_RELAY_UNDECIDED = 1,   /* something is not known yet: ask again when it is */
    RELAX_RELAY_FAILS = 2
};
/* What relax_relay_type_kind gives. */
enum relax_relay_type_kinds {
    RELAX_RELAY_TYPE_TENSOR = 1,
    RELAX_RELAY_TYPE_TUPLE = 2,
    RELAX_RELAY_TYPE_FUNCTION = 3,
    RELAX_RELAY_TYPE_REFERENCE = 4,
    RELAX_RELAY_TYPE_DATA = 5,   /* an instance of an algebraic data type */
    RELAX_RELAY_TYPE_OTHER = 6,  /* a type parameter */
    RELAX_RELAY_TYPE_UNKNOWN = 7 /* not inferred yet */
};

/* borrowed: a type; lives while the callback that was given it runs */
typedef struct relax_relay_type relax_relay_type;
/* borrowed: what a callback is asked about, a relation between types or a call that is translated; lives while
 * the callback runs */
typedef struct relax_relay_call relax_relay_call;

/* How many inputs there are. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_relay_call_num_inputs(const relax_relay_call *call);
/* How many types: inputs, then outputs. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_relay_call_num_types(const relax_relay_call *call);
/* Type number `index` as far as it is known; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_relay_type *relax_relay_call_type(const relax_relay_call *call,
                                                                            size_t index);
/* Argument number `index` of a call that is translated: a leaf expression of Relax; NULL past the end, and
 * for a relation. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_relay_call_arg(const relax_relay_call *call,
                                                                     size_t index);
/* An attribute as the text or the operator's row has it. RELAX_ERROR_INVALID_ARGUMENT, and *value as it was,
 * if there is none or it is of another type; an integer is a number, too. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_relay_call_int(const relax_relay_call *call, const char *name, int64_t *value);
/* The same for a number. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_relay_call_float(const relax_relay_call *call, const char *name, double *value);
/* The same for a string, which ends with its length, not with NUL, and lives as long as the module. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_relay_call_text(const relax_relay_call *call, const char *name, const char **text,
                                   size_t *len);
/* The same for a list of integers, or one: at most `capacity` are written to `values`, *count says how many there
 * are. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_relay_call_ints(const relax_relay_call *call, const char *name, int64_t *values,
                                   size_t capacity, size_t *count);

/* RELAX_RELAY_TYPE_... */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_relay_type_kind(const relax_relay_type *type);
/* Rank of a tensor; RELAX_NOT_FOUND for other types, and where it is not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_relay_type_rank(const relax_relay_type *type);
/* Extent of a tensor along an axis; -1: it is no number that is known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_relay_type_extent(const relax_relay_type *type, size_t axis);
/* Data type of a tensor; RELAX_VOID for other types, and where it is not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_relay_type_dtype(const relax_relay_type *type);
/* Fields of a tuple, parameters of a function, type arguments of a data type; RELAX_NOT_FOUND for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_relay_type_num_parts(const relax_relay_type *type);
/* One of them; one past the parameters of a function is its result. NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_relay_type *relax_relay_type_part(const relax_relay_type *type,
                                                                            size_t index);

/* A tensor type; an extent of -1 is `?`. NULL: misuse, or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(call)
RELAX_BORROWED RELAX_NULLABLE const relax_relay_type *relax_relay_call_tensor(
        const relax_relay_call *call, const int64_t *extents, size_t rank, relax_dtype dtype);
/* A tuple type of types of this call. NULL: misuse, or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(call)
RELAX_BORROWED RELAX_NULLABLE const relax_relay_type *relax_relay_call_tuple(
        const relax_relay_call *call, const relax_relay_type *const *fields, size_t count);
/* Type number `index` is `type`: what is not known of either becomes known. A contradiction is reported; the
 * callback then returns RELAX_RELAY_FAILS. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(call)
relax_status relax_relay_call_assign(const relax_relay_call *call, size_t index,
                                     const relax_relay_type *type);
/* Two types are the same, likewise. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(call)
relax_status relax_relay_call_equal(const relax_relay_call *call, const relax_relay_type *a,
                                    const relax_relay_type *b);
/* Says what is wrong: "NAME: text" at the call (RY21). The callback then returns RELAX_RELAY_FAILS, or NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(call)
relax_status relax_relay_call_fail(const relax_relay_call *call, const char *text, size_t text_len);

/* Does the relation hold? RELAX_RELAY_... A host that thinks in truth values answers HOLDS for true and FAILS for
 * false once all types are known. */
typedef int32_t (*relax_relay_relation_fn)(void *user, const relax_relay_call *call);
/* The simple form: asked when all inputs are known, it gives the type of the output; NULL: undecided, or it has
 * said what is wrong. */
typedef const relax_relay_type *(*relax_relay_output_fn)(void *user, const relax_relay_call *call);
/* Registers a relation, by one of the two forms; the other is NULL. It may stand behind `where`, too. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_relay_relation_register(relax_context *ctx, const char *name, size_t name_len,
                                           RELAX_NULLABLE relax_relay_relation_fn relation,
                                           RELAX_NULLABLE relax_relay_output_fn output, void *user,
                                           RELAX_NULLABLE void (*destroy)(void *user));

/* The call in Relax: an expression made of the arguments (relax/expr.h), which need not be bound. NULL: it has
 * said why not. */
typedef const relax_expr *(*relax_relay_convert_fn)(void *user, relax_context *ctx,
                                                    const relax_relay_call *call);
/* An operator of Relay. Lists have as many members as num_attrs says; names and texts in them end with NUL. */
typedef struct relax_relay_op_options {
    size_t struct_size;
    const char *name;            /* "host.spmm", as text writes it */
    size_t name_len;
    int32_t num_inputs;          /* -1: any number */
    int32_t impure;              /* 1: calls have effects, and are neither moved nor shared */
    const char *relation;        /* by name: one that is there; between the inputs and one output */
    size_t relation_len;
    const char *const *attr_names;
    const int32_t *attr_types;   /* RELAX_OP_ATTR_INT, _FLOAT, _BOOL, _STRING, _DTYPE, _INTS; others: any */
    /* Defaults as text writes them: 1, 0.5f, True, None, "text"; an entry that is NULL: None. */
    const char *const *attr_defaults;
    size_t num_attrs;            /* at most 32 */
    /* Translation: by the callback, or to the operator of Relax of this name, with the same arguments and
     * attributes; both NULL: calls are typed, but not translated (RY27). */
    relax_relay_convert_fn convert;
    const char *relax_op;
    size_t relax_op_len;
    void *user;
    void (*destroy)(void *user);
} relax_relay_op_options;
/* Fills `options` with the defaults: no inputs, pure. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_relay_op_options_init(relax_relay_op_options *options, size_t struct_size);
/* Registers an operator. What `options` points to is copied. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_relay_op_register(relax_context *ctx, const relax_relay_op_options *options);

/* Translates calls of an operator that Relay has, instead of the library: where that has no equivalent (RY27), or the
 * host wants another. OP15: there is no operator `name`; OP16: a second converter. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_relay_converter_register(relax_context *ctx, const char *name, size_t name_len,
                                            relax_relay_convert_fn convert, void *user,
                                            RELAX_NULLABLE void (*destroy)(void *user));

#ifdef __cplusplus
}
#endif
#endif
