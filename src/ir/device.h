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

/* An index of the devices that a module lists, for whoever asks of many. */
typedef struct rlx_device_table {
    bool filled;
    rlx_ptrmap numbers;     /* device -> number among those of its kind + 1 */
    rlx_map named;          /* "2:cuda" -> the third device of that kind; ":cuda" -> how many */
} rlx_device_table;
void rlx_device_table_init(rlx_device_table *t, rlx_memory *m);
void rlx_device_table_free(rlx_device_table *t);
/* The first call enters the list (may be NULL). False: out of memory. */
bool rlx_device_table_fill(rlx_device_table *t, const rlx_attr_list *list);
/* Number among the devices of its kind (of all, for one without a target); -1: not listed. */
int64_t rlx_device_number(const rlx_device_table *t, const rlx_node *device);
/* The kind "vdevice" is every device. NULL: not listed. */
const rlx_node *rlx_device_find(const rlx_device_table *t, rlx_slice kind, uint64_t number);

/* ---- distributed tensors (sharding.c) ------------------------------------------------------- */
/* A mesh of `rank` axes; ids: the devices in order, or, if ranged, the first one and the one
 * behind the last. */
const rlx_node *rlx_mesh_new(rlx_context *ctx, const int64_t *shape, size_t rank,
                             const int64_t *ids, size_t num_ids, bool ranged);
size_t rlx_mesh_rank(const rlx_device_mesh *m);
/* axes: for each axis of the mesh the axis of the tensor that it divides, -1: none. */
const rlx_node *rlx_sharding_new(rlx_context *ctx, const rlx_node *mesh, const int64_t *axes);
int64_t rlx_sharding_axis(const rlx_sharding *s, size_t i);
/* "S[0], R": how many entries there are, the first `max` of them in axes; SIZE_MAX: wrong text. */
size_t rlx_placement_read(rlx_slice text, int64_t *axes, size_t max);
void rlx_put_placement(rlx_buf *out, const rlx_sharding *s);
/* The arguments of R.device_mesh: (2, 2), I.Range(0, 4). */
void rlx_put_mesh(rlx_buf *out, const rlx_device_mesh *m);
/* For %s in messages. */
const char *rlx_show_sharding(rlx_context *ctx, const rlx_node *device);

#endif
