/*- print_binder.c: names of binders, the shape variables that function descriptions have for
 * themselves.
 *
 * A binder means something inside of its description only, and the same node may be one of many
 * descriptions (equal ones are one node) and a shape variable of the function somewhere else. So
 * it borrows a name while its description is printed. Borrowed names are no other variable's in
 * the function, and belong to a hint: f and g below borrow the same one, whether their binders
 * are one node or two, so the text does not depend on what else was read into the context.
 *
 *     def main(f: R.Callable((R.Tensor(("n",), ...),), ...), g: R.Callable((R.Shape(["n"]),), ...
 *              x: R.Tensor(("n_1",), ...
 */
#include "script/print_int.h"

/* The number of a new name. False: out of memory. */
static bool define(rlx_printer *p, const rlx_node *binder, uint32_t *number)
{
    const rlx_bound *b = p->where == RLX_PRINT_RELAX ? rlx_declare_symbolic(p, binder)
                                                    : rlx_define_at(p, binder, 0);
    *number = b ? (uint32_t)(rlx_number_of_name(p, binder) - 1) : 0;
    return b != NULL;
}

/* A name for this hint and dtype that is not in use: its number in p->borrowed + 1; 0: out of
 * memory. */
static size_t borrow(rlx_printer *p, const rlx_prim_var *binder)
{
    const rlx_bound *hint = rlx_hint_name(p, &binder->node);
    uintptr_t first = 0;
    if (!hint)
        return 0;
    rlx_ptrmap_find(&p->borrowed_by_hint, hint, &first);
    for (size_t at = first; at; at = p->borrowed.data[at - 1].next)
        if (!p->borrowed.data[at - 1].busy && p->borrowed.data[at - 1].dtype == binder->dtype)
            return at;
    rlx_borrowed_name name = { .dtype = binder->dtype, .next = first };
    if (!define(p, &binder->node, &name.name))
        return 0;
    if (!rlx_vec_push(p->m, &p->borrowed, name) ||
        !rlx_ptrmap_put(&p->borrowed_by_hint, hint, p->borrowed.len)) {
        rlx_print_fail(p);
        return 0;
    }
    return p->borrowed.len;
}

void rlx_print_open_binders(rlx_printer *p, const rlx_func_sinfo *f)
{
    for (size_t i = 0; i < f->num_binders; i++) {
        const rlx_node *binder = f->binders[i];
        rlx_named_before hidden = { .binder = binder, .before = rlx_number_of_name(p, binder) };
        size_t number = hidden.borrowed = borrow(p, rlx_as_prim_var(binder));
        if (!number || !rlx_vec_push(p->m, &p->hidden, hidden)) {
            rlx_print_fail(p);
            return;
        }
        p->borrowed.data[number - 1].busy = true;
        rlx_borrow_name(p, p->borrowed.data[number - 1].name, binder);
    }
}

void rlx_print_close_binders(rlx_printer *p, const rlx_func_sinfo *f)
{
    for (size_t i = 0; i < f->num_binders && p->hidden.len; i++) {
        rlx_named_before hidden = rlx_vec_pop(&p->hidden);
        rlx_borrowed_name *borrowed = &p->borrowed.data[hidden.borrowed - 1];
        borrowed->busy = false;
        rlx_return_name(p, borrowed->name, hidden.binder, hidden.before);
    }
}

void rlx_print_forget_binders(rlx_printer *p)
{
    p->borrowed.len = 0;
    rlx_ptrmap_clear(&p->borrowed_by_hint);
}
