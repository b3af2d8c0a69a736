// Where graphs run: ggml's CPU and BLAS backends, or any other device in ggml's registry.
//
//     fgsf_device *device = NULL;
//     fgsf_device_open("auto", &device);
//
// `auto` runs on the CPU backend with the matrix products done by our own kernels inside the graph,
// the fastest choice on one core. `cpu` is ggml's CPU backend alone, `blas` schedules over ggml's {BLAS,
// CPU}; any other name is a device of ggml's registry, such as a GPU. There networks and moments
// live in the device's memory, and a learning step sends it the batch and gets back losses and values;
// what a device cannot do is scheduled to the CPU. `resident` does the same on the CPU, as a test of it.
// Only one thread may use a device at a time. A device computes with one thread unless
// fgsf_device_set_threads says otherwise. Names may be upper or lower case.
//
// Some backends compute products in half precision unless the environment says otherwise before
// ggml is first used: GGML_VK_DISABLE_F16=1, GGML_VK_DISABLE_COOPMAT=1, GGML_VK_DISABLE_COOPMAT2=1
// (Vulkan), NVIDIA_TF32_OVERRIDE=0 (CUDA). The drivers set these variables; the library does not.
// fgsf_device_check measures the error of a device.
#ifndef FGSF_DEVICE_H
#define FGSF_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "fgsf/status.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_device fgsf_device;

// Opens a device by name; NULL or "" means "auto".
FGSF_API fgsf_status fgsf_device_open(const char *name, fgsf_device **out);
FGSF_API void fgsf_device_free(fgsf_device *device);

// Lets the matrix products of `auto` use several threads where they are large enough; other devices
// refuse more than one. Results have the same bits with any number. Idle threads sleep.
FGSF_API fgsf_status fgsf_device_set_threads(fgsf_device *device, int threads);

// Returns what the device runs on, such as "CPU with FGSF's products".
FGSF_API const char *fgsf_device_description(const fgsf_device *device);

// Returns the operations that had to fall back to the CPU in graphs built so far, comma-separated,
// or "" when none had to.
FGSF_API const char *fgsf_device_fallbacks(const fgsf_device *device);

// What a device has done since it was opened. Bytes are those between the host's memory and the
// device's own; where they are the same memory there are none.
typedef struct fgsf_device_counts {
    uint64_t graphs, nodes; // computed
    uint64_t bytes_up, bytes_down;
} fgsf_device_counts;

FGSF_API fgsf_device_counts fgsf_device_get_counts(const fgsf_device *device);

// Writes the name of the i-th device that fgsf_device_open accepts, and a line about it; returns
// FGSF_ERR_INVALID past the last.
FGSF_API fgsf_status fgsf_device_list(int i, char *name, size_t name_size, char *about,
                                      size_t about_size);

// Compares loss and gradient of a small full-gradient problem on `device` with ggml's plain CPU
// backend; stores the largest error relative to the largest entry. Fails when it exceeds `limit`.
FGSF_API fgsf_status fgsf_device_check(fgsf_device *device, double limit, double *error);

FGSF_END_DECLS
#endif
