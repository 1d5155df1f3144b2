/* desc_verify.c: checking descriptions of unknown origin, once, so that matching and evaluating
 * can trust them. */
/* built for size */
#include "desc/desc_int.h"

typedef struct check {
    const int64_t *descs;
    uint64_t *starts;
    uint32_t num_names;
    uint32_t item, syms, regs; /* the item at hand */
    uint32_t work;             /* words of expressions that it may still refer to */
    rlx_fault *why;
} check;

static bool bad(const check *c, const char *what)
{
    return rlx_fail(c->why, RLX_LD10, "description at word %u: %s", c->item, what);
}

static bool has_start(const uint64_t *starts, uint32_t at)
{
    return starts[at / 64] >> (at % 64) & 1;
}

static uint32_t item_type(const int64_t *item) { return (uint32_t)((uint64_t)item[0] >> 32); }
static uint32_t item_syms(const int64_t *item) { return (uint32_t)item[1]; }
static uint32_t item_regs(const int64_t *item) { return (uint32_t)((uint64_t)item[1] >> 32); }

/* ---- expressions ---------------------------------------------------------------------------- */

/* An open jump: what must come where it goes, and how much of the stack its arm must leave
 * alone. */
typedef struct jump { uint32_t op, target; int base; } jump;
typedef struct state { jump open[RLX_EXPR_MAX_STACK + 1]; int num_open, height; } state;

/* The op that ends the arm which `op` begins. */
static uint32_t closer_of(uint32_t op)
{
    switch (op) {
    case RLX_EXPR_AND_THEN: return RLX_EXPR_AND;
    case RLX_EXPR_OR_ELSE: return RLX_EXPR_OR;
    case RLX_EXPR_THEN: return RLX_EXPR_OTHERWISE;
    default: return RLX_EXPR_SELECT;
    }
}

static bool close_jump(state *s, uint32_t op, uint32_t at)
{
    if (s->num_open == 0)
        return false;
    const jump *j = &s->open[--s->num_open];
    return closer_of(j->op) == op && j->target == at + 1 && s->height == j->base + 1;
}

static bool open_jump(state *s, uint32_t op, uint32_t target)
{
    int base = s->num_open ? s->open[s->num_open - 1].base : 0;
    if (s->height <= base || s->num_open >= RLX_EXPR_MAX_STACK)
        return false;
    s->open[s->num_open++] = (jump){ op, target, s->height };
    return true;
}

/* An integer whose values can be told from others by shifting 64 bits. */
static bool is_scalar_int(rlx_dtype t)
{
    int bits = rlx_dtype_bits(t);
    return rlx_dtype_is_bool(t) || (rlx_dtype_is_int(t) && bits >= 1 && bits <= 64);
}

static bool verify_operand(const check *c, const int64_t *code, uint32_t *i, uint32_t end)
{
    int64_t w = code[*i];
    if (rlx_desc_expr_code(w) == RLX_EXPR_WIDE)
        return ++*i < end;
    if (rlx_desc_expr_code(w) == RLX_EXPR_SYMBOL)
        return rlx_desc_dim_slot(w) < c->syms &&
               (rlx_desc_dim_index(w) < c->num_names || rlx_desc_dim_index(w) == UINT32_MAX);
    if (rlx_desc_expr_code(w) == RLX_EXPR_CAST)
        return is_scalar_int((rlx_dtype)(w >> 32));
    return true;
}

static bool verify_expr(const check *c, const int64_t *code, uint32_t end)
{
    state s = { .num_open = 0, .height = 0 };
    if (end > RLX_EXPR_MAX_WORDS)
        return bad(c, "expression is too long");
    for (uint32_t i = 0; i < end; i++) {
        uint32_t op = rlx_desc_expr_code(code[i]), at = i;
        if (op >= RLX_EXPR_OPS)
            return bad(c, "unknown operator in an expression");
        if (!verify_operand(c, code, &i, end))
            return bad(c, "malformed operand in an expression");
        bool closes = op == RLX_EXPR_AND || op == RLX_EXPR_OR || op == RLX_EXPR_SELECT ||
                      op == RLX_EXPR_OTHERWISE;
        if (closes && !close_jump(&s, op, at))
            return bad(c, "expression with a bad jump");
        if (op >= RLX_EXPR_AND_THEN && !open_jump(&s, op, rlx_desc_dim_index(code[at])))
            return bad(c, "expression with a bad jump");
        const rlx_desc_expr_row *row = &rlx_desc_expr_rows[op];
        int base = s.num_open ? s.open[s.num_open - 1].base : 0;
        if (s.height - row->pops < (closes ? 0 : base))
            return bad(c, "expression takes more operands than there are");
        s.height += row->pushes - row->pops;
        if (s.height > RLX_EXPR_MAX_STACK)
            return bad(c, "expression is nested too deep");
    }
    return (s.height == 1 && s.num_open == 0) || bad(c, "expression without one value");
}

/* ---- descriptions --------------------------------------------------------------------------- */

typedef struct level { uint32_t left, end, header; bool params; } level;

static bool verify_dim(check *c, int64_t dim, bool late)
{
    uint32_t index = rlx_desc_dim_index(dim);
    switch (rlx_desc_dim_tag_of(dim)) {
    case RLX_DIM_LITERAL:
    case RLX_DIM_ANY:
        return true;
    case RLX_DIM_EXPR:
        if (!late || index >= c->item || !has_start(c->starts, index))
            return false;
        if (item_type(c->descs + index) != RLX_ITEM_EXPR ||
            item_syms(c->descs + index) > c->syms || rlx_item_words(c->descs + index) > c->work)
            return false;
        c->work -= rlx_item_words(c->descs + index);
        return true;
    case RLX_DIM_BIND:
    case RLX_DIM_BIND_SIGNED:
    case RLX_DIM_SYMBOL:
        if (rlx_desc_dim_slot(dim) >= c->syms)
            return false; /* fall through */
    case RLX_DIM_BINDER:
        return index < c->num_names || index == UINT32_MAX;
    default:
        return false;
    }
}

static bool verify_dims(check *c, const int64_t *dims, uint32_t count, bool late)
{
    for (uint32_t i = 0; i < count; i++)
        if (!verify_dim(c, dims[i], late))
            return bad(c, "malformed dimension");
    return true;
}

static bool verify_tensor(check *c, const int64_t *node, bool late)
{
    uint32_t flags = rlx_desc_node_flags(node), count = rlx_desc_node_count(node),
             words = rlx_desc_node_words(node);
    bool dims = flags & RLX_DESC_HAS_DIMS, reg = flags & RLX_DESC_HAS_REGISTER;
    uint32_t extra = ((flags & RLX_DESC_HAS_DEVICE) ? 1 : 0) + (reg ? 1 : 0);
    if (words != 3 + extra + count || (dims && reg) || (!dims && count))
        return bad(c, "malformed tensor");
    uint64_t key = (uint64_t)node[1], mask = (uint64_t)node[2];
    uint32_t rank_mask = (uint32_t)mask, type_mask = (uint32_t)(mask >> 32);
    if ((rank_mask && ~rank_mask) || (type_mask && ~type_mask) || (key & ~mask) ||
        (uint32_t)key > RLX_MAX_RANK)
        return bad(c, "malformed rank or dtype");
    if (dims && (!rank_mask || (uint32_t)key != count))
        return bad(c, "rank and number of sizes differ");
    if (reg && (!late || (uint64_t)node[2 + extra] >= c->regs))
        return bad(c, "register out of range");
    return verify_dims(c, node + 3 + extra, count, late);
}

static bool verify_shape(check *c, const int64_t *node, bool late)
{
    uint32_t count = rlx_desc_node_count(node);
    bool dims = rlx_desc_node_flags(node) & RLX_DESC_HAS_DIMS;
    if (rlx_desc_node_words(node) != 2 + count || node[1] < -1 || node[1] > 0xffff ||
        (dims ? node[1] != count : count != 0))
        return bad(c, "malformed shape");
    return verify_dims(c, node + 2, count, late);
}

static bool verify_prim(check *c, const int64_t *node, bool late)
{
    uint32_t dims = rlx_desc_node_flags(node) & RLX_DESC_HAS_DIMS ? 1 : 0;
    rlx_dtype dtype = (rlx_dtype)node[1];
    if (rlx_desc_node_words(node) != 2 + dims || rlx_desc_node_count(node) ||
        (uint64_t)node[1] >> 32)
        return bad(c, "malformed scalar");
    if (rlx_dtype_is_int(dtype) && !is_scalar_int(dtype))
        return bad(c, "scalar of an integer dtype that no scalar has");
    return verify_dims(c, node + 2, dims, late);
}

/* A node without children. `late`: it and all that hold it are marked for the second round. */
static bool verify_leaf(check *c, const int64_t *node, bool late)
{
    switch (rlx_desc_kind_of(node)) {
    case RLX_DESC_OBJECT:
        return (rlx_desc_node_words(node) == 1 && !rlx_desc_node_count(node)) ||
               bad(c, "malformed object");
    case RLX_DESC_TENSOR: return verify_tensor(c, node, late);
    case RLX_DESC_SHAPE: return verify_shape(c, node, late);
    case RLX_DESC_PRIM: return verify_prim(c, node, late);
    default: return bad(c, "unknown kind of description");
    }
}

static bool all_late(const int64_t *content, const level *levels, int depth, const int64_t *node)
{
    bool late = rlx_desc_node_flags(node) & RLX_DESC_LATE;
    for (int i = 0; i < depth; i++)
        late = late && (rlx_desc_node_flags(content + levels[i].header) & RLX_DESC_LATE);
    return late;
}

/* The words behind the parameters of a list: bounds, if it has them. */
static bool verify_bounds(const check *c, const int64_t *list, const int64_t *at,
                          const int64_t *end)
{
    bool bounded = rlx_desc_node_flags(list) & RLX_DESC_BOUNDED;
    if (bounded ? at == end || (end - at) % RLX_DESC_BOUND_WORDS : at != end)
        return bad(c, "description has another length than it says");
    for (; at != end; at += RLX_DESC_BOUND_WORDS)
        if (rlx_desc_dim_tag_of(at[0]) != RLX_DIM_SYMBOL || rlx_desc_dim_slot(at[0]) >= c->syms ||
            (rlx_desc_dim_index(at[0]) >= c->num_names && rlx_desc_dim_index(at[0]) != UINT32_MAX))
            return bad(c, "malformed bound");
    return true;
}

/* One node and all below it: they fill content[0 .. end) exactly. */
static bool verify_tree(check *c, const int64_t *content, uint32_t end, bool params)
{
    level levels[RLX_DESC_MAX_NESTING + 1];
    int depth = 0;
    uint32_t at = 0, limit = end;
    for (;;) {
        if (depth && levels[depth - 1].params) { /* the name before the node */
            if (at >= limit ||
                ((uint64_t)content[at] >= c->num_names && content[at] != (int64_t)RLX_NO_INDEX))
                return bad(c, "malformed parameter");
            at++;
        }
        if (at >= limit)
            return bad(c, "description breaks off");
        const int64_t *node = content + at;
        uint32_t kind = rlx_desc_kind_of(node), words = rlx_desc_node_words(node),
                 count = rlx_desc_node_count(node);
        if (words == 0 || words > limit - at ||
            (kind == RLX_DESC_PARAMS) != (params && depth == 0))
            return bad(c, "malformed node");
        if (kind == RLX_DESC_TUPLE || kind == RLX_DESC_FUNC || kind == RLX_DESC_PARAMS) {
            if (depth > RLX_DESC_MAX_NESTING - 1 ||
                ((rlx_desc_node_flags(node) & RLX_DESC_OPEN) && count))
                return bad(c, "description is nested too deep");
            levels[depth++] = (level){ count + (kind == RLX_DESC_FUNC), at + words, at,
                                       kind == RLX_DESC_PARAMS };
            limit = at + words;
            at++;
        } else {
            if (!verify_leaf(c, node, all_late(content, levels, depth, node)))
                return false;
            at += words;
        }
        while (depth && levels[depth - 1].left == 0) {
            const level *l = &levels[--depth];
            if (l->params
                    ? !verify_bounds(c, content + l->header, content + at, content + l->end)
                    : at != l->end)
                return bad(c, "description has another length than it says");
            at = l->end;
            limit = depth ? levels[depth - 1].end : end;
        }
        if (!depth)
            return at == end || bad(c, "description has another length than it says");
        levels[depth - 1].left--;
    }
}

bool rlx_desc_verify(const int64_t *descs, size_t num_words, uint32_t num_names, uint64_t *starts,
                     rlx_fault *why)
{
    check c = { .descs = descs, .starts = starts, .num_names = num_names, .why = why };
    if (num_words > RLX_OPERAND_MAX)
        return bad(&c, "too many words");
    for (size_t at = 0; at < num_words;) {
        const int64_t *item = descs + at;
        c.item = (uint32_t)at;
        if (num_words - at <= RLX_ITEM_HEADER || rlx_item_words(item) <= RLX_ITEM_HEADER ||
            rlx_item_words(item) > num_words - at)
            return bad(&c, "item breaks off");
        c.syms = item_syms(item);
        c.regs = item_regs(item);
        c.work = RLX_DESC_MAX_WORK;
        if (c.syms > RLX_MAX_SYMBOLS || c.regs > RLX_MAX_REGISTERS)
            return bad(&c, "too many symbols or registers");
        uint32_t end = rlx_item_words(item) - RLX_ITEM_HEADER, type = item_type(item);
        if (type < RLX_ITEM_EXPR || type > RLX_ITEM_PARAMS)
            return bad(&c, "unknown type of item");
        if (type == RLX_ITEM_EXPR
                ? !verify_expr(&c, item + RLX_ITEM_HEADER, end)
                : !verify_tree(&c, item + RLX_ITEM_HEADER, end, type == RLX_ITEM_PARAMS))
            return false;
        starts[at / 64] |= (uint64_t)1 << (at % 64);
        at += rlx_item_words(item);
    }
    return true;
}

bool rlx_desc_usable(const int64_t *descs, size_t num_words, const uint64_t *starts,
                     uint32_t offset, enum rlx_item_type type, uint32_t num_syms,
                     uint32_t num_regs)
{
    if (offset >= num_words || !has_start(starts, offset))
        return false;
    const int64_t *item = descs + offset;
    return item_type(item) == (uint32_t)type && item_syms(item) <= num_syms &&
           item_regs(item) <= num_regs;
}
