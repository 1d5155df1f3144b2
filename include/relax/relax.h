/* relax.h: all of librelax. See the parts for what they hold. */
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

#endif
