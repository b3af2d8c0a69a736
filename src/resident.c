// Copies of flat buffers in a device's own memory; see resident.h.
#include "resident.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct ggml_tensor fgsf_flat_tensor(ggml_backend_buffer_t buffer, float *data, size_t count) {
    struct ggml_tensor t = {.type = GGML_TYPE_F32, .buffer = buffer, .data = data};
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        t.ne[i] = i == 0 ? (int64_t)count : 1;
        t.nb[i] = i == 0 ? sizeof(float) : count * sizeof(float);
    }
    return t;
}

void fgsf_device_upload(fgsf_device *device, ggml_backend_buffer_t buffer, float *to,
                        const float *from, size_t count) {
    struct ggml_tensor t = fgsf_flat_tensor(buffer, to, count);
    ggml_backend_tensor_set(&t, from, 0, count * sizeof(float));
    device->counts.bytes_up += count * sizeof(float);
}

void fgsf_device_download(fgsf_device *device, ggml_backend_buffer_t buffer, const float *from,
                          float *to, size_t count) {
    struct ggml_tensor t = fgsf_flat_tensor(buffer, (float *)from, count);
    ggml_backend_tensor_get(&t, to, 0, count * sizeof(float));
    device->counts.bytes_down += count * sizeof(float);
}

size_t fgsf_device_block(const fgsf_device *device) {
    size_t floats = ggml_backend_buft_get_alignment(device->memory) / sizeof(float);
    return floats < 16 ? 16 : floats; // at least what the host's layout has
}

size_t fgsf_copy_offset(const fgsf_device *device, const fgsf_parameters *list, int i) {
    size_t block = fgsf_device_block(device), at = 0;
    for (int k = 0; k < i; k++) {
        size_t count = (size_t)list->list[k].rows * (size_t)list->list[k].columns;
        at += (count + block - 1) / block * block;
    }
    return at;
}

float *fgsf_copy_data(const fgsf_copy *copy) {
    float *base = ggml_backend_buffer_get_base(copy->slab->buffer);
    return base + (size_t)copy->slot * copy->slab->stride;
}

static void drop(fgsf_slab *slab) {
    if (!slab || --slab->users > 0) return;
    ggml_backend_buffer_free(slab->buffer);
    fgsf_device_free(slab->device);
    free(slab);
}

static fgsf_status create_slab(fgsf_device *device, size_t stride, int slots, fgsf_slab **out) {
    FGSF_TRY(fgsf_memory_check(0, "a copy on a device"));
    fgsf_slab *slab = calloc(1, sizeof *slab);
    size_t bytes = stride * (size_t)slots * sizeof(float);
    if (slab) slab->buffer = ggml_backend_buft_alloc_buffer(device->memory, bytes);
    if (!slab || !slab->buffer) {
        free(slab);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for %zu bytes on %s", bytes,
                         device->description);
    }
    ggml_backend_buffer_clear(slab->buffer, 0); // the gaps between parameters stay zero
    slab->device = device;
    slab->stride = stride;
    device->users++;
    *out = slab;
    return FGSF_OK;
}

// Moves a copy to a place in another slab; the numbers come from the host when they are next needed.
static void settle(fgsf_copy *copy, fgsf_slab *slab, int slot) {
    slab->users++;
    drop(copy->slab);
    *copy = (fgsf_copy){.slab = slab, .slot = slot, .device_old = true};
}

static void transfer(const fgsf_copy *copy, const fgsf_parameters *list, float *host, bool up) {
    fgsf_device *device = copy->slab->device;
    for (int i = 0; i < list->count; i++) {
        const fgsf_parameter *p = &list->list[i];
        size_t count = (size_t)p->rows * (size_t)p->columns;
        float *there = fgsf_copy_data(copy) + fgsf_copy_offset(device, list, i);
        if (up) {
            fgsf_device_upload(device, copy->slab->buffer, there, host + p->offset, count);
        } else {
            fgsf_device_download(device, copy->slab->buffer, there, host + p->offset, count);
        }
    }
}

void fgsf_copy_fetch(fgsf_copy *copy, const fgsf_parameters *list, float *host) {
    if (copy->host_old) transfer(copy, list, host, false);
    copy->host_old = false;
}

fgsf_status fgsf_copy_update(fgsf_copy *copy, fgsf_device *device, const fgsf_parameters *list,
                             const float *host) {
    if (!copy->slab || copy->slab->device != device) {
        fgsf_slab *slab = NULL;
        FGSF_TRY(create_slab(device, fgsf_copy_offset(device, list, list->count), 1, &slab));
        fgsf_copy_fetch(copy, list, (float *)host);
        settle(copy, slab, 0);
    }
    if (copy->device_old) transfer(copy, list, (float *)host, true);
    copy->device_old = false;
    return FGSF_OK;
}

void fgsf_copy_free(fgsf_copy *copy) {
    drop(copy->slab);
    *copy = (fgsf_copy){0};
}

// ---- Networks -----------------------------------------------------------------------------------

fgsf_status fgsf_network_copy(const fgsf_network *net, fgsf_device *device, const fgsf_copy **out) {
    fgsf_copy *copy = fgsf_network_own_copy(net);
    const float *host = copy->device_old || !copy->slab || copy->slab->device != device
                            ? fgsf_network_parameters(net)
                            : NULL; // not needed, so not fetched
    *out = copy;
    return fgsf_copy_update(copy, device, fgsf_network_get_parameters(net), host);
}

fgsf_status fgsf_network_stack(const fgsf_network *const *nets, int count, fgsf_device *device,
                               const fgsf_copy **out) {
    const fgsf_parameters *list = fgsf_network_get_parameters(nets[0]);
    const fgsf_copy *first = fgsf_network_own_copy(nets[0]);
    fgsf_status status = FGSF_OK;
    bool stacked = first->slab && first->slab->device == device;
    for (int k = 1; k < count && stacked; k++) {
        const fgsf_copy *copy = fgsf_network_own_copy(nets[k]);
        stacked = copy->slab == first->slab && copy->slot == first->slot + k;
    }
    if (!stacked) { // seldom: after a policy was added
        fgsf_slab *slab = NULL;
        status = create_slab(device, fgsf_copy_offset(device, list, list->count), count, &slab);
        for (int k = 0; k < count && status == FGSF_OK; k++) {
            fgsf_network_parameters(nets[k]); // brings them back
            settle(fgsf_network_own_copy(nets[k]), slab, k);
        }
    }
    for (int k = count - 1; k >= 0 && status == FGSF_OK; k--) {
        status = fgsf_network_copy(nets[k], device, out);
    }
    return status;
}
