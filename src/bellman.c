// The one builder of Bellman losses. It builds the forward graph; the gradient is ggml's.
//
// Shapes in comments are row-major, (rows, columns), the reverse of ggml's ne. B pairs, n samples
// per pair, A actions, F features.
#include "fgsf/bellman.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "require.h"

// One graph, for batches of up to `pairs` pairs in `states` states, with up to `states * spread` next
// states in all.
// Samples of a pair that are the same state share one row: the network is evaluated, and
// differentiated, once for each state, and the samples take their x from it.
typedef struct bucket_program {
    int pairs, states, spread;
    fgsf_program program;
    fgsf_leaves online; // differentiated
    fgsf_leaves frozen; // the detached target: same memory as online, or the target network's
    fgsf_leaves error;  // h, differentiated by its own loss
    struct ggml_tensor *loss;
    struct ggml_tensor *gradients[2][FGSF_MAX_PARAMETERS]; // of the network and of h
} bucket_program;

// The host memory that the graphs read. Graphs of different sizes read from the same arrays.
typedef struct inputs {
    ggml_backend_buffer_t buffer;
    float *s;           // (B + B spread, input): the states, then the next states
    float *y;           // (B, F): target without bootstrap, averaged over the samples
    float *error_coef;  // (B, n): discount / number of samples, in the error factor
    float *grad_coef;   // (B, n): the same in the gradient factor
    float *weight;      // (B): row weight times loss factor
    float *stopped[2];  // (B, F): what the graph itself computes and then takes for constant
    float *one;         // the gradient of the loss with respect to itself
    int32_t *pick;      // (B + B n): row of (s, a) in x seen as ((B + B spread) A, F)
    int32_t *pick_next; // (B, n): the same for the next states alone
    int32_t *row;       // (B, n): where the sample stands among the next states
} inputs;

struct fgsf_bellman {
    fgsf_device *device;
    fgsf_bellman_params params;
    fgsf_program_size size; // of every graph
    ggml_gallocr_t scratch;
    fgsf_network *gradient[2]; // a network's flat buffer holds the gradient; the second is h's
    inputs in;
    double flops; // of the last run
    int num_programs, room;
    bucket_program *programs;
};

fgsf_bellman_params fgsf_bellman_default_params(const fgsf_network_shape *shape) {
    if (!shape) return (fgsf_bellman_params){0};
    return (fgsf_bellman_params){.shape = *shape,
                                 .max_pairs = 64,
                                 .samples = 1,
                                 .kind = FGSF_MIX,
                                 .grad_mix = 1.0,
                                 .estimator = FGSF_SHARED,
                                 .loss_scale = FGSF_HALF_MEAN};
}

double fgsf_loss_factor(enum fgsf_loss_scale scale, double denominator, int features, int actions) {
    switch (scale) {
    case FGSF_HALF_MEAN:
        return 0.5 / (denominator * features);
    case FGSF_MEAN:
        return 1.0 / (denominator * features);
    case FGSF_MEAN_ACTIONS:
        return 1.0 / (denominator * features * actions);
    case FGSF_SUM:
        return 0.5;
    case FGSF_DOUBLE_SUM:
        return 1.0;
    }
    return 0.0;
}

// ---- The kinds ------------------------------------------------------------------------------------

enum factor { NOTHING, DELTA, H };

// One row of docs/gradients.md: what stands in front of grad x(s, a) and of grad x(s', a'), and which
// builder makes the graph. Adding a kind is a row here, a word in the key table, and a test.
typedef struct build build;
typedef struct ggml_tensor *builder(build *b);
static builder squared_error, surrogate, bidirectional, convergent;

struct row {
    builder *make;
    enum factor e1, e2;
    fgsf_gradient_need need;
};

static const struct row kinds[] = {
    [FGSF_SEMI] = {squared_error, DELTA, NOTHING, {false, false}},
    [FGSF_FULL] = {squared_error, DELTA, DELTA, {false, false}},
    [FGSF_MIX] = {squared_error, DELTA, DELTA, {false, false}},
    [FGSF_CORRECTED] = {surrogate, DELTA, H, {true, false}},
    [FGSF_GTD2] = {surrogate, H, H, {true, false}},
    [FGSF_BIDIRECTIONAL] = {bidirectional, DELTA, DELTA, {false, true}},
    [FGSF_CONVERGENT] = {convergent, DELTA, DELTA, {false, true}},
};

fgsf_gradient_need fgsf_gradient_needs(enum fgsf_gradient_kind kind) {
    bool exists = (unsigned)kind < sizeof kinds / sizeof *kinds;
    return exists ? kinds[kind].need : (fgsf_gradient_need){false, false};
}

// The share of the gradient through the target.
static double eta_of(const fgsf_bellman_params *p) {
    return p->kind == FGSF_SEMI ? 0.0 : p->kind == FGSF_FULL ? 1.0 : p->grad_mix;
}

// Error and gradient of the target from different samples need the surrogate.
static builder *builder_of(const fgsf_bellman_params *p) {
    bool split = p->estimator != FGSF_SHARED && eta_of(p) > 0.0;
    return split ? surrogate : kinds[p->kind].make;
}

static bool has_target(const fgsf_bellman_params *p) {
    return p->target_network || kinds[p->kind].need.target_network;
}

static bool has_error(const fgsf_bellman_params *p) {
    return kinds[p->kind].need.error_network;
}

static fgsf_status check_kind(const fgsf_bellman_params *p) {
    if ((unsigned)p->kind >= sizeof kinds / sizeof *kinds) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.kind: %d does not exist", (int)p->kind);
    }
    if (!(p->grad_mix >= 0.0 && p->grad_mix <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.grad_mix: %g is not in [0, 1]", p->grad_mix);
    }
    if (!(p->h_beta >= 0.0 && isfinite(p->h_beta))) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.h_beta: %g is not in [0, inf)", p->h_beta);
    }
    if (p->target_network && (has_error(p) || eta_of(p) != 0.0)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.grad_mix: %g with a target network; a target network has no "
                         "gradient to pass on, so grad_mix must be 0",
                         p->grad_mix);
    }
    if (kinds[p->kind].make != squared_error && p->estimator != FGSF_SHARED) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.estimator: %d is for semi, full and mix alone",
                         (int)p->estimator);
    }
    if (has_error(p) && p->samples > 1) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.samples: %d with an error network, which learns the mean that "
                         "several samples would estimate",
                         p->samples);
    }
    return FGSF_OK;
}

static fgsf_status check_params(const fgsf_device *device, const fgsf_bellman_params *p) {
    fgsf_status status = fgsf_network_shape_check(&p->shape);
    if (status != FGSF_OK) {
        return status;
    }
    if (p->max_pairs < 1 || p->max_pairs > 1 << 20) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.max_pairs: %d is not in [1, 1048576]",
                         p->max_pairs);
    }
    if (p->samples < 1 || p->samples > 1 << 16) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.samples: %d is not in [1, 65536]", p->samples);
    }
    // Rows of x are counted in 32 bits, and so are the rows that actions take from it.
    if ((fgsf_bucket(device, p->max_pairs) * (1.0 + p->samples)) * fgsf_shape_actions(&p->shape) >
        INT32_MAX) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.max_pairs: %d pairs of %d samples and %d actions are too many",
                         p->max_pairs, p->samples, p->shape.actions);
    }
    if ((unsigned)p->estimator > FGSF_SPLIT) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.estimator: %d does not exist",
                         (int)p->estimator);
    }
    if (!(fgsf_loss_factor(p->loss_scale, 1.0, 1, 1) > 0.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.loss_scale: %d does not exist",
                         (int)p->loss_scale);
    }
    if (p->estimator == FGSF_SPLIT && (p->split < 1 || p->split >= p->samples)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.split: %d of %d samples leaves one factor without any", p->split,
                         p->samples);
    }
    return check_kind(p);
}

static fgsf_status allocate_inputs(fgsf_bellman *bellman) {
    const fgsf_bellman_params *p = &bellman->params;
    size_t pairs = (size_t)fgsf_bucket(bellman->device, p->max_pairs),
           next = pairs * (size_t)p->samples;
    size_t input = (size_t)p->shape.input, features = (size_t)p->shape.features;
    inputs *in = &bellman->in;
    struct {
        void **place;
        size_t count;
    } arrays[] = {
        {(void **)&in->s, (pairs + next) * input},
        {(void **)&in->y, pairs * features},
        {(void **)&in->error_coef, next},
        {(void **)&in->grad_coef, next},
        {(void **)&in->weight, pairs},
        {(void **)&in->stopped[0], pairs * features},
        {(void **)&in->stopped[1], pairs * features},
        {(void **)&in->one, 1},
        {(void **)&in->pick, pairs + next},
        {(void **)&in->pick_next, next},
        {(void **)&in->row, next},
    };
    size_t total = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        total += (arrays[i].count + 15) / 16 * 16;
    }
    in->buffer =
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), total * sizeof(float));
    if (!in->buffer) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a batch of %d pairs", p->max_pairs);
    }
    float *base = ggml_backend_buffer_get_base(in->buffer);
    memset(base, 0, total * sizeof(float));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].place = base; // floats and 32-bit indices have the same size
        base += (arrays[i].count + 15) / 16 * 16;
    }
    *in->one = 1.0f;
    return FGSF_OK;
}

// A leaf of `rows` x `columns` over host memory.
static struct ggml_tensor *leaf(struct ggml_context *ctx, ggml_backend_buffer_t buffer,
                                enum ggml_type type, int64_t columns, int64_t rows, void *data) {
    struct ggml_tensor *t = ggml_new_tensor_2d(ctx, type, columns, rows);
    ggml_set_input(t);
    fgsf_tensor_place(t, buffer, data);
    return t;
}

// A matrix of `rows` x `columns`; a single column as one row, since ggml's work per row is what counts.
static struct ggml_tensor *as_rows(struct ggml_context *ctx, struct ggml_tensor *t, int64_t columns,
                                   int64_t rows) {
    return columns == 1 ? ggml_reshape_2d(ctx, t, rows, 1) : ggml_reshape_2d(ctx, t, columns, rows);
}

// x(s, a) for the rows and actions in `pick`: (picks, F).
static struct ggml_tensor *select_actions(struct ggml_context *ctx, const fgsf_bellman_params *p,
                                          const fgsf_leaves *leaves, struct ggml_tensor *states,
                                          struct ggml_tensor *pick) {
    const fgsf_network_def *def = fgsf_shape_def(&p->shape);
    struct ggml_tensor *x = def->forward(ctx, &p->shape, leaves->tensors, states);
    x = ggml_reshape_2d(ctx, x, p->shape.features, fgsf_shape_actions(&p->shape) * states->ne[1]);
    return as_rows(ctx, ggml_get_rows(ctx, x, pick), p->shape.features, pick->ne[0]);
}

static struct ggml_tensor *rows(struct ggml_context *ctx, struct ggml_tensor *t, int64_t first,
                                int64_t count) {
    if (t->ne[1] == 1) { // a single column
        return ggml_view_2d(ctx, t, count, 1, (size_t)count * t->nb[0], (size_t)first * t->nb[0]);
    }
    return ggml_view_2d(ctx, t, t->ne[0], count, t->nb[1], (size_t)first * t->nb[1]);
}

// sum over the samples of coef * x: (B n, F) -> (B, F).
static struct ggml_tensor *weighted_mean(struct ggml_context *ctx, const fgsf_bellman_params *p,
                                         struct ggml_tensor *x, struct ggml_tensor *coef) {
    int64_t features = p->shape.features, samples = p->samples;
    int64_t pairs = ggml_nelements(x) / (features * samples);
    x = ggml_mul(ctx, x, coef);
    if (samples == 1) {
        return x;
    }
    x = ggml_reshape_3d(ctx, x, features, samples, pairs);
    x = ggml_cont(ctx, ggml_permute(ctx, x, 1, 0, 2, 3)); // samples fastest
    return as_rows(ctx, ggml_sum_rows(ctx, x), features, pairs);
}

// The leaves over the inputs, for a graph of B pairs.
typedef struct input_leaves {
    struct ggml_tensor *s, *s_next, *all; // `all` is s and s_next together
    struct ggml_tensor *y, *error_coef, *grad_coef, *weight;
    struct ggml_tensor *pick, *pick_next, *pick_all;
} input_leaves;

static input_leaves create_input_leaves(struct ggml_context *ctx, const fgsf_bellman *bellman,
                                        const bucket_program *bp) {
    const inputs *in = &bellman->in;
    int pairs = bp->pairs, states = bp->states, next_states = bp->states * bp->spread;
    int next = pairs * bellman->params.samples, input = bellman->params.shape.input;
    int features = bellman->params.shape.features;
    ggml_backend_buffer_t b = in->buffer;
    input_leaves leaves = {
        .s = leaf(ctx, b, GGML_TYPE_F32, input, states, in->s),
        .s_next =
            leaf(ctx, b, GGML_TYPE_F32, input, next_states, in->s + (size_t)states * (size_t)input),
        .all = leaf(ctx, b, GGML_TYPE_F32, input, states + next_states, in->s),
        .y = leaf(ctx, b, GGML_TYPE_F32, features, pairs, in->y),
        .error_coef = leaf(ctx, b, GGML_TYPE_F32, 1, next, in->error_coef),
        .grad_coef = leaf(ctx, b, GGML_TYPE_F32, 1, next, in->grad_coef),
        .weight = leaf(ctx, b, GGML_TYPE_F32, 1, pairs, in->weight),
        .pick = leaf(ctx, b, GGML_TYPE_I32, pairs, 1, in->pick),
        .pick_next = leaf(ctx, b, GGML_TYPE_I32, next, 1, in->pick_next),
        .pick_all = leaf(ctx, b, GGML_TYPE_I32, pairs + next, 1, in->pick),
    };
    if (features == 1) { // as x then is, see as_rows
        leaves.y = leaf(ctx, b, GGML_TYPE_F32, pairs, 1, in->y);
        leaves.error_coef = leaf(ctx, b, GGML_TYPE_F32, next, 1, in->error_coef);
        leaves.grad_coef = leaf(ctx, b, GGML_TYPE_F32, next, 1, in->grad_coef);
        leaves.weight = leaf(ctx, b, GGML_TYPE_F32, pairs, 1, in->weight);
    }
    return leaves;
}

// sum_b weight_b <u_b, v_b>.
static struct ggml_tensor *weighted_dot(struct ggml_context *ctx, struct ggml_tensor *u,
                                        struct ggml_tensor *v, struct ggml_tensor *weight) {
    struct ggml_tensor *product = u == v ? ggml_sqr(ctx, u) : ggml_mul(ctx, u, v);
    return ggml_sum(ctx, ggml_mul(ctx, product, weight));
}

// What the builders work on.
struct build {
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    const fgsf_bellman *bellman;
    const fgsf_bellman_params *p;
    bucket_program *bp;
    input_leaves in;
    int stopped; // places of `stopped` in use
};

// x(s, a) and the mean of d x(s', a') over the samples, in one pass over s and s'.
typedef struct both {
    struct ggml_tensor *x, *next;
} both;

static both evaluate_both(build *b, const fgsf_leaves *leaves, struct ggml_tensor *coef) {
    int64_t pairs = b->bp->pairs, next = pairs * b->p->samples;
    struct ggml_tensor *x = select_actions(b->ctx, b->p, leaves, b->in.all, b->in.pick_all);
    return (both){rows(b->ctx, x, 0, pairs),
                  weighted_mean(b->ctx, b->p, rows(b->ctx, x, pairs, next), coef)};
}

static struct ggml_tensor *minus(build *b, struct ggml_tensor *bootstrap, struct ggml_tensor *x) {
    return ggml_sub(b->ctx, ggml_add(b->ctx, bootstrap, b->in.y), x);
}

// The value of t as a constant: the graph writes it to host memory before what reads it is computed.
// A copy in the graph, unlike a view, passes no gradient on.
static struct ggml_tensor *stop(build *b, struct ggml_tensor *t) {
    float *place = b->bellman->in.stopped[b->stopped++];
    struct ggml_tensor *constant =
        leaf(b->ctx, b->bellman->in.buffer, GGML_TYPE_F32, t->ne[0], t->ne[1], place);
    ggml_build_forward_expand(b->graph, ggml_cpy(b->ctx, t, constant));
    return constant;
}

// loss = sum_b weight_b |delta_b|^2, with the target attached in the proportion eta.
static struct ggml_tensor *squared_error(build *b) {
    struct ggml_context *ctx = b->ctx;
    float eta = (float)eta_of(b->p);
    struct ggml_tensor *x, *attached = NULL, *detached = NULL;
    if (eta > 0.0f) {
        both online = evaluate_both(b, &b->bp->online, b->in.error_coef);
        attached = online.next;
        x = online.x;
    } else {
        x = select_actions(ctx, b->p, &b->bp->online, b->in.s, b->in.pick);
    }
    if (eta < 1.0f) {
        detached = select_actions(ctx, b->p, &b->bp->frozen, b->in.s_next, b->in.pick_next);
        detached = weighted_mean(ctx, b->p, detached, b->in.error_coef);
    }
    struct ggml_tensor *bootstrap = attached ? attached : detached;
    if (attached && detached) {
        bootstrap =
            ggml_add(ctx, ggml_scale(ctx, attached, eta), ggml_scale(ctx, detached, 1.0f - eta));
    }
    struct ggml_tensor *delta = minus(b, bootstrap, x);
    return b->bp->loss = weighted_dot(ctx, delta, delta, b->in.weight);
}

// The surrogate 2 sum_b weight_b (eta <e2, mean(d x(s', a'))> - <e1, x(s, a)>) with e1 and e2 constant
// has minus twice the direction of the kind as its gradient. Error and gradient factor may come from
// different samples. Where h is needed, its own loss is added: h is no part of the surrogate, and the
// surrogate no part of its loss, so one backward pass gives both gradients.
static struct ggml_tensor *surrogate(build *b) {
    struct ggml_context *ctx = b->ctx;
    const struct row *row = &kinds[b->p->kind];
    struct ggml_tensor *errors[3] = {NULL}, *h = NULL;
    int64_t pairs = b->bp->pairs, next = pairs * b->p->samples;
    struct ggml_tensor *x = select_actions(ctx, b->p, &b->bp->online, b->in.all, b->in.pick_all);
    struct ggml_tensor *x_next = rows(ctx, x, pairs, next);
    x = rows(ctx, x, 0, pairs);
    errors[DELTA] = stop(b, minus(b, weighted_mean(ctx, b->p, x_next, b->in.error_coef), x));
    b->bp->loss = weighted_dot(ctx, errors[DELTA], errors[DELTA], b->in.weight);
    if (has_error(b->p)) {
        h = select_actions(ctx, b->p, &b->bp->error, b->in.s, b->in.pick);
        errors[H] = stop(b, h);
    }
    struct ggml_tensor *factor = weighted_mean(ctx, b->p, x_next, b->in.grad_coef);
    factor = ggml_scale(ctx, factor, (float)eta_of(b->p));
    struct ggml_tensor *objective;
    if (row->e1 == row->e2) {
        objective = weighted_dot(ctx, ggml_sub(ctx, factor, x), errors[row->e1], b->in.weight);
    } else {
        objective = ggml_sub(ctx, weighted_dot(ctx, factor, errors[row->e2], b->in.weight),
                             weighted_dot(ctx, x, errors[row->e1], b->in.weight));
    }
    objective = ggml_scale(ctx, objective, 2.0f);
    if (h) {
        struct ggml_tensor *miss = ggml_sub(ctx, errors[DELTA], h);
        objective = ggml_add(ctx, objective, weighted_dot(ctx, miss, miss, b->in.weight));
    }
    return objective;
}

// |y + d xbar(s', a') - x(s, a)|^2 + eta |y + d x(s', a') - xbar(s, a)|^2.
static struct ggml_tensor *bidirectional(build *b) {
    both online = evaluate_both(b, &b->bp->online, b->in.error_coef);
    both frozen = evaluate_both(b, &b->bp->frozen, b->in.error_coef);
    struct ggml_tensor *forward = minus(b, frozen.next, online.x);
    struct ggml_tensor *backward = minus(b, online.next, frozen.x);
    struct ggml_tensor *loss = weighted_dot(b->ctx, forward, forward, b->in.weight);
    struct ggml_tensor *other = weighted_dot(b->ctx, backward, backward, b->in.weight);
    return b->bp->loss = ggml_add(b->ctx, loss, ggml_scale(b->ctx, other, (float)b->p->grad_mix));
}

// sum over the features: (B, F) -> (B).
static struct ggml_tensor *per_pair(build *b, struct ggml_tensor *squares) {
    return b->p->shape.features == 1 ? squares : ggml_sum_rows(b->ctx, squares);
}

// max(|y + d xbar' - x|^2, |y + d x' - x|^2) per pair, the second on ties. Which one it is counts as
// a constant weight.
static struct ggml_tensor *convergent(build *b) {
    struct ggml_context *ctx = b->ctx;
    both online = evaluate_both(b, &b->bp->online, b->in.error_coef);
    struct ggml_tensor *frozen =
        select_actions(ctx, b->p, &b->bp->frozen, b->in.s_next, b->in.pick_next);
    frozen = weighted_mean(ctx, b->p, frozen, b->in.error_coef);
    struct ggml_tensor *lagged = minus(b, frozen, online.x);
    struct ggml_tensor *full = minus(b, online.next, online.x);
    struct ggml_tensor *lead =
        ggml_sub(ctx, per_pair(b, ggml_sqr(ctx, lagged)), per_pair(b, ggml_sqr(ctx, full)));
    struct ggml_tensor *first = ggml_mul(ctx, b->in.weight, stop(b, ggml_step(ctx, lead)));
    struct ggml_tensor *second = ggml_sub(ctx, b->in.weight, first);
    return b->bp->loss = ggml_add(ctx, weighted_dot(ctx, lagged, lagged, first),
                                  weighted_dot(ctx, full, full, second));
}

// Lets the gradient be written straight into the flat buffer where that is possible; what is left
// unplaced is copied after each run.
static void place_gradients(fgsf_bellman *bellman, bucket_program *bp) {
    const fgsf_leaves *of[2] = {&bp->online, &bp->error};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < of[k]->count; i++) {
            struct ggml_tensor *g = ggml_graph_get_grad(bp->program.graph, of[k]->tensors[i]);
            if (g && !ggml_is_contiguous(g)) { // of a parameter that the network reads transposed
                g = ggml_cont(bp->program.ctx, g);
                ggml_build_forward_expand(bp->program.graph, g);
            }
            bp->gradients[k][i] = g;
            if (g && bellman->device->num_backends == 1 && !g->view_src && !g->data) {
                fgsf_tensor_place(g, fgsf_network_buffer(bellman->gradient[k]),
                                  fgsf_network_edit(bellman->gradient[k]) + of[k]->offsets[i]);
            } else if (g) {
                ggml_set_output(g);
            }
        }
    }
}

// Adds the backward pass. The loss's own gradient is a constant 1, so nothing has to be reset between
// runs.
static fgsf_status differentiate(fgsf_bellman *bellman, bucket_program *bp) {
    struct ggml_context *ctx = bp->program.ctx;
    struct ggml_cgraph *graph = bp->program.graph;
    int nodes = ggml_graph_n_nodes(graph);
    struct ggml_tensor **accumulators = calloc((size_t)nodes, sizeof *accumulators);
    if (!accumulators) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph");
    }
    struct ggml_tensor *one = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    fgsf_tensor_place(one, bellman->in.buffer, bellman->in.one);
    accumulators[nodes - 1] = one;
    ggml_build_backward_expand(ctx, graph, accumulators);
    free(accumulators);
    place_gradients(bellman, bp);
    return FGSF_OK;
}

// Builds the graph whose sizes stand in *bp.
static fgsf_status build_program(fgsf_bellman *bellman, bucket_program *bp) {
    const fgsf_bellman_params *p = &bellman->params;
    *bp = (bucket_program){.pairs = bp->pairs, .states = bp->states, .spread = bp->spread};
    fgsf_status status = fgsf_program_begin(&bp->program, bellman->size, true);
    if (status != FGSF_OK) {
        return status;
    }
    struct ggml_context *ctx = bp->program.ctx;
    struct ggml_cgraph *graph = bp->program.graph;
    bp->online = fgsf_leaves_create(ctx, bellman->gradient[0], true); // bound anew before each run
    bp->frozen = fgsf_leaves_create(ctx, bellman->gradient[0], false);
    if (bellman->gradient[1]) {
        bp->error = fgsf_leaves_create(ctx, bellman->gradient[1], true);
    }
    build b = {.ctx = ctx, .graph = graph, .bellman = bellman, .p = p, .bp = bp};
    b.in = create_input_leaves(ctx, bellman, bp);
    struct ggml_tensor *objective = builder_of(p)(&b);
    ggml_set_loss(objective);
    ggml_set_output(bp->loss);
    ggml_build_forward_expand(graph, bp->loss);
    ggml_build_forward_expand(graph, objective);
    status = differentiate(bellman, bp);
    if (status == FGSF_OK && bellman->size.nodes == 0) { // the first graph sizes all others
        bellman->size = fgsf_program_measure(&bp->program);
        fgsf_program_free(&bp->program);
        return build_program(bellman, bp);
    }
    return status == FGSF_OK ? fgsf_program_finish(&bp->program, bellman->device, bellman->scratch)
                             : status;
}

// Makes room for one more graph.
static fgsf_status grow_programs(fgsf_bellman *bellman) {
    if (bellman->num_programs < bellman->room) {
        return FGSF_OK;
    }
    int room = 2 * bellman->room + 16;
    bucket_program *more = realloc(bellman->programs, (size_t)room * sizeof *more);
    if (!more) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph");
    }
    bellman->programs = more;
    bellman->room = room;
    return FGSF_OK;
}

static int half(int spread) {
    return (spread + 1) / 2;
}

// Finds or builds the graph for `pairs` pairs in `states` states with `next` different next states.
static fgsf_status find_program(fgsf_bellman *bellman, int pairs, int states, int next,
                                bucket_program **out) {
    bucket_program size = {.pairs = fgsf_bucket(bellman->device, pairs),
                           .states = fgsf_bucket(bellman->device, states),
                           .spread = bellman->params.samples};
    while (size.spread > 1 && size.states * half(size.spread) >= next) {
        size.spread = half(size.spread);
    }
    for (int i = 0; i < bellman->num_programs; i++) {
        bucket_program *known = &bellman->programs[i];
        if (known->pairs == size.pairs && known->states == size.states &&
            known->spread == size.spread) {
            *out = known;
            return FGSF_OK;
        }
    }
    fgsf_status status = grow_programs(bellman);
    if (status != FGSF_OK) {
        return status;
    }
    bucket_program *bp = &bellman->programs[bellman->num_programs];
    *bp = size;
    status = build_program(bellman, bp);
    if (status != FGSF_OK) {
        fgsf_program_free(&bp->program);
        return status;
    }
    bellman->num_programs++;
    *out = bp;
    return FGSF_OK;
}

static void forget_programs(fgsf_bellman *bellman) {
    for (int i = 0; i < bellman->num_programs; i++) {
        fgsf_program_free(&bellman->programs[i].program);
    }
    bellman->num_programs = 0;
}

// Builds the largest graph and, where that takes no memory of a device, all others at once: no later
// step has to build one. A graph that needs more scratch memory than those before it would leave them
// with pointers to the old one, so then all are built again in what is there.
static fgsf_status build_programs(fgsf_bellman *bellman) {
    const fgsf_bellman_params *p = &bellman->params;
    bool all = bellman->device->num_backends == 1 && !p->one_size;
    size_t scratch = 0;
    fgsf_status status = FGSF_OK;
    forget_programs(bellman);
    for (int pairs = p->max_pairs; pairs >= (all ? 1 : p->max_pairs); pairs--) {
        int states = p->max_states > 0 && p->max_states < pairs ? p->max_states : pairs;
        for (int n = p->samples; n >= 1 && status == FGSF_OK; n = all && n > 1 ? half(n) : 0) {
            bucket_program *bp;
            int next = fgsf_bucket(bellman->device, states) * n;
            status = find_program(bellman, pairs, states, next, &bp);
            scratch = scratch ? scratch : ggml_gallocr_get_buffer_size(bellman->scratch, 0);
        }
    }
    bool grown = ggml_gallocr_get_buffer_size(bellman->scratch, 0) > scratch;
    return status == FGSF_OK && grown ? build_programs(bellman) : status;
}

fgsf_status fgsf_bellman_create(fgsf_device *device, const fgsf_bellman_params *params,
                                fgsf_bellman **out) {
    FGSF_REQUIRE(device && params && out);
    fgsf_status status = check_params(device, params);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_bellman *bellman = calloc(1, sizeof *bellman);
    if (!bellman) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a Bellman graph");
    }
    bellman->device = device;
    bellman->params = *params;
    bellman->scratch = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    status = fgsf_network_create(&params->shape, &bellman->gradient[0]);
    if (status == FGSF_OK && has_error(params)) {
        status = fgsf_network_create(&params->shape, &bellman->gradient[1]);
    }
    if (status == FGSF_OK) {
        status = fgsf_network_check_forward(bellman->gradient[0]);
    }
    if (status == FGSF_OK) {
        status = allocate_inputs(bellman);
    }
    if (status == FGSF_OK) {
        status = build_programs(bellman);
    }
    if (status != FGSF_OK) {
        fgsf_bellman_free(bellman);
        return status;
    }
    *out = bellman;
    return FGSF_OK;
}

void fgsf_bellman_free(fgsf_bellman *bellman) {
    if (!bellman) {
        return;
    }
    forget_programs(bellman);
    free(bellman->programs);
    ggml_gallocr_free(bellman->scratch);
    ggml_backend_buffer_free(bellman->in.buffer);
    fgsf_network_free(bellman->gradient[0]);
    fgsf_network_free(bellman->gradient[1]);
    free(bellman);
}

static bool all_finite(const float *x, size_t count) {
    int bad = 0;
    for (size_t i = 0; i < count; i++) bad += !isfinite(x[i]);
    return bad == 0;
}

// ReLU makes a zero of NaN, so that a loss would not show it.
static fgsf_status check_states(const fgsf_bellman_params *p, const fgsf_batch *batch) {
    size_t input = (size_t)p->shape.input, samples = (size_t)p->samples;
    size_t rows = (size_t)(batch->state ? batch->states : batch->pairs);
    bool finite = all_finite(batch->s, rows * input);
    for (int b = 0; (size_t)b < rows && finite; b++) {
        size_t count = batch->present ? (size_t)batch->present[b] : samples;
        finite = all_finite(batch->s_next + (size_t)b * samples * input, count * input);
    }
    return finite ? FGSF_OK : fgsf_fail(FGSF_ERR_INVALID, "batch: a state is not finite");
}

static fgsf_status check_batch(const fgsf_bellman_params *p, const fgsf_batch *batch) {
    if (!batch->s || !batch->a || !batch->y || !batch->s_next || !batch->a_next ||
        !batch->discount) {
        return fgsf_fail(FGSF_ERR_INVALID, "batch: an array is NULL");
    }
    if (batch->pairs < 1 || batch->pairs > p->max_pairs) {
        return fgsf_fail(FGSF_ERR_INVALID, "batch.pairs: %d is not in [1, %d]", batch->pairs,
                         p->max_pairs);
    }
    for (int b = 0; batch->state && b < batch->pairs; b++) {
        if (batch->state[b] < 0 || batch->state[b] >= batch->states ||
            batch->states > batch->pairs) {
            return fgsf_fail(FGSF_ERR_INVALID, "batch.state[%d]: %d of %d states of %d pairs", b,
                             (int)batch->state[b], batch->states, batch->pairs);
        }
    }
    if (!(batch->denominator >= 0.0 && isfinite(batch->denominator))) {
        return fgsf_fail(FGSF_ERR_INVALID, "batch.denominator: %g is not positive",
                         batch->denominator);
    }
    for (int b = 0; batch->present && b < batch->pairs; b++) {
        if (batch->present[b] < 0 || batch->present[b] > p->samples) {
            return fgsf_fail(FGSF_ERR_INVALID, "batch.present[%d]: %d is not in [0, %d]", b,
                             (int)batch->present[b], p->samples);
        }
    }
    const struct {
        const char *name;
        const int32_t *values;
        int count;
    } actions[] = {{"a", batch->a, batch->pairs},
                   {"a_next", batch->a_next, batch->pairs * p->samples}};
    int num_actions = fgsf_shape_actions(&p->shape);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < actions[k].count; i++) {
            if (actions[k].values[i] < 0 || actions[k].values[i] >= num_actions) {
                return fgsf_fail(FGSF_ERR_INVALID, "batch.%s[%d]: %d is not in [0, %d)",
                                 actions[k].name, i, (int)actions[k].values[i], num_actions);
            }
        }
    }
    return FGSF_OK;
}

// The weights of the samples of one pair in the two factors, of which `present` exist.
static bool sample_weights(const fgsf_bellman_params *p, int present, float *error,
                           float *gradient) {
    int n = p->samples;
    int first = present; // samples of the error factor
    int from = 0, count = present;
    if (p->estimator == FGSF_CRITIC_ONLY) {
        count = 1;
    } else if (p->estimator == FGSF_SPLIT) {
        first = p->split < present ? p->split : present - 1;
        from = first;
        count = present - first;
    }
    for (int i = 0; i < n; i++) {
        error[i] = i < first ? 1.0f / (float)first : 0.0f;
        gradient[i] = i >= from && i < from + count ? 1.0f / (float)count : 0.0f;
    }
    return first > 0 && count > 0;
}

// Averages y and folds sample weights into the discounts, pair by pair.
static void load_targets(fgsf_bellman *bellman, const fgsf_batch *batch, double factor) {
    const fgsf_bellman_params *p = &bellman->params;
    inputs *in = &bellman->in;
    int n = p->samples, features = p->shape.features;
    for (int b = 0; b < batch->pairs; b++) {
        float *error = in->error_coef + (size_t)b * (size_t)n;
        float *gradient = in->grad_coef + (size_t)b * (size_t)n;
        bool usable = sample_weights(p, batch->present ? batch->present[b] : n, error, gradient);
        float *y = in->y + (size_t)b * (size_t)features;
        memset(y, 0, (size_t)features * sizeof(float));
        for (int i = 0; i < n; i++) {
            size_t row = (size_t)b * (size_t)n + (size_t)i;
            for (int f = 0; f < features && error[i] != 0.0f; f++) {
                y[f] += error[i] * batch->y[row * (size_t)features + (size_t)f];
            }
            error[i] *= batch->discount[row];
            gradient[i] *= batch->discount[row];
        }
        double weight = batch->weight ? batch->weight[b] : 1.0;
        in->weight[b] = usable ? (float)(factor * weight) : 0.0f;
    }
}

static int num_states(const fgsf_batch *batch) {
    return batch->state ? batch->states : batch->pairs;
}

// Copies the states into the graphs' inputs, the next states at their final place behind a bucket of
// them; returns how many next states there are.
static int load_states(fgsf_bellman *bellman, const fgsf_batch *batch) {
    int states = num_states(batch), bucket = fgsf_bucket(bellman->device, states);
    int n = bellman->params.samples;
    size_t input = (size_t)bellman->params.shape.input;
    inputs *in = &bellman->in;
    memcpy(in->s, batch->s, (size_t)states * input * sizeof(float));
    memset(in->s + (size_t)states * input, 0, (size_t)(bucket - states) * input * sizeof(float));
    return fgsf_distinct_rows(batch->s_next, states * n, n, input, in->s + (size_t)bucket * input,
                              in->row);
}

// Completes the inputs of a graph. Rows up to its size are padding: weight 0, and zeros everywhere
// else, since 0 times what an earlier batch left there may be no number.
static void load_batch(fgsf_bellman *bellman, const fgsf_batch *batch, const bucket_program *bp,
                       int next, double factor) {
    const fgsf_bellman_params *p = &bellman->params;
    inputs *in = &bellman->in;
    int n = p->samples, pairs = batch->pairs, actions = fgsf_shape_actions(&p->shape);
    int bucket = bp->pairs, states = bp->states, last = bp->states * bp->spread - 1;
    size_t input = (size_t)p->shape.input;
    memset(in->s + (size_t)(states + next) * input, 0,
           (size_t)(last + 1 - next) * input * sizeof(float));
    for (int b = 0; b < bucket; b++) {
        int row = b < pairs && batch->state ? batch->state[b] : b < states ? b : states - 1;
        in->pick[b] = row * actions + (b < pairs ? batch->a[b] : 0);
    }
    for (int i = 0; i < bucket * n; i++) {
        int from = i < pairs * n && batch->state ? batch->state[i / n] * n + i % n : i;
        int row = i < pairs * n ? in->row[from] : last;
        int action = i < pairs * n ? batch->a_next[i] : 0;
        in->pick[bucket + i] = (states + row) * actions + action;
        in->pick_next[i] = row * actions + action;
    }
    load_targets(bellman, batch, factor);
    size_t padding = (size_t)(bucket - pairs), features = (size_t)p->shape.features;
    memset(in->weight + pairs, 0, padding * sizeof(float));
    memset(in->y + (size_t)pairs * features, 0, padding * features * sizeof(float));
    memset(in->error_coef + pairs * n, 0, padding * (size_t)n * sizeof(float));
    memset(in->grad_coef + pairs * n, 0, padding * (size_t)n * sizeof(float));
}

// Brings what the graph could not write in place into the flat gradient.
static void collect_gradients(fgsf_bellman *bellman, const bucket_program *bp) {
    const fgsf_leaves *of[2] = {&bp->online, &bp->error};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < of[k]->count; i++) {
            const struct ggml_tensor *g = bp->gradients[k][i];
            float *place = fgsf_network_edit(bellman->gradient[k]) + of[k]->offsets[i];
            if (g && g->data != place) {
                ggml_backend_tensor_get(g, place, 0, ggml_nbytes(g));
            }
        }
    }
}

// The weight decay of the error network.
static void add_decay(fgsf_bellman *bellman, const fgsf_network *error) {
    float beta = (float)bellman->params.h_beta, *gradient = fgsf_network_edit(bellman->gradient[1]);
    const float *theta = fgsf_network_parameters(error);
    for (size_t i = 0; i < fgsf_network_size(error) && beta > 0.0f; i++) {
        gradient[i] += beta * theta[i];
    }
}

static fgsf_status check_networks(const fgsf_bellman_params *p, const fgsf_network *net,
                                  const fgsf_network *other) {
    const char *what = has_error(p) ? "error" : "target";
    if ((other != NULL) != (has_target(p) || has_error(p))) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman: the %s network is %s", what,
                         other ? "given but not configured" : "configured but not given");
    }
    fgsf_status status = fgsf_network_require(net, &p->shape, "bellman: the network");
    if (status != FGSF_OK || !other) {
        return status;
    }
    char message[48];
    snprintf(message, sizeof message, "bellman: the %s network", what);
    return fgsf_network_require(other, &p->shape, message);
}

fgsf_status fgsf_bellman_run(fgsf_bellman *bellman, const fgsf_batch *batch,
                             const fgsf_network *net, const fgsf_network *other, double *loss) {
    FGSF_REQUIRE(bellman && batch);
    const fgsf_bellman_params *p = &bellman->params;
    fgsf_status status = check_batch(p, batch);
    if (status == FGSF_OK) status = check_states(p, batch);
    if (status == FGSF_OK) {
        status = check_networks(p, net, other);
    }
    if (status != FGSF_OK) {
        return status;
    }
    bucket_program *bp;
    int next = load_states(bellman, batch);
    status = find_program(bellman, batch->pairs, num_states(batch), next, &bp);
    if (status != FGSF_OK) {
        return status;
    }
    double denominator = batch->denominator > 0.0 ? batch->denominator : batch->pairs;
    load_batch(bellman, batch, bp, next,
               fgsf_loss_factor(p->loss_scale, denominator, p->shape.features, p->shape.actions));
    fgsf_leaves_bind(&bp->online, net);
    fgsf_leaves_bind(&bp->frozen, has_target(p) ? other : net);
    if (has_error(p)) {
        fgsf_leaves_bind(&bp->error, other);
    }
    status = fgsf_program_run(&bp->program, bellman->device);
    if (status != FGSF_OK) {
        return status;
    }
    collect_gradients(bellman, bp);
    if (has_error(p)) {
        add_decay(bellman, other);
    }
    // Without the padding, which takes part in the same proportion everywhere.
    bellman->flops =
        bp->program.flops * (num_states(batch) + next) / (double)(bp->states * (1 + bp->spread));
    if (loss) {
        float value;
        ggml_backend_tensor_get(bp->loss, &value, 0, sizeof value);
        *loss = value;
    }
    return FGSF_OK;
}

const float *fgsf_bellman_gradient(const fgsf_bellman *bellman) {
    return bellman ? fgsf_network_parameters(bellman->gradient[0]) : NULL;
}

const float *fgsf_bellman_error_gradient(const fgsf_bellman *bellman) {
    return bellman && bellman->gradient[1] ? fgsf_network_parameters(bellman->gradient[1]) : NULL;
}

double fgsf_bellman_flops(const fgsf_bellman *bellman) {
    if (!bellman) return 0;
    return bellman->flops;
}
