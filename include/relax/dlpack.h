/* dlpack.h: tensors of other libraries, without a copy.
 *
 * The structs are those of DLPack 1.x, declared here so that nobody needs its header. If you
 * use both, include the original first: its declarations are then used. `bool` is code 6 with 8
 * bits in DLPack and RELAX_BOOL here.
 */
#ifndef RELAX_DLPACK_H
#define RELAX_DLPACK_H

#include <relax/value.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_
typedef struct DLDevice {
    int32_t device_type; /* 1: CPU */
    int32_t device_id;
} DLDevice;

typedef struct DLDataType {
    uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 10 float8_e4m3fn, 12 float8_e5m2 */
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: contiguous */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

/* DLPack before 1.0 has no versioned form. */
#if !defined(DLPACK_DLPACK_H_) || !defined(DLPACK_MAJOR_VERSION)
typedef struct DLPackVersion {
    uint32_t major;
    uint32_t minor;
} DLPackVersion;

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags; /* bit 0: read-only, bit 1: the consumer is the only owner */
    DLTensor dl_tensor;
};
#endif

/* Takes over a tensor: from now on `managed` is ours, and its deleter runs exactly once: when
 * the last user of the tensor is gone, or before this call fails. Content is shared, not
 * copied. Refused: another major version, a device other than the CPU, strides that are not
 * contiguous, a dtype without storage here, misaligned data.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_from_dlpack(struct DLManagedTensorVersioned *managed,
                                      RELAX_OWN relax_tensor **out,
                                      RELAX_OWN relax_error **out_error);
/* Takes over a tensor in the older form, which has no version: from now on `managed` is ours, and
 * its deleter runs exactly once. Refuses what relax_tensor_from_dlpack refuses. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_from_dlpack_legacy(DLManagedTensor *managed,
                                             RELAX_OWN relax_tensor **out,
                                             RELAX_OWN relax_error **out_error);
/* Lends the tensor to another library: *out holds a reference until its deleter is called.
 * Strides are always filled; read-only tensors carry the read-only flag.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_to_dlpack(relax_tensor *tensor,
                                    RELAX_OWN struct DLManagedTensorVersioned **out,
                                    RELAX_OWN relax_error **out_error);
/* Lends the tensor in the older form: *out holds a reference until its deleter is called. That
 * form cannot say read-only, so read-only tensors are refused. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_to_dlpack_legacy(relax_tensor *tensor, RELAX_OWN DLManagedTensor **out,
                                           RELAX_OWN relax_error **out_error);
/* The tensor's own description, valid as long as the tensor. NULL for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const DLTensor *relax_tensor_view(const relax_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
