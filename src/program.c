// Opens devices and runs graphs on them: one CPU graph where possible, ggml's scheduler elsewhere.
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "denormals.h"
#include "ggml-cpu.h"

static void discard_log(enum ggml_log_level level, const char *text, void *userdata) {
    (void)level, (void)text, (void)userdata;
}

void fgsf_silence_ggml(void) {
    ggml_log_set(discard_log, NULL);
}

static fgsf_status add_backend(fgsf_device *device, ggml_backend_dev_t dev, const char *name) {
    ggml_backend_t backend = dev ? ggml_backend_dev_init(dev, NULL) : NULL;
    if (!backend) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED,
                         "device.name: '%s' is no device of this build on this machine", name);
    }
    // Left alone, ggml's BLAS backend would set four threads for the whole process at each product.
    ggml_backend_set_n_threads_t set_threads =
        (ggml_backend_set_n_threads_t)ggml_backend_reg_get_proc_address(
            ggml_backend_dev_backend_reg(dev), "ggml_backend_set_n_threads");
    if (set_threads) {
        set_threads(backend, 1);
    }
    device->backends[device->num_backends++] = backend;
    return FGSF_OK;
}

static ggml_backend_dev_t find_device(const char *name) {
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        if (strcasecmp(ggml_backend_dev_name(dev), name) == 0) {
            return dev;
        }
    }
    return NULL;
}

// Adds the backends that `name` stands for, the CPU last.
static fgsf_status add_backends(fgsf_device *device, const char *name) {
    fgsf_status status = FGSF_OK;
    bool plain = strcasecmp(name, "auto") == 0 || strcasecmp(name, "cpu") == 0;
    bool only_blas = strcasecmp(name, "blas") == 0;
    if (!plain && !only_blas) {
        status = add_backend(device, find_device(name), name);
    }
    ggml_backend_dev_t blas = find_device("BLAS");
    if (status == FGSF_OK && !plain && (blas || only_blas)) {
        status = add_backend(device, blas, "blas");
    }
    if (status == FGSF_OK) {
        status = add_backend(device, ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), "cpu");
    }
    return status;
}

static void describe(fgsf_device *device) {
    size_t used = 0;
    for (int i = 0; i < device->num_backends; i++) {
        int n = snprintf(device->description + used, sizeof device->description - used, "%s%s",
                         i ? " + " : "", ggml_backend_name(device->backends[i]));
        used += n > 0 && used + (size_t)n < sizeof device->description ? (size_t)n : 0;
    }
    if (device->lower) {
        snprintf(device->description + used, sizeof device->description - used,
                 " with FGSF's products");
    }
}

fgsf_status fgsf_device_open(const char *name, fgsf_device **out) {
    if (!name || !*name) {
        name = "auto";
    }
    fgsf_silence_ggml();
    fgsf_device *device = calloc(1, sizeof *device);
    if (!device) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for device '%s'", name);
    }
    fgsf_status status = add_backends(device, name);
    if (status != FGSF_OK) {
        fgsf_device_free(device);
        return status;
    }
    struct ggml_threadpool_params one = ggml_threadpool_params_default(1);
    device->threads = ggml_threadpool_new(&one);
    ggml_backend_t cpu = device->backends[device->num_backends - 1];
    ggml_backend_cpu_set_threadpool(cpu, device->threads);
    device->lower = strcasecmp(name, "auto") == 0;
    describe(device);
    *out = device;
    return FGSF_OK;
}

void fgsf_device_free(fgsf_device *device) {
    if (!device) {
        return;
    }
    for (int i = 0; i < device->num_backends; i++) {
        ggml_backend_free(device->backends[i]);
    }
    if (device->threads) {
        ggml_threadpool_free(device->threads);
    }
    free(device);
}

const char *fgsf_device_description(const fgsf_device *device) {
    return device->description;
}

const char *fgsf_device_fallbacks(const fgsf_device *device) {
    return device->fallbacks;
}

fgsf_status fgsf_device_list(int i, char *name, size_t name_size, char *about, size_t about_size) {
    static const char *const fixed[][2] = {
        {"auto", "CPU, matrix products by FGSF's kernels inside the graph (the default)"},
        {"cpu", "ggml's CPU backend alone"},
        {"blas", "ggml's scheduler over BLAS and CPU"},
    };
    int num_fixed = (int)(sizeof fixed / sizeof *fixed);
    if (i >= 0 && i < num_fixed) {
        snprintf(name, name_size, "%s", fixed[i][0]);
        snprintf(about, about_size, "%s", fixed[i][1]);
        return FGSF_OK;
    }
    fgsf_silence_ggml(); // before its registry opens every backend
    int seen = num_fixed;
    for (size_t k = 0; i >= 0 && k < ggml_backend_dev_count(); k++) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(k);
        enum ggml_backend_dev_type type = ggml_backend_dev_type(dev);
        if (type == GGML_BACKEND_DEVICE_TYPE_CPU || type == GGML_BACKEND_DEVICE_TYPE_ACCEL) {
            continue; // covered by cpu and blas
        }
        if (seen++ == i) {
            snprintf(name, name_size, "%s", ggml_backend_dev_name(dev));
            snprintf(about, about_size, "%s", ggml_backend_dev_description(dev));
            return FGSF_OK;
        }
    }
    return fgsf_fail(FGSF_ERR_INVALID, "device %d does not exist", i);
}

int fgsf_bucket(const fgsf_device *device, int rows) {
    int step = 1, sizes = device->num_backends > 1 ? 8 : 32;
    while (step * sizes < rows) {
        step *= 2;
    }
    return rows < 2 ? 2 : (rows + step - 1) / step * step;
}

int fgsf_distinct_rows(const float *rows, int count, int group, size_t width, float *out,
                       int32_t *index) {
    int used = 0, first = 0; // of the group
    for (int i = 0; i < count; i++) {
        const float *row = rows + (size_t)i * width;
        first = i % group == 0 ? used : first;
        int at = first;
        while (at < used && memcmp(out + (size_t)at * width, row, width * sizeof(float)) != 0) {
            at++;
        }
        if (at == used) {
            memcpy(out + (size_t)used++ * width, row, width * sizeof(float));
        }
        index[i] = at;
    }
    return used;
}

fgsf_status fgsf_program_begin(fgsf_program *program, bool with_gradients) {
    struct ggml_init_params params = {
        .mem_size = 2 * FGSF_GRAPH_NODES * ggml_tensor_overhead() +
                    ggml_graph_overhead_custom(FGSF_GRAPH_NODES, with_gradients),
        .no_alloc = true,
    };
    *program = (fgsf_program){.ctx = ggml_init(params)};
    if (!program->ctx) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph");
    }
    program->graph = ggml_new_graph_custom(program->ctx, FGSF_GRAPH_NODES, with_gradients);
    return FGSF_OK;
}

// Whether `name` stands in the comma-separated list; MUL does not stand in "MUL_MAT".
static bool listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length) {
        bool starts = at == list || at[-1] == ',';
        if (starts && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

// Remembers, by name, an operation that the preferred backend cannot run.
static void note_fallback(fgsf_device *device, const struct ggml_tensor *node) {
    const char *op = ggml_op_desc(node);
    size_t used = strlen(device->fallbacks);
    if (!listed(device->fallbacks, op) && used + strlen(op) + 2 < sizeof device->fallbacks) {
        snprintf(device->fallbacks + used, sizeof device->fallbacks - used, "%s%s", used ? "," : "",
                 op);
    }
}

static fgsf_status schedule(fgsf_program *program, fgsf_device *device) {
    program->sched = ggml_backend_sched_new(device->backends, NULL, device->num_backends,
                                            FGSF_GRAPH_NODES, false, false);
    if (!program->sched) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a scheduler");
    }
    enum ggml_backend_dev_type first =
        ggml_backend_dev_type(ggml_backend_get_device(device->backends[0]));
    bool accelerator =
        first != GGML_BACKEND_DEVICE_TYPE_CPU && first != GGML_BACKEND_DEVICE_TYPE_ACCEL;
    for (int i = 0; i < ggml_graph_n_nodes(program->graph); i++) {
        struct ggml_tensor *node = ggml_graph_node(program->graph, i);
        int b = 0;
        while (b < device->num_backends - 1 &&
               !ggml_backend_supports_op(device->backends[b], node)) {
            b++;
        }
        // Parameters are nodes too, of no operation. They stay in host memory: a device that took
        // them as its own would get no copy of them.
        bool is_view = node->op == GGML_OP_VIEW || node->op == GGML_OP_RESHAPE ||
                       node->op == GGML_OP_PERMUTE || node->op == GGML_OP_TRANSPOSE;
        if (!is_view && node->op != GGML_OP_NONE) {
            ggml_backend_sched_set_tensor_backend(program->sched, node, device->backends[b]);
            if (b > 0 && accelerator) {
                note_fallback(device, node);
            }
        }
    }
    if (!ggml_backend_sched_alloc_graph(program->sched, program->graph)) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph on %s", device->description);
    }
    return FGSF_OK;
}

fgsf_status fgsf_program_finish(fgsf_program *program, fgsf_device *device,
                                ggml_gallocr_t scratch) {
    if (device->num_backends > 1) {
        return schedule(program, device);
    }
    if (device->lower) {
        fgsf_lower(program->ctx, program->graph);
    }
    if (!ggml_gallocr_alloc_graph(scratch, program->graph)) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph on %s", device->description);
    }
    return FGSF_OK;
}

fgsf_status fgsf_program_run(fgsf_program *program, fgsf_device *device) {
    unsigned before = fgsf_denormals_flush();
    enum ggml_status status = program->sched
                                  ? ggml_backend_sched_graph_compute(program->sched, program->graph)
                                  : ggml_backend_graph_compute(device->backends[0], program->graph);
    fgsf_denormals_restore(before);
    if (status != GGML_STATUS_SUCCESS) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED, "ggml could not compute a graph on %s: %s",
                         device->description, ggml_status_to_string(status));
    }
    return FGSF_OK;
}

void fgsf_program_free(fgsf_program *program) {
    ggml_backend_sched_free(program->sched);
    ggml_free(program->ctx);
    *program = (fgsf_program){0};
}

void fgsf_tensor_place(struct ggml_tensor *tensor, ggml_backend_buffer_t buffer, float *data) {
    tensor->buffer = buffer;
    tensor->data = data;
}

fgsf_leaves fgsf_leaves_create(struct ggml_context *ctx, const fgsf_network *net, bool parameters) {
    const fgsf_network_shape *shape = fgsf_network_get_shape(net);
    fgsf_leaves leaves = {0};
    leaves.num_layers = fgsf_network_layers(shape, leaves.layers);
    for (int l = 0; l < leaves.num_layers; l++) {
        const fgsf_layer *layer = &leaves.layers[l];
        leaves.weights[l] = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, layer->in, layer->out);
        leaves.biases[l] = shape->bias ? ggml_new_tensor_1d(ctx, GGML_TYPE_F32, layer->out) : NULL;
        if (parameters) {
            ggml_set_param(leaves.weights[l]);
            if (leaves.biases[l]) {
                ggml_set_param(leaves.biases[l]);
            }
        }
    }
    fgsf_leaves_bind(&leaves, net);
    return leaves;
}

void fgsf_leaves_bind(fgsf_leaves *leaves, const fgsf_network *net) {
    float *data = (float *)fgsf_network_parameters(net); // ggml has no const tensors; only read
    ggml_backend_buffer_t buffer = fgsf_network_buffer(net);
    for (int l = 0; l < leaves->num_layers; l++) {
        fgsf_tensor_place(leaves->weights[l], buffer, data + leaves->layers[l].weights);
        if (leaves->biases[l]) {
            fgsf_tensor_place(leaves->biases[l], buffer, data + leaves->layers[l].biases);
        }
    }
}

struct ggml_tensor *fgsf_leaves_forward(struct ggml_context *ctx, const fgsf_leaves *leaves,
                                        enum fgsf_activation activation,
                                        struct ggml_tensor *input) {
    struct ggml_tensor *x = input;
    for (int l = 0; l < leaves->num_layers; l++) {
        x = ggml_mul_mat(ctx, leaves->weights[l], x);
        if (leaves->biases[l]) {
            x = ggml_add(ctx, x, leaves->biases[l]);
        }
        if (l + 1 < leaves->num_layers) {
            x = activation == FGSF_SILU ? ggml_silu(ctx, x) : ggml_relu(ctx, x);
        }
    }
    return x;
}
