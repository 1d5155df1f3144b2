/*- text_file.h: programs that C tests read, kept in files of the shape of golden files.
 *
 *     from tvm.script import relax as R         what stands before the first name begins every text
 *     === a name
 *     ...text...
 *
 * A line that is to begin with `===` or `---` has a backslash in front, as in golden files. */
#ifndef TEXT_FILE_H
#define TEXT_FILE_H

#include <stddef.h>

/* The text called `name` in test/ROOM/NAME.programs, for the tests in test/ROOM/test_NAME.c; lives
 * as long as the process. The test fails if there is none. */
#define PROGRAM(name) text_file_program(__FILE__, name)
const char *text_file_program(const char *c_file, const char *name);

/* The same as nodes are printed: the last line does not end. */
#define PRINTED(name) text_file_printed(__FILE__, name)
const char *text_file_printed(const char *c_file, const char *name);

/* What a cell of a table stands for: "= a name" for PROGRAM("a name"), anything else for itself. */
#define PROGRAM_CELL(cell) text_file_cell(__FILE__, cell)
const char *text_file_cell(const char *c_file, const char *cell);

/* One part of a golden file: `--- kind: argument` and the lines below it. The part directly below a
 * name has the kind "". */
typedef struct text_part { const char *name, *kind, *argument, *text, *printed; } text_part;

/* All parts of a file, in order; NULL if it cannot be read. They live as long as the process. */
const text_part *text_file_parts(const char *path, size_t *count);

#endif
