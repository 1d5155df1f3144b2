/* native.c: shared objects of native kernels, loaded from memory. */
/* built for size */
#include "runtime/native.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int anonymous_file(void)
{
    int fd = memfd_create("relax-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING | 0x10u /* MFD_EXEC */);
    return fd >= 0 || errno != EINVAL
               ? fd
               : memfd_create("relax-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool digest_fits(int fd, size_t size, const uint8_t *expected)
{
    unsigned char digest[RLX_SHA256_BYTES], part[16384];
    rlx_sha256_state s;
    rlx_sha256_begin(&s);
    for (size_t at = 0; at < size;) {
        ssize_t n = pread(fd, part, sizeof part, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        rlx_sha256_add(&s, part, (size_t)n);
        at += (size_t)n;
    }
    rlx_sha256_end(&s, digest);
    return memcmp(digest, expected, sizeof digest) == 0;
}

static bool refused(rlx_fault *why, const char *what)
{
    return rlx_fail(why, RLX_LD18, "native code of kernels: %s", what);
}

static bool check_table(const rlx_file_native_object *expected, const relax_kernel_table *t,
                        rlx_fault *why)
{
    if (!t)
        return refused(why, "it has no table of kernels");
    if (t->abi != RLX_NATIVE_ABI)
        return refused(why, "it was made for another version of this library");
    if (t->count != expected->count || !t->key || !t->kernels ||
        strncmp(t->key, expected->key, RLX_NATIVE_KEY) != 0)
        return refused(why, "it was made of another program");
    for (uint32_t i = 0; i < t->count; i++)
        if (!t->kernels[i])
            return refused(why, "a kernel is missing");
    return true;
}

/* dlopen gives what it has already loaded under the same name, and descriptors are numbered
 * anew: so the number of the inode is in the name as well, in the only way that leads to the
 * same file: each bit is "/" or "/.". */
static void name_of(int fd, char *path, size_t size)
{
    struct stat s = { 0 };
    static const char directory[] = "/proc/self/fd";
    size_t at = sizeof directory - 1;
    memcpy(path, directory, at);
    fstat(fd, &s);
    for (uint64_t bits = s.st_ino; bits; bits >>= 1) {
        path[at++] = '/';
        if (bits & 1)
            path[at++] = '.';
    }
    snprintf(path + at, size - at, "/%d", fd);
}

static bool open_file(int fd, const rlx_file_native_object *expected, rlx_native *out,
                      rlx_fault *why)
{
    char path[192];
    name_of(fd, path, sizeof path);
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!out->handle) {
        const char *text = dlerror();
        return refused(why, text ? text : "it cannot be loaded");
    }
    out->table = dlsym(out->handle, RLX_NATIVE_SYMBOL);
    if (check_table(expected, out->table, why))
        return true;
    rlx_native_close(out);
    return false;
}

bool rlx_native_open(const void *bytes, size_t size, const rlx_file_native_object *expected,
                     rlx_native *out, bool *changed, rlx_fault *why)
{
    int saved = errno;
    *out = (rlx_native){ NULL, NULL };
    *changed = false;
    if (!rlx_native_is_object(bytes, size))
        return refused(why, "it is no shared object for this machine");
    int fd = anonymous_file();
    bool ok =
        fd >= 0 && write_all(fd, bytes, size) &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    if (!ok)
        refused(why, "there is no memory file to load it from");
    else if (!digest_fits(fd, size, expected->digest)) {
        *changed = true;
        ok = refused(why, "its digest does not match");
    }
    ok = ok && open_file(fd, expected, out, why);
    if (fd >= 0)
        close(fd);
    errno = saved;
    return ok;
}

void rlx_native_close(rlx_native *n)
{
    if (n->handle)
        dlclose(n->handle);
    *n = (rlx_native){ NULL, NULL };
}
