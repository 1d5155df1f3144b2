/* test_file.c: files in and out, and the checksum. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "failing.h"

static char dir[512];

static const char *in_dir(const char *name)
{
    static char path[2][600];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static int set_up(void **unused)
{
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/relax-file-XXXXXX", base ? base : "/tmp");
    return mkdtemp(dir) == NULL;
}

static int tear_down(void **unused)
{
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

static void writes_and_reads(void **unused)
{
    rlx_memory m;
    rlx_memory_init(&m, NULL, SIZE_MAX);
    rlx_file_why why = rlx_file_no_memory;
    static const size_t sizes[] = { 0, 1, 4096, 100001 };
    unsigned char *data = malloc(100001);
    for (size_t i = 0; i < 100001; i++)
        data[i] = (unsigned char)(i * 7);
    errno = 33;
    for (size_t i = 0; i < RLX_COUNT(sizes); i++) {
        assert_true(rlx_file_write(&m, in_dir("f"), data, sizes[i], &why));
        rlx_blob *a = rlx_file_read(&m, in_dir("f"), SIZE_MAX, &why);
        rlx_blob *b = rlx_file_map(&m, in_dir("f"), sizes[i], &why);
        assert_true(a && b && a->size == sizes[i] && b->size == sizes[i]);
        assert_true(memcmp(a->data, data, sizes[i]) == 0 && memcmp(b->data, data, sizes[i]) == 0);
        assert_int_equal(a->data[a->size], 0);
        rlx_blob_release(a);
        rlx_blob_release(b);
        if (sizes[i]) {
            assert_null(rlx_file_read(&m, in_dir("f"), sizes[i] - 1, &why));
            assert_string_equal(why.text, "too large");
            assert_int_equal(why.failure, RLX_FILE_TOO_LARGE);
        }
    }
    free(data);
    assert_int_equal(errno, 33);
    assert_int_equal(rlx_mem_live(&m), 0);
    errno = 0;
}

static void tells_why_not(void **unused)
{
    rlx_memory m;
    rlx_memory_init(&m, NULL, SIZE_MAX);
    rlx_file_why why = rlx_file_no_memory;
    assert_null(rlx_file_read(&m, in_dir("absent"), SIZE_MAX, &why));
    assert_string_equal(why.text, "no such file");
    assert_null(rlx_file_map(&m, dir, SIZE_MAX, &why));
    assert_string_equal(why.text, "is a directory");
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    /* and does not wait for a writer */
    assert_null(rlx_file_read(&m, in_dir("pipe"), SIZE_MAX, &why));
    assert_string_equal(why.text, "not a regular file");
    assert_false(rlx_file_write(&m, in_dir("no/f"), "x", 1, &why));
    assert_string_equal(why.text, "no such file");
    assert_false(rlx_file_write(&m, dir, "x", 1, &why));
    assert_string_equal(why.text, "is a directory");
    char longer[6000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_false(rlx_file_write(&m, longer, "x", 1, &why));
    assert_string_equal(why.text, "name too long");
    assert_int_equal(why.failure, RLX_FILE_REFUSED);
}

static void replaces_without_harm(void **unused)
{
    rlx_memory m;
    rlx_memory_init(&m, NULL, SIZE_MAX);
    rlx_file_why why = rlx_file_no_memory;
    struct stat st;
    assert_true(rlx_file_write(&m, in_dir("real"), "old", 3, &why));
    assert_int_equal(chmod(in_dir("real"), 0640), 0);
    assert_int_equal(symlink("real", in_dir("link")), 0);
    rlx_blob *old = rlx_file_map(&m, in_dir("real"), SIZE_MAX, &why);
    assert_true(rlx_file_write(&m, in_dir("link"), "newer", 5, &why));
    assert_int_equal(old->size, 3); /* who has the old file mapped keeps it */
    assert_memory_equal(old->data, "old", 3);
    rlx_blob_release(old);
    assert_true(lstat(in_dir("link"), &st) == 0 && S_ISLNK(st.st_mode));
    assert_true(stat(in_dir("real"), &st) == 0 && (st.st_mode & 07777) == 0640 && st.st_size == 5);
    assert_true(rlx_file_write(&m, "/dev/null", "gone", 4, &why));
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
}

static void survives_every_failure(void **unused)
{
    rlx_file_why why = rlx_file_no_memory;
    for (size_t n = 0; n < 4; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        assert_true(rlx_file_write(&m, in_dir("g"), "text", 4, &why));
        rlx_blob *a = rlx_file_read(&m, in_dir("g"), SIZE_MAX, &why);
        if (!a)
            assert_int_equal(why.failure, RLX_FILE_NO_MEMORY);
        rlx_blob *b = rlx_file_map(&m, in_dir("g"), SIZE_MAX, &why);
        if (!b)
            assert_int_equal(why.failure, RLX_FILE_NO_MEMORY);
        assert_int_equal(a != NULL, n != 1 && n != 2);
        rlx_blob_release(a);
        rlx_blob_release(b);
        assert_int_equal(f.live + f.blocks, 0);
    }
}

static void leaves_no_descriptor(void **unused)
{
    int before = dup(0);
    assert_true(before >= 0);
    close(before);
    rlx_memory m;
    rlx_memory_init(&m, NULL, SIZE_MAX);
    rlx_file_why why = rlx_file_no_memory;
    rlx_blob_release(rlx_file_read(&m, in_dir("f"), 1, &why));
    rlx_blob_release(rlx_file_map(&m, in_dir("f"), SIZE_MAX, &why));
    assert_true(rlx_file_write(&m, in_dir("f"), "", 0, &why));
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void checksums(void **unused)
{
    unsigned char data[300];
    assert_int_equal(rlx_crc32c(0, "123456789", 9), 0xe3069283u);
    memset(data, 0, 32);
    assert_int_equal(rlx_crc32c(0, data, 32), 0x8a9136aau);
    memset(data, 0xff, 32);
    assert_int_equal(rlx_crc32c(0, data, 32), 0x62a8ab43u);
    assert_int_equal(rlx_crc32c(0, NULL, 0), 0);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 31 + (i >> 3));
    for (size_t len = 0; len < sizeof data; len++) {
        uint32_t crc = 0xffffffffu; /* bit by bit */
        for (size_t i = 0; i < len; i++) {
            crc ^= data[i];
            for (int k = 0; k < 8; k++)
                crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        }
        assert_int_equal(rlx_crc32c(0, data, len), ~crc);
        assert_int_equal(rlx_crc32c_by_table(0, data, len), ~crc);
        assert_int_equal(rlx_crc32c(rlx_crc32c(0, data, len / 3), data + len / 3, len - len / 3),
                         ~crc);
    }
}

/* Long ones are computed in several streams: at any place, of any length, in any pieces. */
static void checksums_of_long_data(void **unused)
{
    enum { SIZE = 200000 };
    unsigned char *data = malloc(SIZE);
    assert_non_null(data);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * i * 2654435761u >> 13);
    static const size_t lengths[] = { 16384, 49151, 49152, 49153, 98304, 131072, 150001, SIZE - 7 };
    for (size_t i = 0; i < RLX_COUNT(lengths); i++)
        for (size_t from = 0; from < 8; from += 7) {
            const unsigned char *p = data + from;
            uint32_t crc = rlx_crc32c_by_table(7, p, lengths[i]);
            size_t first = lengths[i] / 5;
            assert_int_equal(rlx_crc32c(7, p, lengths[i]), crc);
            assert_int_equal(rlx_crc32c(rlx_crc32c(7, p, first), p + first, lengths[i] - first),
                             crc);
        }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_of_long_data),
        cmocka_unit_test(writes_and_reads),
        cmocka_unit_test(tells_why_not),
        cmocka_unit_test(replaces_without_harm),
        cmocka_unit_test(survives_every_failure),
        cmocka_unit_test(leaves_no_descriptor),
        cmocka_unit_test(checksums),
    };
    return cmocka_run_group_tests_name("file", tests, set_up, tear_down);
}
