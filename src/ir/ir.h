/* ir: the data of a program. One table of nodes (node.def), one context that owns them. */
#ifndef RLX_IR_H
#define RLX_IR_H

#include "ir/node.h"
#include "ir/id_map.h"
#include "ir/context.h"
#include "ir/build.h"
#include "ir/device.h"
#include "ir/binding.h"
#include "ir/flow.h"
#include "ir/walk.h"
#include "ir/iface.h"
#include "ir/extension.h"

#endif
