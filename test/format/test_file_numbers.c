/* test_file_numbers.c: numbers in compiled files stay what they are. Instructions and elements of
 * buffers are numbered by the order of their rows: a row in between gives those behind it other
 * numbers, and older files would compute something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "format/kernel_format.h"
#include "format/opcode.h"
#include "format/rlx_file.h"

static uint32_t add_row(uint32_t crc, const char *text, const char *operands)
{
    uint32_t words = (uint32_t)strlen(operands);
    crc = rlx_crc32c(crc, text, strlen(text) + 1);
    return rlx_crc32c(crc, &words, sizeof words);
}

static uint32_t add_opcode(uint32_t crc, uint32_t i)
{
    return add_row(crc, rlx_opcode_info(i)->text, rlx_opcode_info(i)->layout);
}

static uint32_t add_kernel_op(uint32_t crc, uint32_t i)
{
    return add_row(crc, rlx_kernel_ops[i].text, rlx_kernel_ops[i].operands);
}

static uint32_t add_elem(uint32_t crc, uint32_t i)
{
    return rlx_crc32c(crc, &rlx_kernel_elems[i].dtype, sizeof rlx_kernel_elems[i].dtype);
}

/* The rows as files of RLX_FILE_MAJOR, and kernels of RLX_KERNEL_VERSION in them, have them: how
 * many, and their sum. Rows may follow them. */
static const struct {
    const char *table;
    uint32_t (*add)(uint32_t crc, uint32_t i);
    uint32_t rows, in_files, sum;
} tables[] = {
    { "format/opcode.def", add_opcode, RLX_OPCODE_COUNT, 23, 0x24e90da5 },
    { "format/kernel_opcode.def", add_kernel_op, RLX_K_COUNT, 248, 0x735bb2c9 },
    { "base/dtype.def", add_elem, RLX_ELEM_COUNT, 15, 0xe21d12fd },
};

static void numbers_stay(void **unused)
{
    assert_int_equal(RLX_FILE_MAJOR, 1);
    assert_int_equal(RLX_KERNEL_VERSION, 8);
    for (size_t t = 0; t < RLX_COUNT(tables); t++) {
        uint32_t sum = 0;
        assert_true(tables[t].rows >= tables[t].in_files);
        for (uint32_t i = 0; i < tables[t].in_files; i++)
            sum = tables[t].add(sum, i);
        if (sum != tables[t].sum)
            fail_msg("%s: the first %u of %u rows are others than in files (0x%08x): add rows at the "
                     "end, or raise RLX_FILE_MAJOR (RLX_KERNEL_VERSION) and put the new numbers here",
                     tables[t].table, tables[t].in_files, tables[t].rows, sum);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_stay) };
    return cmocka_run_group_tests_name("file_numbers", tests, NULL, NULL);
}
