// The one builder of Bellman losses. It builds the forward graph; the gradient is ggml's.
//
// Shapes in comments are row-major, (rows, columns), the reverse of ggml's ne. B pairs, n samples
// per pair, A actions, F features.
#include "bellman_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "resident.h"

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

bool fgsf_bellman_two_factors(const fgsf_bellman_params *p) {
    return builder_of(p) == surrogate;
}

bool fgsf_bellman_detaches(const fgsf_bellman_params *p) {
    return builder_of(p) == convergent || (builder_of(p) == squared_error && eta_of(p) < 1.0);
}

bool fgsf_bellman_has_target(const fgsf_bellman_params *p) {
    return p->target_network || kinds[p->kind].need.target_network;
}

bool fgsf_bellman_has_error(const fgsf_bellman_params *p) {
    return kinds[p->kind].need.error_network;
}

fgsf_status fgsf_bellman_check_kind(const fgsf_bellman_params *p) {
    if ((unsigned)p->kind >= sizeof kinds / sizeof *kinds) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.kind: %d does not exist", (int)p->kind);
    }
    if (!(p->grad_mix >= 0.0 && p->grad_mix <= 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.grad_mix: %g is not in [0, 1]", p->grad_mix);
    }
    if (!(p->h_beta >= 0.0 && isfinite(p->h_beta))) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.h_beta: %g is not in [0, inf)", p->h_beta);
    }
    if (p->target_network && (fgsf_bellman_has_error(p) || eta_of(p) != 0.0)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.grad_mix: %g with a target network; a target network has no "
                         "gradient to pass on, so grad_mix must be 0",
                         p->grad_mix);
    }
    if (kinds[p->kind].make != squared_error && p->estimator != FGSF_SHARED) {
        return fgsf_fail(FGSF_ERR_INVALID, "bellman.estimator: %d is for semi, full and mix alone",
                         (int)p->estimator);
    }
    if (fgsf_bellman_has_error(p) && p->samples > 1) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.samples: %d with an error network, which learns the mean that "
                         "several samples would estimate",
                         p->samples);
    }
    return FGSF_OK;
}

// ---- The graph ------------------------------------------------------------------------------------

// What the builders work on.
struct build {
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    const fgsf_bellman *bellman;
    const fgsf_bellman_params *p;
    fgsf_bellman_program *bp;
    struct input_leaves {
        struct ggml_tensor *s, *s_next, *all; // `all` is s and s_next together
        struct ggml_tensor *y, *error_coef, *grad_coef, *weight, *one;
        struct ggml_tensor *pick, *pick_next, *pick_all;
    } in;
    int stopped; // places of `stopped` in use
};

// Points a tensor at an input: on the host, or at the same place in the device's memory.
static void place_input(const fgsf_bellman *bellman, struct ggml_tensor *t, void *data) {
    ggml_backend_buffer_t buffer = bellman->there ? bellman->there : bellman->buffer;
    char *host = ggml_backend_buffer_get_base(bellman->buffer);
    char *base = ggml_backend_buffer_get_base(buffer);
    fgsf_tensor_place(t, buffer, (float *)(base + ((char *)data - host)));
}

// A leaf of `rows` x `columns` over an input.
static struct ggml_tensor *leaf(const build *b, enum ggml_type type, int64_t columns, int64_t rows,
                                void *data) {
    struct ggml_tensor *t = ggml_new_tensor_2d(b->ctx, type, columns, rows);
    ggml_set_input(t);
    place_input(b->bellman, t, data);
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
static void create_input_leaves(build *b) {
    const fgsf_bellman_program *bp = b->bp;
    const fgsf_bellman_inputs *in = &bp->in;
    int pairs = bp->pairs, states = bp->states, next_states = bp->states * bp->spread;
    int next = pairs * b->p->samples, input = b->p->shape.input, features = b->p->shape.features;
    bool column = features == 1; // x is then a row, see as_rows
    b->in = (struct input_leaves){
        .s = leaf(b, GGML_TYPE_F32, input, states, in->s),
        .s_next =
            leaf(b, GGML_TYPE_F32, input, next_states, in->s + (size_t)states * (size_t)input),
        .all = leaf(b, GGML_TYPE_F32, input, states + next_states, in->s),
        .y = leaf(b, GGML_TYPE_F32, column ? pairs : features, column ? 1 : pairs, in->y),
        .error_coef = leaf(b, GGML_TYPE_F32, column ? next : 1, column ? 1 : next, in->error_coef),
        .grad_coef = leaf(b, GGML_TYPE_F32, column ? next : 1, column ? 1 : next, in->grad_coef),
        .weight = leaf(b, GGML_TYPE_F32, column ? pairs : 1, column ? 1 : pairs, in->weight),
        .one = leaf(b, GGML_TYPE_F32, 1, 1, in->one),
        .pick = leaf(b, GGML_TYPE_I32, pairs, 1, in->pick),
        .pick_next = leaf(b, GGML_TYPE_I32, next, 1, in->pick_next),
        .pick_all = leaf(b, GGML_TYPE_I32, pairs + next, 1, in->pick),
    };
    size_t block = fgsf_device_block(b->bellman->device);
    if (b->bellman->device->resident && (size_t)(states * input) % block != 0) {
        b->in.s_next = ggml_cont(b->ctx, b->in.s_next); // products want their operands aligned
    }
}

// sum_b weight_b <u_b, v_b>.
static struct ggml_tensor *weighted_dot(struct ggml_context *ctx, struct ggml_tensor *u,
                                        struct ggml_tensor *v, struct ggml_tensor *weight) {
    struct ggml_tensor *product = u == v ? ggml_sqr(ctx, u) : ggml_mul(ctx, u, v);
    return ggml_sum(ctx, ggml_mul(ctx, product, weight));
}

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

// The mean of d xbar(s', a').
static struct ggml_tensor *evaluate_next(build *b) {
    struct ggml_tensor *x =
        select_actions(b->ctx, b->p, &b->bp->frozen, b->in.s_next, b->in.pick_next);
    return weighted_mean(b->ctx, b->p, x, b->in.error_coef);
}

static struct ggml_tensor *minus(build *b, struct ggml_tensor *bootstrap, struct ggml_tensor *x) {
    return ggml_sub(b->ctx, ggml_add(b->ctx, bootstrap, b->in.y), x);
}

// The value of t as a constant: the graph writes it to an input before what reads it is computed.
// A copy in the graph, unlike a view, passes no gradient on.
static struct ggml_tensor *stop(build *b, struct ggml_tensor *t) {
    float *place = b->bp->in.stopped[b->stopped++];
    struct ggml_tensor *constant = leaf(b, GGML_TYPE_F32, t->ne[0], t->ne[1], place);
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
    if (eta < 1.0f) detached = evaluate_next(b);
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
    if (fgsf_bellman_has_error(b->p)) {
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
    // Equal to the network, the target must give ties; a device may round products of other rows
    // differently.
    struct ggml_tensor *frozen = b->bellman->device->resident
                                     ? evaluate_both(b, &b->bp->frozen, b->in.error_coef).next
                                     : evaluate_next(b);
    struct ggml_tensor *lagged = minus(b, frozen, online.x);
    struct ggml_tensor *full = minus(b, online.next, online.x);
    struct ggml_tensor *lead =
        ggml_sub(ctx, per_pair(b, ggml_sqr(ctx, lagged)), per_pair(b, ggml_sqr(ctx, full)));
    struct ggml_tensor *leads = ggml_relu(ctx, ggml_sgn(ctx, lead)); // Vulkan's STEP of 0 is 1
    struct ggml_tensor *first = ggml_mul(ctx, b->in.weight, stop(b, leads));
    struct ggml_tensor *second = ggml_sub(ctx, b->in.weight, first);
    return b->bp->loss = ggml_add(ctx, weighted_dot(ctx, lagged, lagged, first),
                                  weighted_dot(ctx, full, full, second));
}

// ---- Behind the forward pass ------------------------------------------------------------------------

// Lets a gradient be written straight into the flat buffer, at `place`, where that is possible. What is
// left is copied there: by the graph on a device, else by the caller after each run.
static void place_gradient(build *b, struct ggml_tensor *g, ggml_backend_buffer_t buffer,
                           float *place) {
    bool resident = b->bellman->device->resident;
    bool direct = resident ? b->bp->program.whole : b->bellman->device->num_backends == 1;
    if (direct && !g->view_src && !g->data) {
        fgsf_tensor_place(g, buffer, place);
    } else if (direct && resident) {
        struct ggml_tensor *copy = ggml_new_tensor_2d(b->ctx, GGML_TYPE_F32, g->ne[0], g->ne[1]);
        fgsf_tensor_place(copy, buffer, place);
        ggml_build_forward_expand(b->bp->program.graph, ggml_cpy(b->ctx, g, copy));
    } else {
        ggml_set_output(g);
    }
}

static fgsf_status place_gradients(build *b) {
    fgsf_device *device = b->bellman->device;
    const fgsf_leaves *of[2] = {&b->bp->online, &b->bp->error};
    for (int k = 0; k < 2; k++) {
        fgsf_network *flat = b->bellman->gradient[k];
        const fgsf_copy *copy = NULL;
        FGSF_TRY(flat && device->resident ? fgsf_network_copy(flat, device, &copy) : FGSF_OK);
        for (int i = 0; i < of[k]->count; i++) {
            struct ggml_tensor *g = b->bp->gradients[k][i];
            if (!g) continue;
            const fgsf_parameters *list = fgsf_network_get_parameters(flat);
            float *place = copy ? fgsf_copy_data(copy) + fgsf_copy_offset(device, list, i)
                                : fgsf_network_edit(flat) + of[k]->offsets[i];
            place_gradient(b, g, copy ? copy->slab->buffer : fgsf_network_buffer(flat), place);
        }
    }
    return FGSF_OK;
}

// Adds the backward pass. The loss's own gradient is a constant 1, so nothing has to be reset between
// runs.
static fgsf_status differentiate(build *b) {
    fgsf_bellman_program *bp = b->bp;
    int nodes = ggml_graph_n_nodes(b->graph);
    struct ggml_tensor **accumulators = calloc((size_t)nodes, sizeof *accumulators);
    if (!accumulators) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a graph");
    }
    struct ggml_tensor *one = ggml_new_tensor_1d(b->ctx, GGML_TYPE_F32, 1);
    place_input(b->bellman, one, bp->in.one);
    accumulators[nodes - 1] = one;
    ggml_build_backward_expand(b->ctx, b->graph, accumulators);
    free(accumulators);
    const fgsf_leaves *of[2] = {&bp->online, &bp->error};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < of[k]->count; i++) {
            struct ggml_tensor *g = ggml_graph_get_grad(b->graph, of[k]->tensors[i]);
            if (g && !ggml_is_contiguous(g)) { // of a parameter that the network reads transposed
                g = ggml_cont(b->ctx, g);
                ggml_build_forward_expand(b->graph, g);
            }
            bp->gradients[k][i] = g;
        }
    }
    return FGSF_OK;
}

// Replaces what the device does not have. It scatters the gradient of the chosen actions by masks.
static fgsf_status adapt(build *b) {
    const fgsf_bellman_inputs *in = &b->bp->in;
    if (!in->parts) return fgsf_lower_device(&b->bp->program, b->bellman->device, NULL);
    int64_t pairs = b->bp->pairs, next = pairs * b->p->samples;
    fgsf_scatter scatter[3] = {{.index = b->in.pick}, {.index = b->in.pick_all}};
    for (int i = 0; i < 2; i++) {
        int64_t picks = i == 0 ? pairs : pairs + next;
        int64_t rows = (int64_t)b->bp->states * (i == 0 ? 1 : 1 + b->bp->spread);
        scatter[i].parts =
            leaf(b, GGML_TYPE_F32, fgsf_shape_actions(&b->p->shape), picks, in->parts);
        if (!in->rows) continue;
        scatter[i].rows = leaf(b, GGML_TYPE_I32, picks, 1, in->rows);
        int64_t size = b->bellman->identity_rows;
        struct ggml_tensor *identity = ggml_new_tensor_2d(b->ctx, GGML_TYPE_F32, rows, rows);
        identity->nb[1] = (size_t)size * sizeof(float);
        fgsf_tensor_place(identity, b->bellman->identity,
                          ggml_backend_buffer_get_base(b->bellman->identity));
        scatter[i].identity = identity;
    }
    return fgsf_lower_device(&b->bp->program, b->bellman->device, scatter);
}

// The flat gradient of the network or of h in the device's memory.
static struct ggml_tensor *flat_gradient(build *b, int k) {
    const fgsf_copy *copy = fgsf_network_own_copy(b->bellman->gradient[k]);
    struct ggml_tensor *t = ggml_new_tensor_1d(b->ctx, GGML_TYPE_F32, (int64_t)copy->slab->stride);
    fgsf_tensor_place(t, copy->slab->buffer, fgsf_copy_data(copy));
    return t;
}

// Adds, on a device, the decay of h to its gradient, and the steps where they are wanted.
static void add_steps(build *b) {
    fgsf_bellman_program *bp = b->bp;
    struct ggml_cgraph *graph = bp->program.graph;
    for (int k = 0; k < 2; k++) {
        struct ggml_tensor *g = b->bellman->gradient[k] ? flat_gradient(b, k) : NULL;
        if (k == 1 && g && b->p->h_beta > 0.0) {
            bp->decayed = ggml_new_tensor_1d(b->ctx, GGML_TYPE_F32, g->ne[0]);
            fgsf_tensor_place(bp->decayed, g->buffer, g->data); // bound anew before each run
            g = ggml_add_inplace(b->ctx, g, ggml_scale(b->ctx, bp->decayed, (float)b->p->h_beta));
            ggml_build_forward_expand(graph, g);
        }
        const struct fgsf_plan_step *plan = &b->bellman->plan.of[k];
        if (!bp->steps || !plan->steps) continue;
        struct ggml_tensor *numbers =
            ggml_new_tensor_1d(b->ctx, GGML_TYPE_F32, plan->adam ? FGSF_STEP_NUMBERS : 2);
        place_input(b->bellman, numbers, bp->in.numbers[k]);
        struct ggml_tensor *square =
            fgsf_step_build(b->ctx, graph, plan, g, numbers, b->in.one, &bp->step[k]);
        place_input(b->bellman, square, bp->in.results[k + 1]);
    }
}

static fgsf_status create_leaves(fgsf_bellman *bellman, fgsf_bellman_program *bp) {
    struct ggml_context *ctx = bp->program.ctx;
    fgsf_leaves *leaves[3] = {&bp->online, &bp->frozen, &bp->error};
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < 3 && status == FGSF_OK; i++) {
        const fgsf_network *net = bellman->gradient[i == 2]; // bound anew before each run
        if (!net) continue;
        *leaves[i] = fgsf_leaves_create(ctx, net, i != 1);
        status = fgsf_leaves_bind(leaves[i], net, bellman->device);
    }
    return status;
}

fgsf_status fgsf_bellman_build(fgsf_bellman *bellman, fgsf_bellman_program *bp) {
    FGSF_TRY(fgsf_program_begin(&bp->program, bellman->size, true));
    FGSF_TRY(create_leaves(bellman, bp));
    struct ggml_cgraph *graph = bp->program.graph;
    build b = {.ctx = bp->program.ctx,
               .graph = graph,
               .bellman = bellman,
               .p = &bellman->params,
               .bp = bp};
    create_input_leaves(&b);
    struct ggml_tensor *objective = builder_of(b.p)(&b);
    ggml_set_loss(objective);
    ggml_set_output(bp->loss);
    ggml_build_forward_expand(graph, bp->loss);
    ggml_build_forward_expand(graph, objective);
    FGSF_TRY(differentiate(&b));
    FGSF_TRY(adapt(&b));
    FGSF_TRY(place_gradients(&b));
    if (bp->program.whole) {
        place_input(bellman, bp->loss, bp->in.results[0]);
        add_steps(&b);
    }
    if (bellman->size.nodes == 0) { // the first graph sizes all others
        bellman->size = fgsf_program_measure(&bp->program);
        if (bellman->device->resident) fgsf_program_enlarge(&bellman->size); // for the steps
        fgsf_program_free(&bp->program);
        return fgsf_bellman_build(bellman, bp);
    }
    return fgsf_program_finish(&bp->program, bellman->device, bellman->scratch);
}
