/*- run_only.c: a compiled program run by librelax-runtime.a alone. Not a suite:
 * check_run_only.sh builds and judges it.
 *
 *     run_only PROGRAM.rlx INPUT.raw ROWS COLUMNS OUTPUT.raw
 *
 * INPUT is ROWS x COLUMNS float32; the result of `main`, float32 too, is written as it is.
 */
#include <relax/vm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int say(const char *what, relax_error *error)
{
    fprintf(stderr, "run_only: %s: error[%s]: %s\n", what, relax_error_code(error),
            relax_error_message(error, NULL));
    relax_error_release(error);
    return 1;
}

/* A tensor with the content of the file; NULL if it does not fit. */
static relax_tensor *read_tensor(const char *path, const int64_t *shape)
{
    relax_tensor *t = NULL;
    FILE *f = fopen(path, "rb");
    if (f && relax_tensor_create(RELAX_FLOAT32, shape, 2, NULL, &t, NULL) == RELAX_OK &&
        fread(relax_tensor_data(t), 1, relax_tensor_bytes(t), f) != relax_tensor_bytes(t)) {
        relax_tensor_release(t);
        t = NULL;
    }
    if (f)
        fclose(f);
    return t;
}

static int write_result(const char *path, const relax_tensor *t)
{
    FILE *f = t ? fopen(path, "wb") : NULL;
    size_t written = f ? fwrite(relax_tensor_data(t), 1, relax_tensor_bytes(t), f) : 0;
    return f && fclose(f) == 0 && written == relax_tensor_bytes(t) ? 0 : 1;
}

static int run(relax_vm *vm, relax_tensor *in, const char *out)
{
    relax_error *error = NULL;
    relax_value arg, result;
    relax_value_set_tensor(&arg, in);
    if (relax_vm_call(vm, "main", 4, &arg, 1, &result, &error)) {
        relax_value_release(&arg);
        return say("call", error);
    }
    int failed = write_result(out, relax_value_get_tensor(&result));
    relax_value_release(&arg);
    relax_value_release(&result);
    return failed;
}

int main(int argc, char **argv)
{
    relax_executable *exe = NULL;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    if (argc != 6)
        return 2;
    int64_t shape[] = { strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10) };
    if (relax_executable_load_file(argv[1], strlen(argv[1]), NULL, &exe, &error) ||
        relax_vm_create(exe, NULL, &vm, &error)) {
        relax_executable_release(exe);
        return say("load", error);
    }
    relax_tensor *in = read_tensor(argv[2], shape);
    int failed = in ? run(vm, in, argv[5]) : 1;
    relax_tensor_release(in);
    relax_vm_release(vm);
    relax_executable_release(exe);
    return failed;
}
