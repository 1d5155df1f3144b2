/*- relax.h: all of librelax. See the parts for what they hold.
 *
 * Names and numbers follow rules, so that most can be guessed:
 *   relax_X_VERB        what is done to what: relax_module_rename. Readers are bare nouns:
 *                       relax_struct_info_ndim. Many readers of one thing: _num_X and _X(i).
 *   relax_X_create      the caller owns what comes back: _destroy or _release ends it.
 *   relax_X_new, _of_Y  borrowed: it belongs to the context.
 *   relax_X_find        looks a name up; relax_X_register makes one known.
 *   relax_X_init        fills a struct of the caller's with defaults.
 *   size_t              counts and indices. RELAX_NOT_FOUND: there is none, or the call failed.
 *   int32_t, int64_t    ranks and sizes; -1 where they are not known.
 *   int32_t answers     yes and no are 1 and 0, and misuse is 0 with an OP diagnostic. Every other
 *                       answer is of an enum, which the comment names and which has a number for
 *                       "could not be answered".
 * Exceptions: analyses are called by what they find (relax_free_vars), relax_value_set_X and
 * _get_X because a cell has no other reader; relax_packed_fn takes num_args as tvm-ffi has it;
 * numbers of sources are 32 bits wide because a place holds them.
 */
#ifndef RELAX_RELAX_H
#define RELAX_RELAX_H

#include <relax/common.h>
#include <relax/value.h>
#include <relax/dlpack.h>
#include <relax/vm.h>
#include <relax/context.h>
#include <relax/ir.h>
#include <relax/builder.h>
#include <relax/tir.h>
#include <relax/text.h>
#include <relax/onnx.h>
#include <relax/analysis.h>
#include <relax/struct_info.h>
#include <relax/prove.h>
#include <relax/module.h>
#include <relax/transform.h>
#include <relax/pattern.h>
#include <relax/rewrite.h>
#include <relax/op.h>
#include <relax/extend.h>
#include <relax/compile.h>
#include <relax/relay.h>

#endif
