/* demo.h: what the demonstrations share: giving up, arrays out of an .npz, a clock, loading a
 * compiled file. */
#ifndef EXAMPLES_DEMO_H
#define EXAMPLES_DEMO_H

#include <minizip/unzip.h>
#include <relax/vm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "demo: %s: %s\n", what, why);
    exit(1);
}

static inline void check(relax_status status, relax_error *error)
{
    if (status != RELAX_OK)
        die(relax_error_code(error), relax_error_message(error, NULL));
}

/* The `size` data bytes of a .npy member (they come last in it), malloc'ed. */
static inline void *read_array(unzFile zip, const char *name, size_t size)
{
    unz_file_info64 info;
    if (unzLocateFile(zip, name, 1) != UNZ_OK ||
        unzGetCurrentFileInfo64(zip, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK ||
        info.uncompressed_size < size || unzOpenCurrentFile(zip) != UNZ_OK)
        die(name, "not in the archive, or too small");
    size_t head = (size_t)info.uncompressed_size - size;
    char *data = malloc(head + size);
    if (!data || unzReadCurrentFile(zip, data, (unsigned)(head + size)) != (int)(head + size) ||
        unzCloseCurrentFile(zip) != UNZ_OK)
        die(name, "cannot be read");
    memmove(data, data + head, size);
    return data;
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline unzFile open_archive(const char *path)
{
    unzFile zip = unzOpen64(path);
    if (!zip)
        die(path, "cannot be opened");
    return zip;
}

/* A machine for the compiled file, which may bring machine code: it is our own. The machine
 * keeps the executable alive. */
static inline relax_vm *load(const char *path)
{
    relax_executable *exe = NULL;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_load_options options;
    check(relax_load_options_init(&options, sizeof options), NULL);
    options.allow_native = 1;
    check(relax_executable_load_file(path, strlen(path), &options, &exe, &error), error);
    check(relax_vm_create(exe, NULL, &vm, &error), error);
    relax_executable_release(exe);
    return vm;
}

#endif
