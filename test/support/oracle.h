/* oracle.h: a second opinion on what Relax programs do. Evaluates expressions as language 7 says,
 * slowly and obviously: no passes but the one that numbers.md makes part of the meaning, no virtual
 * machine, no kernels. An operator is evaluated for the sizes that its operands have, by its
 * lowering and the evaluator of PrimFuncs; everything else is written here.
 *
 * Values are relax_values, so that packed functions of the host serve both. Where a program does
 * what nobody has taught the oracle, it says so: *why has no code then. */
#ifndef ORACLE_H
#define ORACLE_H

#include <relax/relax.h>
#include "format/fault.h"

typedef struct oracle oracle;

/* Lives at most as long as the context; registry may be NULL. NULL: the module cannot be taken. */
oracle *oracle_create(relax_context *ctx, const relax_module *module, relax_registry *registry);
/* Values that came from it are gone as well, but for those that were kept. */
void oracle_free(oracle *o);
/* Active calls beyond this number are RT11; 200 before anything is said. */
void oracle_limit_depth(oracle *o, int most);

/* Calls a public function by name, or a function that is a value. True: *result is borrowed and
 * lives as long as the oracle. False: *why says what failed. */
bool oracle_call(oracle *o, const char *name, const relax_value *args, size_t num_args,
                 relax_value *result, rlx_fault *why);
bool oracle_call_value(oracle *o, const relax_value *function, const relax_value *args,
                       size_t num_args, relax_value *result, rlx_fault *why);

#endif
