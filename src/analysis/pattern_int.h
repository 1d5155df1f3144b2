/* pattern_int.h: what the matcher asks pattern_check.c, and what that tells it. */
#ifndef RLX_PATTERN_INT_H
#define RLX_PATTERN_INT_H

#include "analysis/pattern.h"

/* False also when out of memory. */
bool rlx_check_name(const rlx_string *wanted, const rlx_string *name, int32_t number);
bool rlx_check_equal(rlx_matcher *m, const rlx_expr *a, const rlx_expr *b);
bool rlx_check_function(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *value);
bool rlx_check_scalar(const rlx_pattern *p, const rlx_expr *value);
bool rlx_check_sizes(rlx_matcher *m, const rlx_pattern *p, const rlx_prim *const *dims,
                     size_t ndim);
bool rlx_check_condition(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e);
bool rlx_check_same_shape(rlx_matcher *m, const rlx_expr *a, const rlx_expr *b);
bool rlx_match_spend(rlx_matcher *m, uint64_t steps); /* false: there are too many ways */
bool rlx_match_set_size(rlx_matcher *m, uint32_t size, const rlx_prim *value);

#endif
