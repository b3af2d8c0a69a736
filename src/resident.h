// Internal: copies of flat buffers in a device's own memory, for devices that are not the CPU.
//
// A network, and each moment of an optimiser, has one. Host code reads and writes the flat buffer; a
// graph reads and writes the copy. The flags say which of the two is newer; a transfer happens when the
// older one is asked for, and only then.
#ifndef FGSF_RESIDENT_H
#define FGSF_RESIDENT_H

#include "program.h"

// Memory of a device for several copies of one layout, one behind the other.
typedef struct fgsf_slab {
    fgsf_device *device;
    ggml_backend_buffer_t buffer;
    size_t stride; // floats of one copy
    int users;
} fgsf_slab;

typedef struct fgsf_copy {
    fgsf_slab *slab; // NULL without a copy
    int slot;
    bool host_old, device_old;
} fgsf_copy;

// A tensor of `count` numbers at a place in a buffer, for transfers.
struct ggml_tensor fgsf_flat_tensor(ggml_backend_buffer_t buffer, float *data, size_t count);

// Transfers numbers between the host and a buffer of the device, and counts them.
void fgsf_device_upload(fgsf_device *device, ggml_backend_buffer_t buffer, float *to,
                        const float *from, size_t count);
void fgsf_device_download(fgsf_device *device, ggml_backend_buffer_t buffer, const float *from,
                          float *to, size_t count);

// Returns the distance, in floats, at which tensors start in the device's memory.
size_t fgsf_device_block(const fgsf_device *device);

// Where parameter i of a list starts in a copy, in floats; i = count gives the size of the copy.
size_t fgsf_copy_offset(const fgsf_device *device, const fgsf_parameters *list, int i);

// Makes sure that there is a copy on the device and that it is as new as the host's numbers.
fgsf_status fgsf_copy_update(fgsf_copy *copy, fgsf_device *device, const fgsf_parameters *list,
                             const float *host);

// Brings the numbers back to the host if the copy is newer.
void fgsf_copy_fetch(fgsf_copy *copy, const fgsf_parameters *list, float *host);

// Gives the copy up. What only the device has is lost.
void fgsf_copy_free(fgsf_copy *copy);

// The numbers of a copy.
float *fgsf_copy_data(const fgsf_copy *copy);

// ---- Networks -----------------------------------------------------------------------------------

// The copy of a network as it is, which counts as no change of the network.
fgsf_copy *fgsf_network_own_copy(const fgsf_network *net);

// Returns the up-to-date copy of a network on a device.
fgsf_status fgsf_network_copy(const fgsf_network *net, fgsf_device *device, const fgsf_copy **out);

// Says that a graph has changed the copy.
void fgsf_network_moved(fgsf_network *net);

// Returns the copy of the first of `count` networks of one shape, with those of the others behind it.
fgsf_status fgsf_network_stack(const fgsf_network *const *nets, int count, fgsf_device *device,
                               const fgsf_copy **out);

#endif
