/* vm_rare.c: what instructions do once for each place, or when they fail. */
/* built for size */
#include <stdio.h>
#include <string.h>

#include "vm/vm_int.h"

/* "argument 2 of main: ..." becomes "argument 2 (w) of main: ...", where the file has its name. */
void rlx_vm_name_argument(const relax_vm *vm, rlx_fault *why)
{
    const relax_executable *e = vm->exe;
    const size_t begin = sizeof "argument " - 1;
    char text[sizeof why->text];
    uint32_t name = RLX_NO_INDEX;
    if (strncmp(why->text, "argument ", begin) != 0)
        return;
    size_t digits = strspn(why->text + begin, "0123456789");
    if (!digits || digits > 9)
        return;
    uint32_t number = 0;
    for (size_t i = 0; i < digits; i++)
        number = number * 10 + (uint32_t)(why->text[begin + i] - '0');
    if (number)
        (void)rlx_desc_param_at(e->descs, vm->frame->fn->params, number - 1, &name);
    if (name == RLX_NO_INDEX)
        return;
    rlx_slice is = rlx_name(&e->names, name);
    size_t at = begin + digits;
    int n = snprintf(text, sizeof text, "%.*s (%.*s)%s", (int)at, why->text,
                     (int)(is.len > 64 ? 64 : is.len), is.data, why->text + at);
    if (n > 0)
        memcpy(why->text, text, sizeof text);
}

void rlx_vm_judge_site(relax_vm *vm, rlx_value_site *s, const rlx_module_function *f, uint32_t known,
                       uint32_t want, uint32_t num_args)
{
    const int64_t *descs = vm->exe->descs;
    const rlx_desc_env no_sizes = { .descs = descs };
    uint32_t params = vm->exe->functions[f->number].params;
    bool args = rlx_desc_is_closed(descs, params) &&
                rlx_desc_args_fit(descs, known, params, num_args),
         result = want != RLX_NO_INDEX && rlx_desc_is_closed(descs, want) &&
                  rlx_desc_result_fits(&no_sizes, f->signature, want);
    *s = (rlx_value_site){ known, want, f->number,
                           (args ? RLX_SITE_ARGS_FIT : 0) | (result ? RLX_SITE_RESULT_FITS : 0) };
}

bool rlx_vm_wrong_count(const relax_vm *vm, const rlx_file_function *fn, uint32_t count, size_t bound,
                        rlx_fault *why)
{
    rlx_slice name = rlx_name(&vm->exe->names, fn->name);
    int len = (int)(name.len & 0xff);
    if (bound > fn->num_params)
        return rlx_fail(why, RLX_RT01, "%.*s takes %u argument%s, and the closure has bound %zu", len,
                        name.data, fn->num_params, fn->num_params == 1 ? "" : "s", bound);
    uint32_t takes = fn->num_params - (uint32_t)bound;
    return rlx_fail(why, RLX_RT01, "%.*s takes %u argument%s, got %u", len, name.data, takes,
                    takes == 1 ? "" : "s", count);
}

/* The error object in a result, if there is one: its text goes into *why, the object becomes
 * the cause. */
static void take_error(relax_vm *vm, relax_value *result, rlx_slice name, rlx_fault *why)
{
    const struct relax_error *e = result->type_index == RELAX_VALUE_ERROR ? result->v.p : NULL;
    if (!e) {
        rlx_value_drop(result);
        rlx_fail(why, RLX_RT16, "packed function %.*s failed", (int)(name.len & 0xff), name.data);
        return;
    }
    rlx_fail(why, RLX_RT16, "packed function %.*s failed: %.*s%s%.*s", (int)(name.len & 0xff),
             name.data, (int)(e->kind.size & 0xff), e->kind.size ? e->kind.data : "",
             e->kind.size ? ": " : "", (int)(e->message.size & 0xffff),
             e->message.size ? e->message.data : "");
    if (rlx_error_is_ours(&e->base)) {
        rlx_error_release(vm->cause);
        vm->cause = result->v.p;
        *result = rlx_value_none();
    } else {
        rlx_value_drop(result);
    }
}

bool rlx_packed_finish(relax_vm *vm, int rc, relax_value *result, rlx_slice name, rlx_fault *why)
{
    if (RLX_UNLIKELY(rc != 0)) {
        take_error(vm, result, name, why);
        return false;
    }
    if (RLX_LIKELY(result->type_index == RELAX_VALUE_NONE))
        return true;
    if (rlx_value_adopt(&vm->pool, result, why))
        return true;
    if (rlx_value_is_boxed(result) && result->v.p)
        rlx_value_drop(result);
    return rlx_fault_wrap(why, RLX_RT16, "packed function %.*s", (int)(name.len & 0xff),
                          name.data);
}

/* Registered functions first, then public functions of the module. */
bool rlx_vm_find_packed(relax_vm *vm, uint32_t number, rlx_fault *why)
{
    rlx_packed_slot *slot = &vm->packed[number];
    if (slot->fn || slot->in_module)
        return true;
    rlx_slice name = rlx_name(&vm->exe->names, vm->exe->packed[number]);
    rlx_packed *f = vm->registry ? rlx_map_get(&vm->registry->functions, name) : NULL;
    if (f) {
        rlx_object_retain(f);
        *slot = (rlx_packed_slot){ f->fn, f->user, &f->base, false, 0 };
        return true;
    }
    uintptr_t public = (uintptr_t)rlx_map_get(&vm->exe->by_name, name);
    if (!public)
        return rlx_fail(why, RLX_RT08, "no packed function %.*s is registered",
                        (int)(name.len & 0xff), name.data);
    *slot =
        (rlx_packed_slot){ .in_module = true, .function = vm->exe->public_functions[public - 1] };
    return true;
}
