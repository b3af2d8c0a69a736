// Forward passes: Q under given rewards, with rho folded into the last layer, or x itself.
#include "fgsf/gpe.h"

#include <stdlib.h>
#include <string.h>

#include "clones.h"
#include "require.h"
#include "resident.h"

#define MAX_PROGRAMS 1024

// One graph, for up to `rows` states and `outputs` numbers per state. On a device that is not the CPU,
// of `count` networks, with the rewards in the graph.
typedef struct forward_program {
    int rows, outputs, count;
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
    float *states;               // (max_rows, input)
    float *head;                 // (A F, width): the last layer with rho folded in
    float *head_biases;          // (A F)
    float *x;                    // (max_rows, A F)
    ggml_backend_buffer_t there; // states and rewards on a device that is not the CPU
    float *staged;               // (room): they, and then the result, on the host
    size_t room;
    double flops; // of the last run
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
    status = fgsf_leaves_bind(&fp->leaves, gpe->zero, gpe->device);
    if (status != FGSF_OK) {
        return status;
    }
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

// From the last one on: acting, on one state, is asked for most, and its graph is made last.
static forward_program *look_up(fgsf_gpe *gpe, int rows, int outputs, int count) {
    for (int i = gpe->num_programs - 1; i >= 0; i--) {
        forward_program *fp = &gpe->programs[i];
        if (fp->rows == rows && fp->outputs == outputs && fp->count == count) {
            return fp;
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
    *out = look_up(gpe, bucket, outputs, 0);
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
        if (!look_up(gpe, bucket_of(gpe, r), outputs, 0)) {
            status = add_program(gpe, bucket_of(gpe, r), outputs);
        }
    }
    *out = look_up(gpe, bucket, outputs, 0);
    return status;
}

fgsf_status fgsf_gpe_create(fgsf_device *device, const fgsf_network_shape *shape, int max_rows,
                            fgsf_gpe **out) {
    FGSF_REQUIRE(device && out);
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
    gpe->scratch = ggml_gallocr_new(device->memory);
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
    status = device->resident ? FGSF_OK : find_program(gpe, max_rows, (int)outputs, &largest);
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
    ggml_backend_buffer_free(gpe->there);
    free(gpe->staged);
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
    status = fgsf_leaves_bind(&fp->leaves, net, gpe->device);
    if (status == FGSF_OK && folded) {
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

// ---- On a device that is not the CPU ------------------------------------------------------------

// Rewards go before the states, which start at this place.
static size_t states_place(const fgsf_gpe *gpe, int count, int num_rho) {
    size_t rewards = (size_t)count * (size_t)num_rho * (size_t)gpe->shape.features;
    size_t block = fgsf_device_block(gpe->device);
    return (rewards + block - 1) / block * block;
}

// Parameter i of all networks: (count, rows, columns). Their copies lie one behind the other, so the
// slices are far apart; Vulkan's product takes them to be neighbours, hence the copy.
static struct ggml_tensor *stacked(fgsf_gpe *gpe, struct ggml_context *ctx, forward_program *fp,
                                   int i) {
    const fgsf_parameters *list = fgsf_network_get_parameters(gpe->zero);
    const fgsf_parameter *p = &list->list[i];
    struct ggml_tensor *t = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p->columns, p->rows, fp->count);
    t->nb[2] = fgsf_copy_offset(gpe->device, list, list->count) * sizeof(float);
    t->nb[3] = t->nb[2] * (size_t)fp->count;
    fp->leaves.tensors[i] = t;
    fgsf_tensor_place(t, gpe->there, ggml_backend_buffer_get_base(gpe->there)); // bound later
    return p->rows > 1 && fp->count > 1 ? ggml_cont(ctx, t) : t;
}

// The graph of fp->count networks at fp->rows states: x, or with `num_rho` the values under as many
// rewards, (count, rows, num_rho, A).
static fgsf_status build_all(fgsf_gpe *gpe, int num_rho, forward_program *fp) {
    const fgsf_network_shape *shape = &gpe->shape;
    FGSF_TRY(fgsf_program_begin(&fp->program, gpe->size, false));
    struct ggml_context *ctx = fp->program.ctx;
    struct ggml_tensor *parameters[FGSF_MAX_PARAMETERS];
    float *base = ggml_backend_buffer_get_base(gpe->there);
    fp->leaves.count = fgsf_network_get_parameters(gpe->zero)->count;
    for (int i = 0; i < fp->leaves.count; i++) parameters[i] = stacked(gpe, ctx, fp, i);
    struct ggml_tensor *s = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, shape->input, fp->rows);
    fgsf_tensor_place(s, gpe->there, base + states_place(gpe, fp->count, num_rho));
    if (fp->count > 1) s = ggml_repeat_4d(ctx, s, shape->input, fp->rows, fp->count, 1);
    struct ggml_tensor *x = fgsf_shape_def(shape)->forward(ctx, shape, parameters, s);
    FGSF_TRY(fgsf_check_result(shape, x, fp->rows * fp->count, num_outputs(gpe)));
    if (num_rho > 0) {
        struct ggml_tensor *rho =
            ggml_new_tensor_3d(ctx, GGML_TYPE_F32, shape->features, num_rho, fp->count);
        fgsf_tensor_place(rho, gpe->there, base);
        x = ggml_reshape_3d(ctx, x, shape->features, gpe->actions * fp->rows, fp->count);
        x = ggml_mul_mat(ctx, rho, x); // rewards fastest
        x = ggml_reshape_4d(ctx, x, num_rho, gpe->actions, fp->rows, fp->count);
        if (num_rho > 1) x = ggml_cont(ctx, ggml_permute(ctx, x, 1, 0, 2, 3));
    }
    fp->result = x;
    ggml_set_output(x->view_src ? x->view_src : x);
    ggml_build_forward_expand(fp->program.graph, x);
    if (gpe->size.nodes == 0) {
        gpe->size = fgsf_program_measure(&fp->program);
        fgsf_program_enlarge(&gpe->size); // for more networks at once
        fgsf_program_free(&fp->program);
        return build_all(gpe, num_rho, fp);
    }
    FGSF_TRY(fgsf_lower_device(&fp->program, gpe->device, NULL));
    return fgsf_program_finish(&fp->program, gpe->device, gpe->scratch);
}

// Makes room for what goes up and comes down, and for one more graph; either may forget the others.
static fgsf_status make_room(fgsf_gpe *gpe, size_t floats) {
    if (gpe->num_programs == MAX_PROGRAMS) forget_programs(gpe);
    if (floats <= gpe->room) return FGSF_OK;
    forget_programs(gpe);
    ggml_backend_buffer_free(gpe->there);
    free(gpe->staged);
    gpe->there = ggml_backend_buft_alloc_buffer(gpe->device->memory, floats * sizeof(float));
    gpe->staged = malloc(floats * sizeof(float));
    gpe->room = gpe->there && gpe->staged ? floats : 0;
    return gpe->room ? FGSF_OK
                     : fgsf_fail(FGSF_ERR_MEMORY, "no memory to evaluate states on %s",
                                 fgsf_device_description(gpe->device));
}

// As in bellman.c: a graph that needs more scratch memory than those before it leaves them useless.
static fgsf_status find_all(fgsf_gpe *gpe, int count, int num_rho, int rows,
                            forward_program **out) {
    int bucket = bucket_of(gpe, rows);
    *out = look_up(gpe, bucket, num_rho, count);
    if (*out) return FGSF_OK;
    size_t scratch = ggml_gallocr_get_buffer_size(gpe->scratch, 0);
    forward_program *fp = &gpe->programs[gpe->num_programs];
    *fp = (forward_program){.rows = bucket, .outputs = num_rho, .count = count};
    fgsf_status status = build_all(gpe, num_rho, fp);
    gpe->num_programs++;
    bool grown = ggml_gallocr_get_buffer_size(gpe->scratch, 0) > scratch;
    if (status != FGSF_OK || (grown && gpe->num_programs > 1)) {
        forget_programs(gpe);
        return status == FGSF_OK ? find_all(gpe, count, num_rho, rows, out) : status;
    }
    *out = fp;
    return FGSF_OK;
}

// Evaluates `count` networks in one graph; without rewards x itself, of one.
static fgsf_status forward_all(fgsf_gpe *gpe, const fgsf_network *const *nets, int count,
                               const float *rho, size_t step, int num_rho, const float *s, int rows,
                               float *const *out) {
    const fgsf_parameters *list = fgsf_network_get_parameters(gpe->zero);
    size_t input = (size_t)gpe->shape.input, bucket = (size_t)bucket_of(gpe, rows);
    size_t each = (size_t)(num_rho > 0 ? num_rho * gpe->actions : num_outputs(gpe));
    size_t at = states_place(gpe, count, num_rho), up = at + bucket * input;
    size_t down = (size_t)count * bucket * each;
    forward_program *fp;
    const fgsf_copy *copy;
    FGSF_TRY(make_room(gpe, up > down ? up : down));
    FGSF_TRY(find_all(gpe, count, num_rho, rows, &fp));
    FGSF_TRY(fgsf_network_stack(nets, count, gpe->device, &copy));
    for (int i = 0; i < list->count; i++) {
        fgsf_tensor_place(fp->leaves.tensors[i], copy->slab->buffer,
                          fgsf_copy_data(copy) + fgsf_copy_offset(gpe->device, list, i));
    }
    size_t rewards = (size_t)num_rho * (size_t)gpe->shape.features;
    for (size_t k = 0; k < (size_t)count && rewards > 0; k++) {
        memcpy(gpe->staged + k * rewards, rho + k * step, rewards * sizeof(float));
    }
    memcpy(gpe->staged + at, s, (size_t)rows * input * sizeof(float));
    memset(gpe->staged + at + (size_t)rows * input, 0,
           (bucket - (size_t)rows) * input * sizeof(float));
    fgsf_device_upload(gpe->device, gpe->there, ggml_backend_buffer_get_base(gpe->there),
                       gpe->staged, up);
    FGSF_TRY(fgsf_program_run(&fp->program, gpe->device));
    ggml_backend_tensor_get(fp->result, gpe->staged, 0, down * sizeof(float));
    gpe->device->counts.bytes_down += down * sizeof(float);
    for (int k = 0; k < count; k++) {
        memcpy(out[k], gpe->staged + (size_t)k * bucket * each,
               (size_t)rows * each * sizeof(float));
    }
    gpe->flops = fp->program.flops * rows / fp->rows;
    return FGSF_OK;
}

// ---- Calls --------------------------------------------------------------------------------------

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
    FGSF_REQUIRE(gpe);
    if (rows < 1 || rows > gpe->max_rows) {
        return fgsf_fail(FGSF_ERR_INVALID, "gpe.rows: %d is not in [1, %d]", rows, gpe->max_rows);
    }
    if (num_rho < 1) {
        return fgsf_fail(FGSF_ERR_INVALID, "gpe.num_rho: %d is not positive", num_rho);
    }
    return fgsf_network_require(net, &gpe->shape, "gpe: the network");
}

// As above, and for arrays that are not the library's own.
static fgsf_status check_arrays(const fgsf_gpe *gpe, const fgsf_network *net, const float *rho,
                                int num_rho, const float *s, int rows, const float *out) {
    FGSF_TRY(check_call(gpe, net, num_rho, rows));
    FGSF_REQUIRE(rho && s && out);
    if (fgsf_all_finite(s, (size_t)rows * (size_t)gpe->shape.input)) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "gpe: a state is not finite");
}

static fgsf_status represent(fgsf_gpe *gpe, const fgsf_network *net, const float *s, int rows,
                             float *x) {
    if (gpe->device->resident) return forward_all(gpe, &net, 1, NULL, 0, 0, s, rows, &x);
    return forward(gpe, net, s, rows, num_outputs(gpe), false, x);
}

fgsf_status fgsf_gpe_representation(fgsf_gpe *gpe, const fgsf_network *net, const float *s,
                                    int rows, float *x) {
    FGSF_TRY(check_arrays(gpe, net, s, 1, s, rows, x)); // without a reward
    return represent(gpe, net, s, rows, x);
}

static fgsf_status run_plain(fgsf_gpe *gpe, const fgsf_network *net, const float *rho, int num_rho,
                             const float *s, int rows, float *q) {
    fgsf_status status = represent(gpe, net, s, rows, gpe->x);
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

fgsf_status fgsf_gpe_run_plain(fgsf_gpe *gpe, const fgsf_network *net, const float *rho,
                               int num_rho, const float *s, int rows, float *q) {
    FGSF_TRY(check_arrays(gpe, net, rho, num_rho, s, rows, q));
    return run_plain(gpe, net, rho, num_rho, s, rows, q);
}

static fgsf_status run(fgsf_gpe *gpe, const fgsf_network *net, const float *rho, int num_rho,
                       const float *s, int rows, float *q) {
    if (gpe->device->resident) return forward_all(gpe, &net, 1, rho, 0, num_rho, s, rows, &q);
    if (num_rho >= gpe->shape.features || !gpe->width) { // folding would make nothing smaller
        return run_plain(gpe, net, rho, num_rho, s, rows, q);
    }
    fold(gpe, net, rho, num_rho);
    return forward(gpe, net, s, rows, num_rho * gpe->actions, true, q);
}

fgsf_status fgsf_gpe_run(fgsf_gpe *gpe, const fgsf_network *net, const float *rho, int num_rho,
                         const float *s, int rows, float *q) {
    FGSF_TRY(check_arrays(gpe, net, rho, num_rho, s, rows, q));
    return run(gpe, net, rho, num_rho, s, rows, q);
}

fgsf_status fgsf_gpe_run_all(fgsf_gpe *gpe, const fgsf_network *const *nets, int count,
                             const float *rho, size_t step, int num_rho, const float *s, int rows,
                             float *const *q) {
    double flops = 0.0;
    fgsf_status status = FGSF_OK;
    bool together = gpe->device->resident && (count == 1 || fgsf_shape_def(&gpe->shape)->stacks);
    for (int k = 0; k < count && status == FGSF_OK; k++) {
        status = check_call(gpe, nets[k], num_rho, rows);
        if (together || status != FGSF_OK) continue;
        status = run(gpe, nets[k], rho + (size_t)k * step, num_rho, s, rows, q[k]);
        flops += gpe->flops;
    }
    if (together) {
        return status == FGSF_OK ? forward_all(gpe, nets, count, rho, step, num_rho, s, rows, q)
                                 : status;
    }
    gpe->flops = flops;
    return status;
}

double fgsf_gpe_flops(const fgsf_gpe *gpe) {
    if (!gpe) return 0;
    return gpe->flops;
}
