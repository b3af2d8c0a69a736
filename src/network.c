// Shapes, flat parameter buffers and their initialisation. Evaluation is in gpe.c and bellman.c.
#include "fgsf/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "program.h"

#define BLOCK 16 // floats; every layer's weights and biases start on a cache line

struct fgsf_network {
    fgsf_network_shape shape;
    size_t flat_size;
    ggml_backend_buffer_t buffer;
    float *data;
    uint64_t version;
};

static size_t pad(size_t floats) {
    return (floats + BLOCK - 1) / BLOCK * BLOCK;
}

fgsf_status fgsf_network_shape_check(const fgsf_network_shape *shape) {
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        {"input", shape->input}, {"actions", shape->actions}, {"features", shape->features}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].value < 1 || sizes[i].value > 1 << 20) {
            return fgsf_fail(FGSF_ERR_INVALID, "network.%s: %lld is not in [1, 1048576]",
                             sizes[i].name, (long long)sizes[i].value);
        }
    }
    if (shape->num_hidden < 0 || shape->num_hidden > FGSF_MAX_HIDDEN) {
        return fgsf_fail(FGSF_ERR_INVALID, "network.hidden: %d layers, at most %d are supported",
                         shape->num_hidden, FGSF_MAX_HIDDEN);
    }
    for (int l = 0; l < shape->num_hidden; l++) {
        if (shape->hidden[l] < 1 || shape->hidden[l] > 1 << 20) {
            return fgsf_fail(FGSF_ERR_INVALID, "network.hidden[%d]: %d is not in [1, 1048576]", l,
                             shape->hidden[l]);
        }
    }
    if (shape->activation != FGSF_RELU && shape->activation != FGSF_SILU) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED,
                         "network.activation: %d has no ggml backward pass; use relu or silu",
                         (int)shape->activation);
    }
    if ((int64_t)shape->actions * shape->features > 1 << 20) {
        return fgsf_fail(FGSF_ERR_INVALID, "network: %d actions x %d features are too many outputs",
                         shape->actions, shape->features);
    }
    return FGSF_OK;
}

int fgsf_network_layers(const fgsf_network_shape *shape, fgsf_layer layers[FGSF_MAX_HIDDEN + 1]) {
    size_t offset = 0;
    int in = shape->input;
    for (int l = 0; l <= shape->num_hidden && layers; l++) {
        int out = l < shape->num_hidden ? shape->hidden[l] : shape->actions * shape->features;
        layers[l] = (fgsf_layer){.in = in, .out = out, .weights = offset};
        offset += pad((size_t)in * (size_t)out);
        if (shape->bias) {
            layers[l].biases = offset;
            offset += pad((size_t)out);
        }
        in = out;
    }
    return shape->num_hidden + 1;
}

size_t fgsf_network_flat_size(const fgsf_network_shape *shape) {
    fgsf_layer layers[FGSF_MAX_HIDDEN + 1];
    const fgsf_layer *last = &layers[fgsf_network_layers(shape, layers) - 1];
    return shape->bias ? last->biases + pad((size_t)last->out)
                       : last->weights + pad((size_t)last->in * (size_t)last->out);
}

size_t fgsf_network_num_parameters(const fgsf_network_shape *shape) {
    fgsf_layer layers[FGSF_MAX_HIDDEN + 1];
    size_t count = 0;
    for (int l = 0, n = fgsf_network_layers(shape, layers); l < n; l++) {
        count += (size_t)layers[l].out * ((size_t)layers[l].in + (shape->bias ? 1 : 0));
    }
    return count;
}

fgsf_status fgsf_network_create(const fgsf_network_shape *shape, fgsf_network **out) {
    fgsf_status status = fgsf_network_shape_check(shape);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_silence_ggml();
    fgsf_network *net = calloc(1, sizeof *net);
    size_t flat_size = fgsf_network_flat_size(shape);
    if (net) {
        net->buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(),
                                                     flat_size * sizeof(float));
    }
    if (!net || !net->buffer) {
        free(net);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a network of %zu parameters", flat_size);
    }
    net->shape = *shape;
    net->flat_size = flat_size;
    net->data = ggml_backend_buffer_get_base(net->buffer);
    memset(net->data, 0, flat_size * sizeof(float));
    *out = net;
    return FGSF_OK;
}

void fgsf_network_free(fgsf_network *net) {
    if (net) {
        ggml_backend_buffer_free(net->buffer);
        free(net);
    }
}

void fgsf_network_init(fgsf_network *net, enum fgsf_init init, fgsf_rng *rng) {
    float *data = fgsf_network_edit(net);
    memset(data, 0, net->flat_size * sizeof(float));
    fgsf_layer layers[FGSF_MAX_HIDDEN + 1];
    int num_layers = fgsf_network_layers(&net->shape, layers);
    for (int l = 0; l < num_layers && init != FGSF_ZEROS; l++) {
        double scale = 1.0 / sqrt((double)layers[l].in);
        size_t num_weights = (size_t)layers[l].in * (size_t)layers[l].out;
        for (size_t i = 0; i < num_weights; i++) {
            double z = init == FGSF_NORMAL_FAN_IN ? fgsf_rng_normal(rng)
                                                  : 2.0 * fgsf_rng_uniform(rng) - 1.0;
            data[layers[l].weights + i] = (float)(scale * z);
        }
        for (int i = 0; i < layers[l].out && net->shape.bias && init == FGSF_UNIFORM_FAN_IN; i++) {
            data[layers[l].biases + (size_t)i] =
                (float)(scale * (2.0 * fgsf_rng_uniform(rng) - 1.0));
        }
    }
}

const fgsf_network_shape *fgsf_network_get_shape(const fgsf_network *net) {
    return &net->shape;
}

const float *fgsf_network_parameters(const fgsf_network *net) {
    return net->data;
}

float *fgsf_network_edit(fgsf_network *net) {
    net->version++;
    return net->data;
}

uint64_t fgsf_network_version(const fgsf_network *net) {
    return net->version;
}

void fgsf_network_track(fgsf_network *net, const fgsf_network *source, float rate) {
    float *data = fgsf_network_edit(net);
    if (rate == 1.0f) { // exact, where the formula would round
        memcpy(data, source->data, net->flat_size * sizeof(float));
        return;
    }
    for (size_t i = 0; i < net->flat_size; i++) {
        data[i] += rate * (source->data[i] - data[i]);
    }
}

fgsf_status fgsf_network_require(const fgsf_network *net, const fgsf_network_shape *shape,
                                 const char *what) {
    const fgsf_network_shape *own = &net->shape;
    bool same = own->input == shape->input && own->actions == shape->actions &&
                own->features == shape->features && own->num_hidden == shape->num_hidden &&
                own->activation == shape->activation && own->bias == shape->bias;
    for (int l = 0; same && l < own->num_hidden; l++) {
        same = own->hidden[l] == shape->hidden[l];
    }
    return same ? FGSF_OK : fgsf_fail(FGSF_ERR_INVALID, "%s has another shape", what);
}

ggml_backend_buffer_t fgsf_network_buffer(const fgsf_network *net) {
    return net->buffer;
}
