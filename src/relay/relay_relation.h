/* relay_relation.h: what the relations of operators are written with. Each relation looks at the
 * types of its goal and says whether it holds, cannot be decided yet, or fails, which it reports. */
#ifndef RLX_RELAY_RELATION_H
#define RLX_RELAY_RELATION_H

#include "relay/relay_solve.h"

#define RLX_RELAY_MAX_RANK 64

/* The relations, by the names that text may say (`where Broadcast`). */
#define REL(name) enum rlx_relay_outcome rlx_relay_rel_##name(rlx_relay_goal *g);
#include "relay/relay_relation.def"
#undef REL

/* Type i as a tensor whose extents are known. NULL: *why says what to return; that it is no tensor
 * has been reported. */
const rlx_relay_type *rlx_relay_rel_tensor(rlx_relay_goal *g, size_t i, enum rlx_relay_outcome *why);
/* Type i as a tuple of such tensors. */
const rlx_relay_type *rlx_relay_rel_tuple(rlx_relay_goal *g, size_t i, enum rlx_relay_outcome *why);
const rlx_relay_type *rlx_relay_rel_field(rlx_relay_goal *g, const rlx_relay_type *tuple, size_t i,
                                          enum rlx_relay_outcome *why);
/* Reports that the relation fails, and why. FAILS. */
enum rlx_relay_outcome rlx_relay_rel_fail(rlx_relay_goal *g, const char *format, ...) RLX_PRINTF(2, 3);

/* Type i becomes the tensor. */
enum rlx_relay_outcome rlx_relay_rel_give(rlx_relay_goal *g, size_t i, const rlx_relay_dim *dims,
                                          size_t ndim, rlx_dtype dtype);
enum rlx_relay_outcome rlx_relay_rel_assign(rlx_relay_goal *g, size_t i, rlx_relay_type *t);
/* Number of the first output. */
RLX_INLINE size_t rlx_relay_rel_out(const rlx_relay_goal *g) { return g->num_inputs; }

/* Attributes: as written, else the record's default. */
rlx_relay_value rlx_relay_rel_attr(rlx_relay_goal *g, const char *name);
int64_t rlx_relay_rel_int(rlx_relay_goal *g, const char *name);
double rlx_relay_rel_float(rlx_relay_goal *g, const char *name);
bool rlx_relay_rel_bool(rlx_relay_goal *g, const char *name);
rlx_slice rlx_relay_rel_text(rlx_relay_goal *g, const char *name);
/* Integers of a list, or one integer as a list of one. *count -1: None. False after a report. */
bool rlx_relay_rel_ints(rlx_relay_goal *g, const char *name, int64_t *out, int *count);
/* The data type of an attribute, or `otherwise` where none is said. */
bool rlx_relay_rel_dtype(rlx_relay_goal *g, const char *name, rlx_dtype otherwise, rlx_dtype *out);

/* Extents. */
RLX_INLINE rlx_relay_dim rlx_relay_any(void) { return (rlx_relay_dim){ .kind = RLX_RELAY_DIM_ANY }; }
RLX_INLINE rlx_relay_dim rlx_relay_int(int64_t v)
{
    return (rlx_relay_dim){ .kind = RLX_RELAY_DIM_INT, .bits = 32, .value = v };
}
rlx_relay_dim rlx_relay_extent(const rlx_relay_type *t, size_t i);
RLX_INLINE bool rlx_relay_is_int(rlx_relay_dim d) { return d.kind == RLX_RELAY_DIM_INT; }
RLX_INLINE bool rlx_relay_is_any(rlx_relay_dim d) { return d.kind == RLX_RELAY_DIM_ANY; }
/* Surely different? */
bool rlx_relay_differ(rlx_relay_dim a, rlx_relay_dim b);
/* The product; `?` if a factor is no number. False after a report: it does not fit. */
bool rlx_relay_product(rlx_relay_goal *g, const rlx_relay_dim *dims, size_t n, rlx_relay_dim *out);
/* An axis counted from the end where it is negative; false after a report. */
bool rlx_relay_axis(rlx_relay_goal *g, int64_t axis, size_t ndim, size_t *out);
/* The extents that both broadcast to, into out[RLX_RELAY_MAX_RANK]; false after a report. */
bool rlx_relay_broadcast(rlx_relay_goal *g, const rlx_relay_dim *a, size_t na, const rlx_relay_dim *b,
                         size_t nb, rlx_relay_dim *out, size_t *n);
/* All extents of t. */
void rlx_relay_extents(const rlx_relay_type *t, rlx_relay_dim out[RLX_RELAY_MAX_RANK]);

#endif
