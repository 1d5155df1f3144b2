/* device.h: virtual devices as they are spoken of. */
#ifndef RLX_IR_DEVICE_H
#define RLX_IR_DEVICE_H

#include "ir/context.h"

/* The kind of the target, "cuda"; "vdevice" for a device without one. */
rlx_slice rlx_vdevice_kind(const rlx_vdevice *v);
#define RLX_HOST_DEVICE 1 /* DLPack's number for processors */
/* DLPack's number for that kind, 0: none. */
int32_t rlx_vdevice_type(const rlx_vdevice *v);
/* The name of such a number, "cuda"; "device" if it has none. */
const char *rlx_device_type_name(int64_t type);
/* "cuda:1", with the memory scope if it is not global; "no device" for NULL. For %s in
 * messages. */
const char *rlx_show_vdevice(rlx_context *ctx, const rlx_node *vdevice);
/* The devices that a module lists, NULL: it has no list. */
const rlx_attr_list *rlx_listed_vdevices(const rlx_module *m);

#endif
