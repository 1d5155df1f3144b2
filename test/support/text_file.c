/* text_file.c: see the header. Files are read once; nothing is given back before the end. */
#include "text_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cmocka_all.h"

typedef struct text_file { char *path; text_part *parts; size_t count; } text_file;

enum { MOST_FILES = 64 };
static text_file files[MOST_FILES];
static size_t num_files;

static char *read_whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    size_t got = fread(text, 1, (size_t)size, f);
    text[got] = 0;
    fclose(f);
    return text;
}

/* ---- cutting into parts --------------------------------------------------------------------- */

static void open_part(text_file *f, const char *name, const char *kind, const char *argument)
{
    f->parts = realloc(f->parts, (f->count + 1) * sizeof *f->parts);
    f->parts[f->count++] = (text_part){ .name = name, .kind = kind, .argument = argument };
}

/* `--- kind: argument`, cut in place. */
static void open_section(text_file *f, char *kind)
{
    char *argument = strchr(kind, ':');
    if (argument) {
        *argument++ = 0;
        argument += strspn(argument, " ");
    }
    open_part(f, f->parts[f->count - 1].name, kind, argument ? argument : "");
}

static bool is_escaped(const char *line)
{
    return strncmp(line, "\\---", 4) == 0 || strncmp(line, "\\===", 4) == 0 ||
           strncmp(line, "\\\\", 2) == 0;
}

/* The text of the last part: what begins all, then its own lines without the blank ones at the
 * end. */
static void close_part(text_file *f, const char *preface, char *text, size_t len)
{
    while (len > 1 && text[len - 1] == '\n' && text[len - 2] == '\n')
        len--;
    if (len == 1 && text[0] == '\n')
        len = 0;
    text_part *part = &f->parts[f->count - 1];
    size_t before = *part->kind ? 0 : strlen(preface);
    char *whole = malloc(before + len + 1);
    memcpy(whole, preface, before);
    memcpy(whole + before, text, len);
    whole[before + len] = 0;
    part->text = whole;
    part->printed = strndup(whole, before + len - (len > 0));
}

static void cut(text_file *f, char *whole)
{
    char *text = malloc(strlen(whole) + 1), *preface = NULL;
    size_t len = 0;
    for (char *line = whole, *next; *line; line = next) {
        size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        bool is_name = strncmp(line, "=== ", 4) == 0;
        if (!is_name && (strncmp(line, "--- ", 4) != 0 || !preface)) {
            bool escaped = is_escaped(line);
            memcpy(text + len, line + escaped, (size_t)(next - line) - escaped);
            len += (size_t)(next - line) - escaped;
            continue;
        }
        line[n] = 0;
        text[len] = 0;
        if (preface)
            close_part(f, preface, text, len);
        else
            preface = strdup(text);
        len = 0;
        if (is_name)
            open_part(f, line + 4, "", "");
        else
            open_section(f, line + 4);
    }
    if (preface)
        close_part(f, preface, text, len);
    free(preface);
    free(text);
}

/* ---- finding -------------------------------------------------------------------------------- */

const text_part *text_file_parts(const char *path, size_t *count)
{
    for (size_t i = 0; i < num_files; i++)
        if (strcmp(files[i].path, path) == 0) {
            *count = files[i].count;
            return files[i].parts;
        }
    char *whole = num_files < MOST_FILES ? read_whole(path) : NULL;
    if (!whole)
        return NULL;
    text_file *f = &files[num_files++];
    f->path = strdup(path);
    cut(f, whole);   /* the names stay in `whole` */
    *count = f->count;
    return f->parts;
}

/* test/api/test_api_pattern.c -> test/api/api_pattern.programs */
static void programs_path(const char *c_file, char *path, size_t room)
{
    const char *name = strrchr(c_file, '/');
    name = name ? name + 1 : c_file;
    const char *bare = strncmp(name, "test_", 5) == 0 ? name + 5 : name;
    snprintf(path, room, "%.*s%.*s.programs", (int)(name - c_file), c_file,
             (int)strcspn(bare, "."), bare);
}

static const text_part *find_program(const char *c_file, const char *name)
{
    char path[256];
    size_t count = 0;
    programs_path(c_file, path, sizeof path);
    const text_part *parts = text_file_parts(path, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(parts[i].name, name) == 0 && !*parts[i].kind)
            return &parts[i];
    fail_msg("%s: no program is called \"%s\"", path, name);
    return NULL;
}

const char *text_file_program(const char *c_file, const char *name)
{
    return find_program(c_file, name)->text;
}

const char *text_file_printed(const char *c_file, const char *name)
{
    return find_program(c_file, name)->printed;
}

const char *text_file_cell(const char *c_file, const char *cell)
{
    return strncmp(cell, "= ", 2) == 0 ? text_file_program(c_file, cell + 2) : cell;
}
