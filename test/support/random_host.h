/* random_host.h: what random_program.h asks of a host: packed functions, arguments, and a record of
 * everything that a run shows. */
#ifndef RANDOM_HOST_H
#define RANDOM_HOST_H

#include <relax/relax.h>

/* Bytes of everything that was seen, in order; data is to be freed. */
typedef struct random_seen { uint8_t *data; size_t len, cap; } random_seen;
/* Adds a value: its kind and content. One NaN is as good as another. */
void random_see(random_seen *b, const relax_value *v);

/* x: what host.any gives, borrowed. */
typedef struct random_host { random_seen seen; relax_value x; } random_host;
relax_registry *random_host_registry(random_host *h);

/* The arguments of main for that n, each with a reference. shared: bit 0, o is x; bit 1, so is the first
 * field of t. */
enum { RANDOM_NUM_ARGS = 7 };
void random_host_args(uint64_t seed, int64_t n, int shared, relax_value *args);

#endif
