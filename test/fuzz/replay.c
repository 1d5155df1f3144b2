/* replay.c: runs a fuzzer's target over kept files, without a fuzzer. Names of files are on
 * standard input, one a line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    /* exactly as long as the file: a byte read behind it is then seen */
    unsigned char *data = size >= 0 ? malloc(size ? (size_t)size : 1) : NULL;
    int ok = data && !fseek(f, 0, SEEK_SET) && fread(data, 1, (size_t)size, f) == (size_t)size;
    if (ok)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    else
        fprintf(stderr, "cannot read %s\n", path);
    free(data);
    if (f)
        fclose(f);
    return ok;
}

int main(void)
{
    char path[4096];
    int passed = 0, failed = 0;
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = 0;
        fprintf(stderr, "%s\n", path); /* the last one is the one that crashed */
        replay(path) ? passed++ : failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
