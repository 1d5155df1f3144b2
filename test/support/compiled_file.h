/* compiled_file.h: compiled files taken apart, put together with sums that fit, loaded and run
 * by a host that trusts nothing.
 *
 * Knows the layout (format/rlx_file.h) and the public interface of the run side, so that
 * librelax-runtime.a is enough.
 */
#ifndef TEST_COMPILED_FILE_H
#define TEST_COMPILED_FILE_H

#include <relax/vm.h>
#include <stdbool.h>
#include "format/rlx_file.h"

/* ---- layout --------------------------------------------------------------------------------- */

/* Makes all checksums fit whatever the bytes have become; sections that lie outside the file
 * are left alone. */
void compiled_repair(unsigned char *file, size_t size);

#define COMPILED_MAX_SECTIONS 16
/* data is malloc'ed */
typedef struct compiled_section {
    uint32_t kind;
    unsigned char *data;
    size_t size;
} compiled_section;
typedef struct compiled_file {
    compiled_section sections[COMPILED_MAX_SECTIONS];
    uint32_t count;
} compiled_file;
/* Copies of the sections. False, and nothing to free: no file, sections outside of it, or too
 * many. */
bool compiled_unpack(const unsigned char *file, size_t size, compiled_file *out);
/* A file of these sections in this order, sound as far as header, places and sums go. The size;
 * 0: does not fit `room`. */
size_t compiled_pack(const compiled_file *f, unsigned char *out, size_t room);
void compiled_free(compiled_file *f);

/* ---- loading and running -------------------------------------------------------------------- */

typedef struct compiled_limits {
    size_t load_memory;   /* bytes that loading may take beyond the file itself */
    size_t run_memory;    /* the VM's limit */
    int64_t timeout;      /* nanoseconds of each call */
    /* each call with the plain and with the timing loop, into buffers too, and all texts */
    bool every_loop;
} compiled_limits;
extern const compiled_limits compiled_usual_limits;

typedef struct compiled_report {
    bool loaded;
    char code[8];         /* of the failed load */
    int calls, succeeded; /* calls of exported functions, and those without an error */
    /* what a host must never see, "" if there was nothing: no error object, a foreign code,
     * memory left */
    char problem[256];
} compiled_report;

/* Loads the bytes, asks for everything that can be asked, and calls every public function with
 * arguments that look right. */
void compiled_drive(const void *data, size_t size, const compiled_limits *limits,
                    compiled_report *out);
/* The same through a file on disk: read, or mapped. */
void compiled_drive_file(const char *path, bool map, const compiled_limits *limits,
                         compiled_report *out);

#endif
