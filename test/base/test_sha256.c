/* test_sha256: the vectors of FIPS 180-4's examples, and digests taken in pieces. */
#include "cmocka_all.h"

#include <string.h>

#include "base/sha256.h"

static void expect(const void *data, size_t len, const char *want)
{
    unsigned char digest[RLX_SHA256_BYTES];
    char text[2 * RLX_SHA256_BYTES + 1];
    rlx_sha256(data, len, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, want);
}

static void known_digests(void **state)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static char million[1000000];
    memset(million, 'a', sizeof million);
    expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(two_blocks, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect(million, sizeof million,
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_of_any_size(void **state)
{
    unsigned char data[400], whole[RLX_SHA256_BYTES], parts[RLX_SHA256_BYTES];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    for (size_t len = 0; len <= sizeof data; len += 3) {
        rlx_sha256(data, len, whole);
        for (size_t piece = 1; piece < 140; piece += 9) {
            rlx_sha256_state s;
            rlx_sha256_begin(&s);
            for (size_t at = 0; at < len; at += piece)
                rlx_sha256_add(&s, data + at, len - at < piece ? len - at : piece);
            rlx_sha256_end(&s, parts);
            assert_memory_equal(whole, parts, sizeof whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(known_digests),
                                        cmocka_unit_test(pieces_of_any_size) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
