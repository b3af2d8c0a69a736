// Forward passes: Q under given rewards, with rho folded into the last layer, or x itself.
#include "fgsf/gpe.h"

#include <stdlib.h>
#include <string.h>

#include "clones.h"
#include "program.h"
#include "require.h"

#define MAX_PROGRAMS 1024

// One graph, for up to `rows` states and `outputs` numbers per state.
typedef struct forward_program {
    int rows, outputs;
    fgsf_program program;
    fgsf_leaves leaves;
    struct ggml_tensor *result;
} forward_program;

struct fgsf_gpe {
    fgsf_device *device;
    fgsf_network_shape shape;
    int actions;        // of all heads
    int width;          // inputs of the linear head; 0 without one
    fgsf_network *zero; // any network of the shape: graphs are built on it and bound to others
    int max_rows;
    fgsf_program_size size; // of every graph
    ggml_gallocr_t scratch;
    ggml_backend_buffer_t buffer;
    float *states;      // (max_rows, input)
    float *head;        // (A F, width): the last layer with rho folded in
    float *head_biases; // (A F)
    float *x;           // (max_rows, A F)
    double flops;       // of the last run
    int num_programs;
    forward_program programs[MAX_PROGRAMS];
};

static int num_outputs(const fgsf_gpe *gpe) {
    return gpe->actions * gpe->shape.features;
}

// Replaces the linear head by one of `outputs` rows in the evaluator's own memory.
static void replace_head(fgsf_gpe *gpe, struct ggml_context *ctx, fgsf_leaves *leaves,
                         int outputs) {
    int w = fgsf_shape_head(&gpe->shape, fgsf_network_get_parameters(gpe->zero));
    leaves->tensors[w] = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, gpe->width, outputs);
    if (gpe->shape.bias) {
        leaves->tensors[w + 1] = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, outputs);
    }
}

// Points the head at the folded weights, after the leaves were bound to a network.
static void bind_head(fgsf_gpe *gpe, fgsf_leaves *leaves) {
    int w = fgsf_shape_head(&gpe->shape, fgsf_network_get_parameters(gpe->zero));
    fgsf_tensor_place(leaves->tensors[w], gpe->buffer, gpe->head);
    if (gpe->shape.bias) {
        fgsf_tensor_place(leaves->tensors[w + 1], gpe->buffer, gpe->head_biases);
    }
}

static fgsf_status build_program(fgsf_gpe *gpe, int rows, int outputs, forward_program *fp) {
    *fp = (forward_program){.rows = rows, .outputs = outputs};
    fgsf_status status = fgsf_program_begin(&fp->program, gpe->size, false);
    if (status != FGSF_OK) {
        return status;
    }
    struct ggml_context *ctx = fp->program.ctx;
    fp->leaves = fgsf_leaves_create(ctx, gpe->zero, false);
    if (outputs != num_outputs(gpe)) {
        replace_head(gpe, ctx, &fp->leaves, outputs);
        bind_head(gpe, &fp->leaves);
    }
    struct ggml_tensor *states = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, gpe->shape.input, rows);
    ggml_set_input(states);
    fgsf_tensor_place(states, gpe->buffer, gpe->states);
    const fgsf_network_def *def = fgsf_shape_def(&gpe->shape);
    fp->result = def->forward(ctx, &gpe->shape, fp->leaves.tensors, states);
    status = fgsf_check_result(&gpe->shape, fp->result, rows, outputs);
    if (status != FGSF_OK) {
        return status;
    }
    ggml_set_output(fp->result);
    ggml_build_forward_expand(fp->program.graph, fp->result);
    if (gpe->size.nodes == 0) { // the first graph gives the size of all others
        gpe->size = fgsf_program_measure(&fp->program);
        fgsf_program_free(&fp->program);
        return build_program(gpe, rows, outputs, fp);
    }
    return fgsf_program_finish(&fp->program, gpe->device, gpe->scratch);
}

static forward_program *look_up(fgsf_gpe *gpe, int rows, int outputs) {
    for (int i = 0; i < gpe->num_programs; i++) {
        if (gpe->programs[i].rows == rows && gpe->programs[i].outputs == outputs) {
            return &gpe->programs[i];
        }
    }
    return NULL;
}

static void forget_programs(fgsf_gpe *gpe) {
    for (int i = 0; i < gpe->num_programs; i++) {
        fgsf_program_free(&gpe->programs[i].program);
    }
    gpe->num_programs = 0;
}

static fgsf_status add_program(fgsf_gpe *gpe, int rows, int outputs) {
    forward_program *fp = &gpe->programs[gpe->num_programs];
    fgsf_status status = build_program(gpe, rows, outputs, fp);
    if (status != FGSF_OK) {
        fgsf_program_free(&fp->program);
        return status;
    }
    gpe->num_programs++;
    return FGSF_OK;
}

static int bucket_of(const fgsf_gpe *gpe, int rows) {
    return rows == 1 ? 1 : fgsf_bucket(gpe->device, rows);
}

// With the first graph of a width come those of all other sizes, where that takes no memory of a
// device, so that no later step has to build one.
static fgsf_status find_program(fgsf_gpe *gpe, int rows, int outputs, forward_program **out) {
    int bucket = bucket_of(gpe, rows);
    *out = look_up(gpe, bucket, outputs);
    if (*out) {
        return FGSF_OK;
    }
    bool all = gpe->device->num_backends == 1;
    int first = all ? gpe->max_rows : rows, last = all ? 1 : rows;
    if (gpe->num_programs + (all ? FGSF_MAX_BUCKETS : 1) > MAX_PROGRAMS) {
        forget_programs(gpe);
    }
    fgsf_status status = FGSF_OK;
    for (int r = first; r >= last && status == FGSF_OK; r--) {
        if (!look_up(gpe, bucket_of(gpe, r), outputs)) {
            status = add_program(gpe, bucket_of(gpe, r), outputs);
        }
    }
    *out = look_up(gpe, bucket, outputs);
    return status;
}

fgsf_status fgsf_gpe_create(fgsf_device *device, const fgsf_network_shape *shape, int max_rows,
                            fgsf_gpe **out) {
    fgsf_status status = fgsf_network_shape_check(shape);
    if (status != FGSF_OK) {
        return status;
    }
    if (max_rows < 1 || max_rows > 1 << 20) {
        return fgsf_fail(FGSF_ERR_INVALID, "gpe.max_rows: %d is not in [1, 1048576]", max_rows);
    }
    fgsf_gpe *gpe = calloc(1, sizeof *gpe);
    if (!gpe) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an evaluator");
    }
    gpe->device = device;
    gpe->shape = *shape;
    gpe->max_rows = max_rows;
    gpe->actions = fgsf_shape_actions(shape);
    status = fgsf_network_create(shape, &gpe->zero);
    if (status != FGSF_OK) {
        free(gpe);
        return status;
    }
    if (fgsf_shape_def(shape)->linear_head) {
        const fgsf_parameters *list = fgsf_network_get_parameters(gpe->zero);
        gpe->width = list->list[fgsf_shape_head(shape, list)].columns;
    }
    gpe->scratch = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    size_t rows = (size_t)fgsf_bucket(device, max_rows), outputs = (size_t)num_outputs(gpe);
    size_t states = rows * (size_t)shape->input, x = rows * outputs;
    size_t head = outputs * (size_t)gpe->width;
    gpe->buffer = ggml_backend_buft_alloc_buffer(
        ggml_backend_cpu_buffer_type(), (states + x + head + outputs + 64) * sizeof(float));
    if (!gpe->buffer) {
        fgsf_gpe_free(gpe);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory to evaluate %d states", max_rows);
    }
    gpe->head = ggml_backend_buffer_get_base(gpe->buffer);
    gpe->head_biases = gpe->head + (head + 15) / 16 * 16;
    gpe->states = gpe->head_biases + (outputs + 15) / 16 * 16;
    gpe->x = gpe->states + (states + 15) / 16 * 16;
    memset(gpe->head, 0, (states + x + head + outputs + 64) * sizeof(float));
    forward_program *largest; // first, so that the scratch memory never has to grow
    status = find_program(gpe, max_rows, (int)outputs, &largest);
    if (status != FGSF_OK) {
        fgsf_gpe_free(gpe);
        return status;
    }
    *out = gpe;
    return FGSF_OK;
}

void fgsf_gpe_free(fgsf_gpe *gpe) {
    if (!gpe) {
        return;
    }
    forget_programs(gpe);
    ggml_gallocr_free(gpe->scratch);
    ggml_backend_buffer_free(gpe->buffer);
    fgsf_network_free(gpe->zero);
    free(gpe);
}

// Runs the network on the states, its last layer replaced by the folded head when `folded`.
static fgsf_status forward(fgsf_gpe *gpe, const fgsf_network *net, const float *s, int rows,
                           int outputs, bool folded, float *out) {
    forward_program *fp;
    fgsf_status status = find_program(gpe, rows, outputs, &fp);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_leaves_bind(&fp->leaves, net);
    if (folded) {
        bind_head(gpe, &fp->leaves);
    }
    size_t input = (size_t)gpe->shape.input;
    memcpy(gpe->states, s, (size_t)rows * input * sizeof(float));
    memset(gpe->states + (size_t)rows * input, 0,
           (size_t)(fp->rows - rows) * input * sizeof(float));
    status = fgsf_program_run(&fp->program, gpe->device);
    if (status == FGSF_OK) {
        ggml_backend_tensor_get(fp->result, out, 0, (size_t)rows * (size_t)outputs * sizeof(float));
        gpe->flops = fp->program.flops * rows / fp->rows;
    }
    return status;
}

// head[r A + a] = sum_f rho_r[f] W[a F + f], and the biases likewise.
FGSF_CLONES static void fold(fgsf_gpe *gpe, const fgsf_network *net, const float *rho,
                             int num_rho) {
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    const fgsf_parameter *w_at = &list->list[fgsf_shape_head(&gpe->shape, list)];
    const float *parameters = fgsf_network_parameters(net);
    const float *biases = gpe->shape.bias ? parameters + w_at[1].offset : NULL;
    int actions = gpe->actions, features = gpe->shape.features;
    size_t width = (size_t)gpe->width;
    for (int row = 0; row < num_rho * actions; row++) {
        const float *weight = rho + (row / actions) * features;
        size_t from = (size_t)(row % actions) * (size_t)features;
        float *restrict head = gpe->head + (size_t)row * width;
        memset(head, 0, width * sizeof(float));
        float bias = 0.0f;
        for (int f = 0; f < features; f++) {
            const float *restrict w = parameters + w_at->offset + (from + (size_t)f) * width;
            for (size_t i = 0; i < width; i++) {
                head[i] += weight[f] * w[i];
            }
            bias += biases ? weight[f] * biases[from + (size_t)f] : 0.0f;
        }
        gpe->head_biases[row] = bias;
    }
}

static fgsf_status check_call(const fgsf_gpe *gpe, const fgsf_network *net, int num_rho, int rows) {
    if (rows < 1 || rows > gpe->max_rows) {
        return fgsf_fail(FGSF_ERR_INVALID, "gpe.rows: %d is not in [1, %d]", rows, gpe->max_rows);
    }
    if (num_rho < 1) {
        return fgsf_fail(FGSF_ERR_INVALID, "gpe.num_rho: %d is not positive", num_rho);
    }
    return fgsf_network_require(net, &gpe->shape, "gpe: the network");
}

fgsf_status fgsf_gpe_representation(fgsf_gpe *gpe, const fgsf_network *net, const float *s,
                                    int rows, float *x) {
    FGSF_REQUIRE(gpe);
    fgsf_status status = check_call(gpe, net, 1, rows);
    return status == FGSF_OK ? forward(gpe, net, s, rows, num_outputs(gpe), false, x) : status;
}

fgsf_status fgsf_gpe_run_plain(fgsf_gpe *gpe, const fgsf_network *net, const float *rho,
                               int num_rho, const float *s, int rows, float *q) {
    FGSF_REQUIRE(gpe);
    fgsf_status status = check_call(gpe, net, num_rho, rows);
    if (status == FGSF_OK) {
        status = fgsf_gpe_representation(gpe, net, s, rows, gpe->x);
    }
    int actions = gpe->actions, features = gpe->shape.features;
    for (int row = 0; row < rows && status == FGSF_OK; row++) {
        for (int r = 0; r < num_rho; r++) {
            for (int a = 0; a < actions; a++) {
                const float *x =
                    gpe->x + ((size_t)row * (size_t)actions + (size_t)a) * (size_t)features;
                float sum = 0.0f;
                for (int f = 0; f < features; f++) {
                    sum += x[f] * rho[r * features + f];
                }
                q[((size_t)row * (size_t)num_rho + (size_t)r) * (size_t)actions + (size_t)a] = sum;
            }
        }
    }
    return status;
}

fgsf_status fgsf_gpe_run(fgsf_gpe *gpe, const fgsf_network *net, const float *rho, int num_rho,
                         const float *s, int rows, float *q) {
    FGSF_REQUIRE(gpe);
    if (num_rho >= gpe->shape.features || !gpe->width) { // folding would make nothing smaller
        return fgsf_gpe_run_plain(gpe, net, rho, num_rho, s, rows, q);
    }
    fgsf_status status = check_call(gpe, net, num_rho, rows);
    if (status != FGSF_OK) {
        return status;
    }
    fold(gpe, net, rho, num_rho);
    return forward(gpe, net, s, rows, num_rho * gpe->actions, true, q);
}

double fgsf_gpe_flops(const fgsf_gpe *gpe) {
    if (!gpe) return 0;
    return gpe->flops;
}
