// Shapes, flat parameter buffers and their initialisation. Evaluation is in gpe.c and bellman.c, our
// own definitions are in network_mlp.c.
#include "fgsf/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "program.h"
#include "registry.h"
#include "require.h"
#include "resident.h"

#define BLOCK 16        // floats; every parameter starts on a cache line
#define LIMIT (1 << 20) // of every size
#define MOST INT32_MAX  // numbers in all parameters together

struct fgsf_network {
    fgsf_network_shape shape;
    fgsf_parameters parameters;
    ggml_backend_buffer_t buffer;
    float *data;
    uint64_t version;
    fgsf_copy copy; // on a device that has memory of its own
};

// ---- Definitions --------------------------------------------------------------------------------

static fgsf_registry registry = {
    .what = "network", .count = 2, .items = {&fgsf_network_mlp, &fgsf_network_torso}};

fgsf_status fgsf_network_register(const fgsf_network_def *def) {
    if (!def || !def->parameters || !def->forward) {
        return fgsf_fail(FGSF_ERR_INVALID, "a network needs the functions parameters and forward");
    }
    if (def->shared && !def->linear_head) {
        return fgsf_fail(FGSF_ERR_INVALID, "network '%.80s': shared needs linear_head",
                         def->name ? def->name : "");
    }
    return fgsf_registry_add(&registry, def);
}

const fgsf_network_def *fgsf_network_def_at(int i) {
    return fgsf_registry_at(&registry, i);
}

const fgsf_network_def *fgsf_network_def_find(const char *name) {
    return fgsf_registry_find(&registry, name);
}

const fgsf_network_def *fgsf_shape_def(const fgsf_network_shape *shape) {
    return shape->def ? shape->def : &fgsf_network_mlp;
}

int fgsf_shape_actions(const fgsf_network_shape *shape) {
    return shape->actions * (shape->heads > 1 ? shape->heads : 1);
}

// ---- Shapes -------------------------------------------------------------------------------------

void fgsf_parameters_add(fgsf_parameters *out, const char *name, int rows, int columns,
                         enum fgsf_fill fill, int fan_in) {
    if (!out) return;
    bool drawn = fill == FGSF_FILL_WEIGHTS || fill == FGSF_FILL_BIASES;
    if (!name || out->count >= FGSF_MAX_PARAMETERS || rows < 1 || columns < 1 ||
        (drawn && fan_in < 1) || (int64_t)rows * columns > MOST - (int64_t)out->flat_size) {
        out->overflow = true;
        return;
    }
    fgsf_parameter *p = &out->list[out->count++];
    *p = (fgsf_parameter){.rows = rows, .columns = columns, .fill = fill, .fan_in = fan_in};
    snprintf(p->name, sizeof p->name, "%s", name);
    p->offset = out->flat_size;
    out->flat_size += ((size_t)rows * (size_t)columns + BLOCK - 1) / BLOCK * BLOCK;
}

static fgsf_status check_size(const char *name, int index, int64_t value) {
    if (value >= 1 && value <= LIMIT) return FGSF_OK;
    char at[16] = "";
    if (index >= 0) snprintf(at, sizeof at, "[%d]", index);
    return fgsf_fail(FGSF_ERR_INVALID, "network.%s%s: %lld is not in [1, %d]", name, at,
                     (long long)value, LIMIT);
}

// The sizes that every definition relies on.
static fgsf_status check_sizes(const fgsf_network_shape *shape) {
    fgsf_status status = check_size("input", -1, shape->input);
    if (status == FGSF_OK) status = check_size("actions", -1, shape->actions);
    if (status == FGSF_OK) status = check_size("features", -1, shape->features);
    if (status == FGSF_OK && shape->heads != 0) status = check_size("heads", -1, shape->heads);
    if (status == FGSF_OK && (shape->num_hidden < 0 || shape->num_hidden > FGSF_MAX_HIDDEN)) {
        return fgsf_fail(FGSF_ERR_INVALID, "network.hidden: %d layers, at most %d are supported",
                         shape->num_hidden, FGSF_MAX_HIDDEN);
    }
    for (int l = 0; l < shape->num_hidden && status == FGSF_OK; l++) {
        status = check_size("hidden", l, shape->hidden[l]);
    }
    int64_t heads = shape->heads > 1 ? shape->heads : 1;
    if (status == FGSF_OK && (int64_t)shape->actions * shape->features > LIMIT / heads) {
        return fgsf_fail(FGSF_ERR_INVALID, "network: %d actions x %d features are too many outputs",
                         shape->actions, shape->features);
    }
    return status;
}

void fgsf_network_list(const fgsf_network_shape *shape, fgsf_parameters *out) {
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (shape && check_sizes(shape) == FGSF_OK) fgsf_shape_def(shape)->parameters(shape, out);
}

// A linear head is W, of a row per output, and b if the shape has biases, at the end of the list.
static fgsf_status check_head(const fgsf_network_shape *shape, const fgsf_parameters *list,
                              const char *name) {
    int w = fgsf_shape_head(shape, list), outputs = fgsf_shape_actions(shape) * shape->features;
    const fgsf_parameter *b = &list->list[list->count - 1];
    if (w >= 0 && list->list[w].rows == outputs &&
        (!shape->bias || b->rows * b->columns == outputs)) {
        return FGSF_OK;
    }
    return fgsf_fail(FGSF_ERR_INVALID,
                     "network '%s': with linear_head the last parameters must be W of %d rows%s",
                     name, outputs, shape->bias ? " and b, or the shape must have no bias" : "");
}

fgsf_status fgsf_network_shape_check(const fgsf_network_shape *shape) {
    if (!shape) return fgsf_fail(FGSF_ERR_INVALID, "network: the shape is NULL");
    FGSF_TRY(check_sizes(shape));
    if ((unsigned)shape->activation > FGSF_SOFTPLUS) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED,
                         "network.activation: %d has no ggml backward pass; use relu, silu or "
                         "softplus",
                         (int)shape->activation);
    }
    if ((unsigned)shape->norm > FGSF_NORM_LAYER) {
        return fgsf_fail(FGSF_ERR_INVALID, "network.norm: %d does not exist", (int)shape->norm);
    }
    const fgsf_network_def *def = fgsf_shape_def(shape);
    if (shape->heads > 1 && !def->shared) {
        return fgsf_fail(FGSF_ERR_INVALID, "network.heads: %d, but '%s' has one head", shape->heads,
                         def->name);
    }
    fgsf_parameters list;
    fgsf_network_list(shape, &list);
    if (list.overflow || list.count == 0) {
        return fgsf_fail(
            FGSF_ERR_INVALID,
            "network '%s': 1 to %d parameters with a name are supported, of at least one "
            "number each and at most %d together, with a positive fan-in where they are drawn",
            def->name, FGSF_MAX_PARAMETERS, MOST);
    }
    return def->linear_head ? check_head(shape, &list, def->name) : FGSF_OK;
}

size_t fgsf_network_flat_size(const fgsf_network_shape *shape) {
    fgsf_parameters list;
    fgsf_network_list(shape, &list);
    return list.flat_size;
}

size_t fgsf_network_num_parameters(const fgsf_network_shape *shape) {
    fgsf_parameters list;
    fgsf_network_list(shape, &list);
    size_t count = 0;
    for (int i = 0; i < list.count; i++) {
        count += (size_t)list.list[i].rows * (size_t)list.list[i].columns;
    }
    return count;
}

// ---- Networks -----------------------------------------------------------------------------------

fgsf_status fgsf_network_create(const fgsf_network_shape *shape, fgsf_network **out) {
    FGSF_REQUIRE(out);
    fgsf_status status = fgsf_network_shape_check(shape);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_silence_ggml();
    fgsf_network *net = calloc(1, sizeof *net);
    if (net) {
        fgsf_network_list(shape, &net->parameters);
        net->buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(),
                                                     net->parameters.flat_size * sizeof(float));
    }
    if (!net || !net->buffer) {
        free(net);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a network of %zu parameters",
                         fgsf_network_flat_size(shape));
    }
    net->shape = *shape;
    net->data = ggml_backend_buffer_get_base(net->buffer);
    memset(net->data, 0, net->parameters.flat_size * sizeof(float));
    *out = net;
    return FGSF_OK;
}

void fgsf_network_free(fgsf_network *net) {
    if (net) {
        fgsf_copy_free(&net->copy);
        ggml_backend_buffer_free(net->buffer);
        free(net);
    }
}

// Draws `rows` rows of a parameter, from row `first` on.
static void fill_rows(float *data, const fgsf_parameter *p, int first, int rows,
                      enum fgsf_init init, fgsf_rng *rng) {
    double scale = 1.0 / sqrt((double)p->fan_in);
    bool drawn = p->fill == FGSF_FILL_WEIGHTS ||
                 (p->fill == FGSF_FILL_BIASES && init == FGSF_UNIFORM_FAN_IN);
    data += p->offset + (size_t)first * (size_t)p->columns;
    for (size_t i = 0; i < (size_t)rows * (size_t)p->columns; i++) {
        if (p->fill == FGSF_FILL_ONES) {
            data[i] = 1.0f;
        } else if (drawn && init == FGSF_NORMAL_FAN_IN) {
            data[i] = (float)(scale * fgsf_rng_normal(rng));
        } else if (drawn && init == FGSF_UNIFORM_FAN_IN) {
            data[i] = (float)(scale * (2.0 * fgsf_rng_uniform(rng) - 1.0));
        }
    }
}

// The index of the first parameter that has a part per head, W of the linear head; `b` may follow.
int fgsf_shape_head(const fgsf_network_shape *shape, const fgsf_parameters *list) {
    return list->count - (shape->bias ? 2 : 1);
}

// The rows of one head in W, or its numbers in b, seen as rows of one number.
static fgsf_parameter head_rows(const fgsf_network *net, int i, int *rows) {
    fgsf_parameter p = net->parameters.list[i];
    if (p.rows == 1) {
        p.rows = p.columns;
        p.columns = 1;
    }
    *rows = net->shape.actions * net->shape.features;
    return p;
}

void fgsf_network_init(fgsf_network *net, enum fgsf_init init, fgsf_rng *rng) {
    if (!(net && rng)) return;
    float *data = fgsf_network_edit(net);
    const fgsf_parameters *list = &net->parameters;
    memset(data, 0, list->flat_size * sizeof(float));
    int shared = net->shape.heads > 1 ? fgsf_shape_head(&net->shape, list) : list->count;
    for (int i = 0; i < shared; i++) {
        fill_rows(data, &list->list[i], 0, list->list[i].rows, init, rng);
    }
    if (shared < list->count) {
        fgsf_network_init_head(net, 0, init, rng);
    }
}

void fgsf_network_init_head(fgsf_network *net, int head, enum fgsf_init init, fgsf_rng *rng) {
    int heads = net && net->shape.heads > 0 ? net->shape.heads : 1;
    if (!net || !rng || head < 0 || head >= heads) return;
    float *data = fgsf_network_edit(net);
    for (int i = fgsf_shape_head(&net->shape, &net->parameters); i < net->parameters.count; i++) {
        int rows;
        fgsf_parameter p = head_rows(net, i, &rows);
        fill_rows(data, &p, head * rows, rows, init, rng);
    }
}

// Copies head `from` of a network of the same shape to head `to` of `net`.
static void copy_rows(fgsf_network *net, int to, const fgsf_network *source, int from) {
    const float *other = fgsf_network_parameters(source);
    float *data = fgsf_network_edit(net);
    for (int i = fgsf_shape_head(&net->shape, &net->parameters); i < net->parameters.count; i++) {
        int rows;
        fgsf_parameter p = head_rows(net, i, &rows);
        size_t size = (size_t)rows * (size_t)p.columns;
        memcpy(data + p.offset + (size_t)to * size, other + p.offset + (size_t)from * size,
               size * sizeof(float));
    }
}

void fgsf_network_copy_head(fgsf_network *net, int head) {
    if (!net || head < 1 || head >= net->shape.heads) return;
    copy_rows(net, head, net, head - 1);
}

void fgsf_network_take_head(fgsf_network *net, const fgsf_network *source, int head) {
    copy_rows(net, head, source, head);
}

const fgsf_network_shape *fgsf_network_get_shape(const fgsf_network *net) {
    if (!net) return NULL;
    return &net->shape;
}

const fgsf_parameters *fgsf_network_get_parameters(const fgsf_network *net) {
    if (!net) return NULL;
    return &net->parameters;
}

size_t fgsf_network_size(const fgsf_network *net) {
    if (!net) return 0;
    return net->parameters.flat_size;
}

const float *fgsf_network_parameters(const fgsf_network *net) {
    if (!net) return NULL;
    if (net->copy.host_old)
        fgsf_copy_fetch(fgsf_network_own_copy(net), &net->parameters, net->data);
    return net->data;
}

float *fgsf_network_edit(fgsf_network *net) {
    if (!net) return NULL;
    fgsf_network_parameters(net);
    net->copy.device_old = true;
    net->version++;
    return net->data;
}

fgsf_copy *fgsf_network_own_copy(const fgsf_network *net) {
    return (fgsf_copy *)&net->copy; // where the numbers are is no part of what a network is
}

void fgsf_network_moved(fgsf_network *net) {
    net->copy.host_old = true;
    net->version++;
}

uint64_t fgsf_network_version(const fgsf_network *net) {
    if (!net) return 0;
    return net->version;
}

// Copies a network whose numbers only the device has, without bringing them to the host.
static fgsf_status copy_on_device(fgsf_network *net, const fgsf_network *source) {
    const fgsf_copy *to, *from = &source->copy;
    net->copy.device_old = false; // all of it is overwritten
    FGSF_TRY(fgsf_network_copy(net, from->slab->device, &to));
    size_t size = from->slab->stride;
    struct ggml_tensor a = fgsf_flat_tensor(from->slab->buffer, fgsf_copy_data(from), size);
    struct ggml_tensor b = fgsf_flat_tensor(to->slab->buffer, fgsf_copy_data(to), size);
    ggml_backend_tensor_copy(&a, &b);
    fgsf_network_moved(net);
    return FGSF_OK;
}

fgsf_status fgsf_network_track(fgsf_network *net, const fgsf_network *source, float rate) {
    FGSF_REQUIRE(net && source && rate >= 0.0f && rate <= 1.0f);
    fgsf_status status = fgsf_network_require(source, &net->shape, "the network to track");
    if (status != FGSF_OK) {
        return status;
    }
    if (rate == 1.0f && source->copy.host_old) return copy_on_device(net, source);
    const float *from = fgsf_network_parameters(source);
    float *data = fgsf_network_edit(net);
    if (rate == 1.0f) { // exact, where the formula would round
        memcpy(data, from, net->parameters.flat_size * sizeof(float));
        return FGSF_OK;
    }
    for (size_t i = 0; i < net->parameters.flat_size; i++) {
        data[i] += rate * (from[i] - data[i]);
    }
    return FGSF_OK;
}

fgsf_status fgsf_network_require(const fgsf_network *net, const fgsf_network_shape *shape,
                                 const char *what) {
    if (!net) return fgsf_fail(FGSF_ERR_INVALID, "%s is NULL", what);
    const fgsf_network_shape *own = &net->shape;
    bool same = fgsf_shape_def(own) == fgsf_shape_def(shape) && own->input == shape->input &&
                own->features == shape->features && own->actions == shape->actions &&
                fgsf_shape_actions(own) == fgsf_shape_actions(shape) &&
                own->num_hidden == shape->num_hidden && own->activation == shape->activation &&
                own->norm == shape->norm && own->bias == shape->bias;
    for (int l = 0; same && l < own->num_hidden; l++) {
        same = own->hidden[l] == shape->hidden[l];
    }
    return same ? FGSF_OK : fgsf_fail(FGSF_ERR_INVALID, "%s has another shape", what);
}

ggml_backend_buffer_t fgsf_network_buffer(const fgsf_network *net) {
    return net->buffer;
}
