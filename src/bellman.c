// Batches of the Bellman graph: parameters and batches are checked, inputs loaded, graphs kept and run.
// bellman_graph.c builds the graphs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bellman_graph.h"
#include "require.h"

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
    if (!(denominator > 0.0) || features < 1 || actions < 1) return 0.0;
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

static fgsf_status check_params(const fgsf_device *device, const fgsf_bellman_params *p) {
    FGSF_TRY(fgsf_network_shape_check(&p->shape));
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
    const fgsf_check checks[] = {
        {"max_states", p->max_states, p->max_states >= 0},
        {"estimator", p->estimator, (unsigned)p->estimator <= FGSF_SPLIT},
        {"loss_scale", p->loss_scale, (unsigned)p->loss_scale <= FGSF_MEAN_ACTIONS},
    };
    FGSF_TRY(fgsf_check_all("bellman", checks, sizeof checks / sizeof *checks));
    if (p->estimator == FGSF_SPLIT && (p->split < 1 || p->split >= p->samples)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "bellman.split: %d of %d samples leaves one factor without any", p->split,
                         p->samples);
    }
    return fgsf_bellman_check_kind(p);
}

// ---- Inputs -------------------------------------------------------------------------------------

#define MAX_IDENTITY 4096 // rows; above that a device without GET_ROWS_BACK leaves it to the CPU

// Lays the inputs of a graph out from the start of the buffer on, the uploaded ones first.
static void lay_out(const fgsf_bellman *bellman, fgsf_bellman_program *bp) {
    const fgsf_bellman_params *p = &bellman->params;
    fgsf_bellman_inputs *in = &bp->in;
    size_t pairs = (size_t)bp->pairs, next = pairs * (size_t)p->samples;
    size_t features = (size_t)p->shape.features, actions = (size_t)fgsf_shape_actions(&p->shape);
    size_t states = (size_t)bp->states * (size_t)(1 + bp->spread);
    bool parts = !fgsf_device_scatters(bellman->device, (int64_t)(states * actions));
    bool rows = parts && !bp->own_rows && bellman->identity;
    parts = rows || (parts && bp->own_rows);
    struct {
        void *place; // of a pointer
        size_t count;
    } arrays[] = {
        {&in->s, states * (size_t)p->shape.input},
        {&in->y, pairs * features},
        {&in->error_coef, next},
        {&in->grad_coef, fgsf_bellman_two_factors(p) ? next : 0},
        {&in->weight, pairs},
        {&in->one, 1},
        {&in->pick, pairs + next},
        {&in->pick_next, fgsf_bellman_detaches(p) ? next : 0},
        {&in->parts, parts ? (pairs + next) * actions : 0},
        {&in->rows, rows ? pairs + next : 0},
        {&in->numbers[0], FGSF_STEP_NUMBERS},
        {&in->numbers[1], FGSF_STEP_NUMBERS},
        {&in->grad_coef, fgsf_bellman_two_factors(p) ? 0 : next}, // no graph reads them then
        {&in->pick_next, fgsf_bellman_detaches(p) ? 0 : next},
        {&in->stopped[0], pairs * features},
        {&in->stopped[1], pairs * features},
        {&in->results[0], 1},
        {&in->results[1], 1},
        {&in->results[2], 1},
    };
    float *base = bellman->buffer ? ggml_backend_buffer_get_base(bellman->buffer) : NULL;
    size_t block = fgsf_device_block(bellman->device), at = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *place = base ? base + at : NULL; // floats and 32-bit indices have the same size
        if (arrays[i].count > 0) memcpy(arrays[i].place, &place, sizeof place);
        at += (arrays[i].count + block - 1) / block * block;
        if (arrays[i].place == &in->numbers[1]) in->uploaded = at;
    }
    in->all = at;
}

static ggml_backend_buffer_t cleared(ggml_backend_buffer_type_t type, size_t floats) {
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, floats * sizeof(float));
    if (buffer) ggml_backend_buffer_clear(buffer, 0);
    return buffer;
}

// The matrix that picks out rows, on a device that has to add rows up by products.
static fgsf_status create_identity(fgsf_bellman *bellman, int rows) {
    bool wanted = rows > 0 && rows <= MAX_IDENTITY && !fgsf_device_scatters(bellman->device, rows);
    float *host = wanted ? calloc((size_t)rows * (size_t)rows, sizeof *host) : NULL;
    if (!wanted) return FGSF_OK;
    if (host) bellman->identity = cleared(bellman->device->memory, (size_t)rows * (size_t)rows);
    if (!bellman->identity) {
        free(host);
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a batch of %d rows", rows);
    }
    for (size_t i = 0; i < (size_t)rows; i++) host[i * (size_t)rows + i] = 1.0f;
    fgsf_device_upload(bellman->device, bellman->identity,
                       ggml_backend_buffer_get_base(bellman->identity), host,
                       (size_t)rows * (size_t)rows);
    bellman->identity_rows = rows;
    free(host);
    return FGSF_OK;
}

static fgsf_status allocate_inputs(fgsf_bellman *bellman) {
    const fgsf_bellman_params *p = &bellman->params;
    int pairs = fgsf_bucket(bellman->device, p->max_pairs);
    fgsf_bellman_program largest = {.pairs = pairs, .states = pairs, .spread = p->samples};
    size_t floats = 0; // for pairs with rows of their own or not, which need different masks
    FGSF_TRY(create_identity(bellman,
                             p->samples > 1 || p->max_states > 0 ? pairs * (1 + p->samples) : 0));
    for (int own = 0; own < 2; own++) {
        largest.own_rows = own == 1;
        lay_out(bellman, &largest);
        floats = largest.in.all > floats ? largest.in.all : floats;
    }
    bellman->buffer = cleared(ggml_backend_cpu_buffer_type(), floats);
    if (bellman->device->resident) bellman->there = cleared(bellman->device->memory, floats);
    bellman->row = calloc((size_t)pairs * (size_t)p->samples, sizeof *bellman->row);
    if (!bellman->buffer || !bellman->row || (bellman->device->resident && !bellman->there)) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a batch of %d pairs", p->max_pairs);
    }
    return FGSF_OK;
}

// ---- Graphs -------------------------------------------------------------------------------------

// Makes room for one more graph.
static fgsf_status grow_programs(fgsf_bellman *bellman) {
    if (bellman->num_programs < bellman->room) {
        return FGSF_OK;
    }
    int room = 2 * bellman->room + 16;
    fgsf_bellman_program *more = realloc(bellman->programs, (size_t)room * sizeof *more);
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

static void forget_programs(fgsf_bellman *bellman) {
    for (int i = 0; i < bellman->num_programs; i++) {
        fgsf_program_free(&bellman->programs[i].program);
    }
    bellman->num_programs = 0;
}

// Adds a graph. One that needs more scratch memory than those before it would leave them with pointers
// to the old one, so then they are forgotten.
static fgsf_status add_program(fgsf_bellman *bellman, const fgsf_bellman_program *size,
                               fgsf_bellman_program **out) {
    FGSF_TRY(grow_programs(bellman));
    size_t scratch = ggml_gallocr_get_buffer_size(bellman->scratch, 0);
    fgsf_bellman_program *bp = &bellman->programs[bellman->num_programs];
    *bp = *size;
    lay_out(bellman, bp);
    fgsf_status status = fgsf_bellman_build(bellman, bp);
    bellman->num_programs++;
    bool grown = ggml_gallocr_get_buffer_size(bellman->scratch, 0) > scratch;
    if (status != FGSF_OK || (grown && bellman->num_programs > 1)) {
        bool first = bellman->num_programs == 1;
        forget_programs(bellman);
        return status == FGSF_OK && !first ? add_program(bellman, size, out) : status;
    }
    *out = bp;
    return FGSF_OK;
}

// Finds or builds the graph for `pairs` pairs in `states` states with `next` different next states.
static fgsf_status find_program(fgsf_bellman *bellman, int pairs, int states, int next,
                                bool own_rows, bool steps, fgsf_bellman_program **out) {
    fgsf_bellman_program size = {.pairs = fgsf_bucket(bellman->device, pairs),
                                 .states = fgsf_bucket(bellman->device, states),
                                 .spread = bellman->params.samples,
                                 .own_rows = own_rows && bellman->params.samples == 1,
                                 .steps = steps};
    while (size.spread > 1 && size.states * half(size.spread) >= next) {
        size.spread = half(size.spread);
    }
    for (int i = 0; i < bellman->num_programs; i++) {
        fgsf_bellman_program *known = &bellman->programs[i];
        if (known->pairs == size.pairs && known->states == size.states &&
            known->spread == size.spread &&
            (known->own_rows == size.own_rows || !known->in.parts) && known->steps == steps) {
            *out = known;
            return FGSF_OK;
        }
    }
    return add_program(bellman, &size, out);
}

// Builds the largest graph and, where ggml's scheduler does not take memory for each, all others at
// once: no later step has to build one. If one of them needed more scratch memory than the largest,
// the second round builds those that were forgotten.
static fgsf_status build_programs(fgsf_bellman *bellman) {
    const fgsf_bellman_params *p = &bellman->params;
    bool all = bellman->device->num_backends == 1 && !bellman->device->resident && !p->one_size;
    fgsf_status status = FGSF_OK;
    for (int round = 0; round < (all ? 2 : 1); round++) {
        for (int pairs = p->max_pairs; pairs >= (all ? 1 : p->max_pairs); pairs--) {
            int states = p->max_states > 0 && p->max_states < pairs ? p->max_states : pairs;
            for (int n = p->samples; n >= 1 && status == FGSF_OK; n = all && n > 1 ? half(n) : 0) {
                fgsf_bellman_program *bp;
                int next = fgsf_bucket(bellman->device, states) * n;
                status = find_program(bellman, pairs, states, next, true, false, &bp);
            }
        }
    }
    return status;
}

fgsf_status fgsf_bellman_create(fgsf_device *device, const fgsf_bellman_params *params,
                                fgsf_bellman **out) {
    FGSF_REQUIRE(device && params && out);
    FGSF_TRY(check_params(device, params));
    fgsf_bellman *bellman = calloc(1, sizeof *bellman);
    if (!bellman) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a Bellman graph");
    }
    bellman->device = device;
    bellman->params = *params;
    bellman->scratch = ggml_gallocr_new(device->memory);
    fgsf_status status = fgsf_network_create(&params->shape, &bellman->gradient[0]);
    if (status == FGSF_OK && fgsf_bellman_has_error(params)) {
        status = fgsf_network_create(&params->shape, &bellman->gradient[1]);
    }
    if (status == FGSF_OK) {
        status = fgsf_network_check_forward(bellman->gradient[0]);
    }
    if (status == FGSF_OK) status = allocate_inputs(bellman);
    if (status == FGSF_OK) status = build_programs(bellman);
    if (status != FGSF_OK) {
        fgsf_bellman_free(bellman);
        return status;
    }
    *out = bellman;
    return FGSF_OK;
}

void fgsf_bellman_free(fgsf_bellman *bellman) {
    if (!bellman) return;
    forget_programs(bellman);
    free(bellman->programs);
    ggml_gallocr_free(bellman->scratch);
    ggml_backend_buffer_free(bellman->buffer);
    ggml_backend_buffer_free(bellman->there);
    ggml_backend_buffer_free(bellman->identity);
    free(bellman->row);
    fgsf_network_free(bellman->gradient[0]);
    fgsf_network_free(bellman->gradient[1]);
    free(bellman);
}

// ---- Batches ------------------------------------------------------------------------------------

static int num_states(const fgsf_batch *batch) {
    return batch->state ? batch->states : batch->pairs;
}

// Only samples that are present count.
static fgsf_status check_states(const fgsf_bellman_params *p, const fgsf_batch *batch) {
    size_t input = (size_t)p->shape.input, samples = (size_t)p->samples;
    int rows = num_states(batch), pairs = batch->present ? batch->pairs : rows;
    bool finite = fgsf_all_finite(batch->s, (size_t)rows * input);
    if (batch->next) {
        finite = finite && fgsf_all_finite(batch->s_next, (size_t)batch->nexts * input);
    }
    for (int b = 0; b < pairs && !batch->next && finite; b++) {
        size_t row = (size_t)(batch->present && batch->state ? batch->state[b] : b);
        size_t count = batch->present ? (size_t)batch->present[b] : samples;
        finite = fgsf_all_finite(batch->s_next + row * samples * input, count * input);
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
    int samples = num_states(batch) * p->samples;
    for (int i = 0; batch->next && i < samples; i++) {
        if (batch->next[i] < 0 || batch->next[i] >= batch->nexts || batch->nexts > samples) {
            return fgsf_fail(FGSF_ERR_INVALID, "batch.next[%d]: %d of %d next states of %d samples",
                             i, (int)batch->next[i], batch->nexts, samples);
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
static void load_targets(const fgsf_bellman_params *p, const fgsf_bellman_inputs *in,
                         const fgsf_batch *batch, double factor) {
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

// Copies the states into the graphs' inputs, the next states at their final place behind a bucket of
// them; returns how many next states there are.
static int load_states(fgsf_bellman *bellman, const fgsf_batch *batch) {
    int states = num_states(batch), bucket = fgsf_bucket(bellman->device, states);
    int n = bellman->params.samples;
    size_t input = (size_t)bellman->params.shape.input;
    float *s = ggml_backend_buffer_get_base(bellman->buffer); // in every layout
    memcpy(s, batch->s, (size_t)states * input * sizeof(float));
    memset(s + (size_t)states * input, 0, (size_t)(bucket - states) * input * sizeof(float));
    int next = batch->next ? batch->nexts : states * n;
    memcpy(s + (size_t)bucket * input, batch->s_next, (size_t)next * input * sizeof(float));
    for (int i = 0; i < states * n; i++) bellman->row[i] = batch->next ? batch->next[i] : i;
    return next;
}

// The picks as masks, for a device that has to scatter by products.
static void load_masks(const fgsf_bellman_inputs *in, int picks, int actions) {
    for (int i = 0; i < picks && in->parts; i++) {
        float *parts = in->parts + (size_t)i * (size_t)actions;
        memset(parts, 0, (size_t)actions * sizeof *parts);
        parts[in->pick[i] % actions] = 1.0f;
        if (in->rows) in->rows[i] = in->pick[i] / actions;
    }
}

// Completes the inputs of a graph. Rows up to its size are padding: weight 0, and zeros everywhere
// else, since 0 times what an earlier batch left there may be no number.
static void load_batch(fgsf_bellman *bellman, const fgsf_batch *batch,
                       const fgsf_bellman_program *bp, int next, double factor) {
    const fgsf_bellman_params *p = &bellman->params;
    const fgsf_bellman_inputs *in = &bp->in;
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
        int row = i < pairs * n ? bellman->row[from] : last;
        int action = i < pairs * n ? batch->a_next[i] : 0;
        in->pick[bucket + i] = (states + row) * actions + action;
        in->pick_next[i] = row * actions + action;
    }
    load_masks(in, (bucket + bucket * n), actions);
    *in->one = 1.0f;
    load_targets(p, in, batch, factor);
    size_t padding = (size_t)(bucket - pairs), features = (size_t)p->shape.features;
    memset(in->weight + pairs, 0, padding * sizeof(float));
    memset(in->y + (size_t)pairs * features, 0, padding * features * sizeof(float));
    memset(in->error_coef + pairs * n, 0, padding * (size_t)n * sizeof(float));
    memset(in->grad_coef + pairs * n, 0, padding * (size_t)n * sizeof(float));
}

// Brings what the graph could not write in place into the flat gradient.
static void collect_gradients(fgsf_bellman *bellman, const fgsf_bellman_program *bp) {
    const fgsf_leaves *of[2] = {&bp->online, &bp->error};
    for (int k = 0; k < 2; k++) {
        if (bp->program.whole && bellman->gradient[k]) fgsf_network_moved(bellman->gradient[k]);
        for (int i = 0; i < of[k]->count && !bp->program.whole; i++) {
            const struct ggml_tensor *g = bp->gradients[k][i];
            float *place = fgsf_network_edit(bellman->gradient[k]) + of[k]->offsets[i];
            if (g && g->data != place) {
                ggml_backend_tensor_get(g, place, 0, ggml_nbytes(g));
                if (bellman->device->resident) {
                    bellman->device->counts.bytes_down += ggml_nbytes(g);
                }
            }
        }
    }
}

// The weight decay of the error network.
static void add_decay(fgsf_bellman *bellman, const fgsf_network *error) {
    float beta = (float)bellman->params.h_beta, *gradient = fgsf_network_edit(bellman->gradient[1]);
    const float *theta = fgsf_network_parameters(error);
    size_t size = beta > 0.0f ? fgsf_network_size(error) : 0;
    for (size_t i = 0; i < size; i++) {
        gradient[i] += beta * theta[i];
    }
}

// Brings the loss, and the norms behind it, from where the graph left them.
static void read_results(const fgsf_bellman *bellman, const fgsf_bellman_program *bp,
                         float results[3]) {
    if (!bp->program.whole) {
        ggml_backend_tensor_get(bp->loss, results, 0, sizeof *results);
        if (bellman->device->resident) bellman->device->counts.bytes_down += sizeof *results;
        return;
    }
    const float *host = ggml_backend_buffer_get_base(bellman->buffer);
    const float *there = ggml_backend_buffer_get_base(bellman->there);
    const fgsf_bellman_inputs *in = &bp->in;
    size_t count = (size_t)(in->results[bp->steps ? 2 : 0] - in->results[0]) + 1;
    fgsf_device_download(bellman->device, bellman->there, there + (in->results[0] - host),
                         in->results[0], count);
    for (int k = 0; k < (bp->steps ? 3 : 1); k++) results[k] = *in->results[k];
}

static fgsf_status check_networks(const fgsf_bellman_params *p, const fgsf_network *net,
                                  const fgsf_network *other) {
    const char *what = fgsf_bellman_has_error(p) ? "error" : "target";
    if ((other != NULL) != (fgsf_bellman_has_target(p) || fgsf_bellman_has_error(p))) {
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

static fgsf_status check_run(const fgsf_bellman *bellman, const fgsf_batch *batch,
                             const fgsf_network *net, const fgsf_network *other) {
    FGSF_REQUIRE(bellman && batch);
    FGSF_TRY(check_batch(&bellman->params, batch));
    FGSF_TRY(check_states(&bellman->params, batch));
    return check_networks(&bellman->params, net, other);
}

static fgsf_status bind(fgsf_bellman *bellman, fgsf_bellman_program *bp, const fgsf_network *net,
                        const fgsf_network *other, const fgsf_step *steps) {
    const fgsf_bellman_params *p = &bellman->params;
    fgsf_device *device = bellman->device;
    fgsf_status status = fgsf_leaves_bind(&bp->online, net, device);
    if (status == FGSF_OK) {
        status = fgsf_leaves_bind(&bp->frozen, fgsf_bellman_has_target(p) ? other : net, device);
    }
    if (status == FGSF_OK && fgsf_bellman_has_error(p)) {
        status = fgsf_leaves_bind(&bp->error, other, device);
    }
    if (status == FGSF_OK && bp->decayed) {
        const fgsf_copy *copy = fgsf_network_own_copy(other);
        fgsf_tensor_place(bp->decayed, copy->slab->buffer, fgsf_copy_data(copy));
    }
    for (int k = 0; k < 2 && steps && status == FGSF_OK; k++) {
        if (steps[k].net) status = fgsf_step_bind(&bp->step[k], &steps[k], device);
    }
    return status;
}

// Runs the graph for a batch, with the steps where there are any; the loss and, of an update, the
// squared norms go to `results`.
static fgsf_status run(fgsf_bellman *bellman, const fgsf_batch *batch, const fgsf_network *net,
                       const fgsf_network *other, const fgsf_step *steps, float results[3]) {
    const fgsf_bellman_params *p = &bellman->params;
    fgsf_device *device = bellman->device;
    fgsf_bellman_program *bp;
    int next = load_states(bellman, batch);
    FGSF_TRY(find_program(bellman, batch->pairs, num_states(batch), next,
                          !batch->state && !batch->next, steps != NULL, &bp));
    double denominator = batch->denominator > 0.0 ? batch->denominator : batch->pairs;
    load_batch(bellman, batch, bp, next,
               fgsf_loss_factor(p->loss_scale, denominator, p->shape.features, p->shape.actions));
    FGSF_TRY(bind(bellman, bp, net, other, steps));
    for (int k = 0; k < 2 && steps; k++) {
        if (steps[k].net) fgsf_optimizer_advance(steps[k].opt, steps[k].lr, bp->in.numbers[k]);
    }
    if (bellman->there) {
        fgsf_device_upload(device, bellman->there, ggml_backend_buffer_get_base(bellman->there),
                           bp->in.s, bp->in.uploaded);
    }
    FGSF_TRY(fgsf_program_run(&bp->program, device));
    collect_gradients(bellman, bp);
    if (fgsf_bellman_has_error(p) && !bp->program.whole) {
        add_decay(bellman, other);
    }
    // Without the padding, which takes part in the same proportion everywhere.
    bellman->flops =
        bp->program.flops * (num_states(batch) + next) / (double)(bp->states * (1 + bp->spread));
    read_results(bellman, bp, results);
    return FGSF_OK;
}

fgsf_status fgsf_bellman_run(fgsf_bellman *bellman, const fgsf_batch *batch,
                             const fgsf_network *net, const fgsf_network *other, double *loss) {
    float results[3];
    fgsf_status status = check_run(bellman, batch, net, other);
    if (status == FGSF_OK) status = run(bellman, batch, net, other, NULL, results);
    if (status == FGSF_OK && loss) *loss = results[0];
    return status;
}

bool fgsf_bellman_updates(const fgsf_bellman *bellman) {
    return bellman->num_programs > 0 && bellman->programs[0].program.whole;
}

fgsf_status fgsf_bellman_update(fgsf_bellman *bellman, const fgsf_batch *batch,
                                const fgsf_step steps[2], const fgsf_network *other, double *loss,
                                double *norm) {
    fgsf_plan plan = fgsf_plan_of(steps);
    float results[3] = {0};
    FGSF_TRY(check_run(bellman, batch, steps[0].net, other));
    if (!fgsf_plan_equal(&plan, &bellman->plan)) forget_programs(bellman);
    bellman->plan = plan;
    FGSF_TRY(run(bellman, batch, steps[0].net, other, steps, results));
    for (int k = 0; k < 2; k++) {
        if (steps[k].net) fgsf_step_moved(&steps[k]);
    }
    *loss = results[0];
    *norm = sqrt(results[1]);
    float worst = isfinite(results[1]) && steps[1].net ? results[2] : results[1];
    if (isfinite(*loss) && !isfinite(worst)) {
        return fgsf_fail(FGSF_DIVERGED, "the gradient's norm is %g", sqrt(worst));
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
