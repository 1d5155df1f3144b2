/*- vm_loop.h: the loop of the VM, a template. Before including it define
 *
 *   RLX_LOOP_NAME       name of the function
 *   RLX_LOOP_THREADED   1: each instruction jumps to the next one's label; 0: one switch
 *   RLX_LOOP_PROFILE    1: times instructions
 *
 * `pc` is the instruction at hand, `regs` the registers of `frame`, which is vm->frame except
 * while a call is made.
 */
#include "vm/vm_int.h"

#if RLX_LOOP_PROFILE
#define BEFORE() \
    (started = rlx_clock_ns(), at_op = rlx_ins_opcode(*pc), at_pc = pc, at_frame = frame)
#define AFTER() rlx_profile_add(vm, at_op, at_pc, at_frame, rlx_clock_ns() - started)
#else
#define BEFORE() ((void)0)
#define AFTER() ((void)0)
#endif

#if RLX_LOOP_THREADED
#define CASE(name) L_##name:
#define DISPATCH()                                            \
    do {                                                      \
        BEFORE();                                             \
        RLX_GOTO_LABEL(labels[rlx_ins_opcode(*pc)]);          \
    } while (0)
#else
#define CASE(name) case RLX_OP_##name:
#define DISPATCH() goto next
#endif

/* Goes on behind this instruction, which has `words` words. */
#define NEXT(words)       \
    do {                  \
        AFTER();          \
        pc += (words);    \
        DISPATCH();       \
    } while (0)
/* An instruction done by a function. */
#define STEP(name, step, words)                        \
    CASE(name)                                         \
    {                                                  \
        if (RLX_UNLIKELY(!step(vm, pc, why)))          \
            goto failed;                               \
        NEXT((words) + rlx_ins_count(*pc));            \
    }
/* One after which another frame may be on top; it notes by itself where it failed. */
#define SWITCH_FRAME(name, step)                       \
    CASE(name)                                         \
    {                                                  \
        if (RLX_UNLIKELY(!step(vm, pc, why)))          \
            return false;                              \
        goto resume;                                   \
    }

bool RLX_LOOP_NAME(relax_vm *vm, relax_value *result, rlx_fault *why)
{
#if RLX_LOOP_THREADED
    static const void *const labels[RLX_OPCODE_COUNT] = {
#define OP(name, text, layout, help) [RLX_OP_##name] = RLX_LABEL_ADDRESS(L_##name),
#include "format/opcode.def"
#undef OP
    };
#endif
#if RLX_LOOP_PROFILE
    int64_t started = 0;
    uint32_t at_op = 0;
    const uint32_t *at_pc = NULL;
    const rlx_vm_frame *at_frame = NULL;
#endif
    rlx_vm_frame *frame = vm->frame;
    const uint32_t *pc = frame->pc;
    relax_value *regs = frame->regs;
    DISPATCH();

resume: /* in the frame that is on top now */
    AFTER();
    frame = vm->frame;
    pc = frame->pc;
    regs = frame->regs;
    DISPATCH();

#if !RLX_LOOP_THREADED
next:
    BEFORE();
    switch (rlx_ins_opcode(*pc)) {
#endif
    CASE(MOVE)
    {
        relax_value v = regs[pc[2]];
        uint32_t hold = v.reserved;
        if (hold == RLX_HELD_BY_FRAME)
            rlx_object_retain(v.v.p);
        rlx_cell_put(vm, &regs[pc[1]], v, hold);
        NEXT(3);
    }
    CASE(TAKE)
    {
        relax_value v = regs[pc[2]];
        regs[pc[2]] = rlx_value_none();
        rlx_cell_put(vm, &regs[pc[1]], v, v.reserved);
        NEXT(3);
    }
    CASE(KILL)
    {
        uint32_t count = rlx_ins_count(*pc);
        for (uint32_t i = 0; i < count; i++)
            rlx_cell_put(vm, &regs[pc[1 + i]], rlx_value_none(), RLX_HELD_BY_RUN);
        NEXT(1 + count);
    }
    CASE(CONST)
    {
        rlx_cell_put(vm, &regs[pc[1]], vm->exe->constants[pc[2]], RLX_HELD_BY_RUN);
        NEXT(3);
    }
    CASE(PRIM)
    {
        int64_t i;
        if (RLX_UNLIKELY(!rlx_vm_int(vm, pc[3], &i, why)))
            goto failed;
        rlx_cell_put(vm, &regs[pc[1]],
                     rlx_dtype_is_bool((rlx_dtype)pc[2]) ? rlx_value_bool(i != 0)
                                                         : rlx_value_int(i),
                     RLX_HELD_BY_RUN);
        NEXT(4);
    }
    CASE(SYMBOL)
    {
        int64_t i;
        if (RLX_UNLIKELY(!rlx_vm_int(vm, pc[2], &i, why)))
            goto failed;
        frame->syms[pc[1]] = i;
        NEXT(3);
    }
    STEP(SHAPE, rlx_vm_step_shape, 2)
    STEP(MATCH, rlx_vm_step_match, 5)
    STEP(ALLOC_STORAGE, rlx_vm_step_alloc_storage, 3)
    STEP(ALLOC_VIEW, rlx_vm_step_alloc_view, 5)
    STEP(ALLOC_TENSOR, rlx_vm_step_alloc_tensor, 3)
    STEP(ALLOC_RESULT, rlx_vm_step_alloc_result, 4)
    STEP(ALLOC_OVER, rlx_vm_step_alloc_over, 5)
    STEP(CALL_KERNEL, rlx_vm_step_kernel, 2)
    STEP(CALL_BUILTIN, rlx_vm_step_builtin, 3)
    STEP(CALL_LATE, rlx_vm_step_late, 5)
    STEP(TUPLE, rlx_vm_step_tuple, 2)
    STEP(GET, rlx_vm_step_get, 4)
    STEP(TAKE_FIELD, rlx_vm_step_get, 4)
    SWITCH_FRAME(CALL, rlx_vm_step_call)
    SWITCH_FRAME(TAIL_CALL, rlx_vm_step_tail_call)
    SWITCH_FRAME(CALL_VALUE, rlx_vm_step_value)
    SWITCH_FRAME(CALL_VALUE_KNOWN, rlx_vm_step_value_known)
    SWITCH_FRAME(TAIL_CALL_VALUE, rlx_vm_step_tail_value)
    CASE(CALL_PACKED)
    {
        const rlx_packed_slot *slot = &vm->packed[pc[2]];
        uint32_t count = rlx_ins_count(*pc);
        if (RLX_UNLIKELY(!slot->fn)) {
            if (!rlx_vm_step_packed(vm, pc, why))
                return false;
            goto resume;
        }
        relax_value got = rlx_value_none();
        if (RLX_UNLIKELY(!rlx_vm_poll(vm, why) ||
                         !rlx_vm_args(vm, pc + 3, count, true, vm->args, why)))
            goto failed;
        int rc = slot->fn(slot->self, vm->args, (int32_t)count, &got);
        if (RLX_UNLIKELY(rc != 0 || got.type_index != RELAX_VALUE_NONE) &&
            !rlx_packed_finish(vm, rc, &got, rlx_name(&vm->exe->names, vm->exe->packed[pc[2]]),
                               why))
            goto failed;
        if (pc[1] != RLX_NO_INDEX)
            rlx_cell_put(vm, &regs[pc[1]], got,
                         rlx_value_is_boxed(&got) ? RLX_HELD_BY_FRAME : RLX_HELD_BY_RUN);
        else
            rlx_pool_drop(&vm->pool, &got);
        NEXT(3 + count);
    }
    CASE(BRANCH)
    {
        const relax_value *v = &regs[pc[1]];
        bool truth;
        if (RLX_LIKELY(v->type_index == RELAX_VALUE_BOOL))
            truth = v->v.i != 0;
        else if (RLX_UNLIKELY(!rlx_vm_step_truth(v, &truth, why)))
            goto failed;
        int32_t jump = truth ? 3 : (int32_t)pc[2];
        if (RLX_UNLIKELY(jump <= 0) && !rlx_vm_poll(vm, why))
            goto failed;
        NEXT(jump);
    }
    CASE(JUMP)
    {
        int32_t jump = (int32_t)pc[1];
        if (jump <= 0 && RLX_UNLIKELY(!rlx_vm_poll(vm, why)))
            goto failed;
        NEXT(jump);
    }
    CASE(RETURN)
    {
        bool done;
        if (RLX_UNLIKELY(!rlx_vm_step_return(vm, pc[1], &done, result, why)))
            goto failed;
        if (!done)
            goto resume;
        AFTER();
        return true;
    }
#if !RLX_LOOP_THREADED
    default: /* not reached: the code was verified */
        rlx_fail(why, RLX_LD06, "unknown instruction");
        goto failed;
    }
#endif

failed:
    frame->pc = pc;
    return false;
}

#undef BEFORE
#undef AFTER
#undef CASE
#undef DISPATCH
#undef NEXT
#undef STEP
#undef SWITCH_FRAME
