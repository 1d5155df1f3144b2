/* base: what everything else stands on. Knows nothing of Relax.
 *
 * Other rooms include this header only; inside the room the pieces are included alone.
 */
#ifndef RLX_BASE_H
#define RLX_BASE_H

#define RLX_VERSION "0.1.0"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/region.h"
#include "base/vec.h"
#include "base/text.h"
#include "base/map.h"
#include "base/intern.h"
#include "base/dtype.h"
#include "base/blob.h"
#include "base/diag.h"
#include "base/number.h"
#include "base/json.h"
#include "base/file.h"
#include "base/crc32c.h"
#include "base/sha256.h"
#include "base/cpu.h"

#endif
