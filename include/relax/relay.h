/*- relay.h: Relay, Relax's predecessor: its text read, checked and printed.
 *
 *     relax_relay_module *m = relax_relay_module_parse(ctx, "m.rly", 5, text, text_len);
 *     if (m && relax_relay_module_infer(m) == RELAX_OK)
 *         text = relax_relay_module_print(m);
 *     relax_relay_module_destroy(m);
 *
 * Relay is a functional language of tensors, tuples, functions, algebraic data types and references
 * whose types are inferred by unification and relations. A text is a module, which begins with
 * #[version = "0.0.5"], or one expression.
 */
#ifndef RELAX_RELAY_H
#define RELAX_RELAY_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* owned: destroy it. It keeps a reference of its context and is used like it: by one thread. */
typedef struct relax_relay_module relax_relay_module;

/* Reads `text` (UTF-8) as a module of Relay or as one expression; `name` is used in messages
 * only. Types are not inferred yet. Every mistake found is a diagnostic (RY, PA07, PA08) of ctx;
 * NULL if there was one.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_relay_module *relax_relay_module_parse(relax_context *ctx,
        const char *name, size_t name_len, const char *text, size_t text_len);
/* Drops it. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
void relax_relay_module_destroy(RELAX_NULLABLE relax_relay_module *module);
/* Gives every expression its type: parameters, lets and results that are not annotated get theirs.
 * RELAX_OK, also where it was done before; else the status of the newest error, and every mistake
 * found is a diagnostic. What has failed once fails again, without further diagnostics. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
relax_status relax_relay_module_infer(relax_relay_module *module);
/* A module of Relax that computes what this one does: one function for each of its functions without type
 * parameters, under the same name as far as Relax allows it, and instances of the generic ones that these
 * use. Instances of algebraic data types are tuples of a tag (int32, the number of the constructor in
 * its definition) and an object, the tuple of the fields. Types are inferred first, if they are not yet. The
 * module is well-formed and normalised; it belongs to the context of `module` and does not need `module`
 * any more. NULL after a diagnostic (RY27, RY28: what Relax has no equivalent for).
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_relay_module_translate(relax_relay_module *module);
/* The text of the module, with the types that were inferred; read again it is an equal module, and
 * printed again the same bytes. NULL when out of memory, or where more than 400 scopes are nested,
 * which no text has that was read without graph variables. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(module)
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_relay_module_print(relax_relay_module *module);

#ifdef __cplusplus
}
#endif
#endif
