// T1: gradients through ggml against float64 central differences, for every way of taking them, on
// every device; with the negative control that tells full from semi. Then bits, padding, weights,
// and what must be refused.
#include "fgsf/bellman.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support_assert.h"
#include "support_devices.h"
#include "support_problem.h"
#include "support_reference.h"

#define LIMIT 1e-5 // float32 through ggml, relative to the largest entry

static fgsf_device *devices[NUM_DEVICES];
static double worst; // the largest error seen against central differences

// A gradient and its loss, copied out of the graph.
typedef struct result {
    double loss;
    float *gradient;
} result;

static fgsf_bellman *make_bellman(fgsf_device *device, const fgsf_bellman_params *params) {
    fgsf_bellman *bellman = NULL;
    if (fgsf_bellman_create(device, params, &bellman) != FGSF_OK) {
        fprintf(stderr, "%s\n", fgsf_last_error());
        abort();
    }
    return bellman;
}

static result run(fgsf_bellman *bellman, const problem *p) {
    size_t bytes = fgsf_network_flat_size(&p->params.shape) * sizeof(float);
    result r = {.gradient = malloc(bytes)};
    if (fgsf_bellman_run(bellman, &p->batch, p->net, p->target, &r.loss) != FGSF_OK) {
        fprintf(stderr, "%s\n", fgsf_last_error());
        abort();
    }
    memcpy(r.gradient, fgsf_bellman_gradient(bellman), bytes);
    return r;
}

static result run_once(fgsf_device *device, const problem *p) {
    fgsf_bellman *bellman = make_bellman(device, &p->params);
    result r = run(bellman, p);
    fgsf_bellman_free(bellman);
    return r;
}

static bool same_bits(const problem *p, const result *a, const result *b) {
    size_t bytes = fgsf_network_flat_size(&p->params.shape) * sizeof(float);
    return a->loss == b->loss && memcmp(a->gradient, b->gradient, bytes) == 0;
}

// What the reference says about a problem.
typedef struct truth {
    double loss;
    double *gradient;
} truth;

static truth solve_exactly(const problem *p) {
    double *theta = reference_parameters(p->net);
    double *target = p->target ? reference_parameters(p->target) : NULL;
    truth t = {.gradient = reference_zeros(fgsf_network_flat_size(&p->params.shape))};
    t.loss = reference_bellman(&p->params, &p->batch, theta, target, t.gradient);
    free(theta);
    free(target);
    return t;
}

// The error of loss and gradient, whichever is larger.
static double compare(const problem *p, const result *r, const truth *t) {
    double error =
        reference_error(r->gradient, t->gradient, fgsf_network_flat_size(&p->params.shape));
    return worse(error, r->loss == t->loss ? 0.0 : fabs(r->loss - t->loss) / fabs(t->loss));
}

static double error_of(const problem *p, const result *r) {
    truth t = solve_exactly(p);
    double error = compare(p, r, &t);
    free(t.gradient);
    return error;
}

// Draws a problem; with ReLU, one whose pre-activations all keep away from the kink.
static problem *draw(const fgsf_bellman_params *params, int pairs, uint64_t seed) {
    for (;; seed += 1000) {
        problem *p = problem_create(params, pairs, seed);
        double *theta = reference_parameters(p->net);
        double margin = reference_margin(params, &p->batch, theta);
        free(theta);
        if (params->shape.activation != FGSF_RELU || margin > 1e-3) {
            return p;
        }
        problem_free(p);
    }
}

// ---- T1 ------------------------------------------------------------------------------------------

// One way of taking the gradient.
static const struct way {
    const char *name;
    double grad_mix;
    int samples;
    enum fgsf_estimator estimator;
    int split;
    bool target_network;
    enum fgsf_loss_scale loss_scale;
} ways[] = {
    {"full", 1.0, 1, FGSF_SHARED, 0, false, FGSF_HALF_MEAN},
    {"semi", 0.0, 1, FGSF_SHARED, 0, false, FGSF_HALF_MEAN},
    {"mix 0.25", 0.25, 1, FGSF_SHARED, 0, false, FGSF_HALF_MEAN},
    {"mix 0.5", 0.5, 1, FGSF_SHARED, 0, false, FGSF_MEAN},
    {"averaged", 1.0, 3, FGSF_SHARED, 0, false, FGSF_HALF_MEAN},
    {"averaged mix", 0.3, 3, FGSF_SHARED, 0, false, FGSF_SUM},
    {"averaged semi", 0.0, 3, FGSF_SHARED, 0, false, FGSF_HALF_MEAN},
    {"split 1 of 3", 1.0, 3, FGSF_SPLIT, 1, false, FGSF_HALF_MEAN},
    {"split 2 of 3", 1.0, 3, FGSF_SPLIT, 2, false, FGSF_DOUBLE_SUM},
    {"split mix", 0.4, 4, FGSF_SPLIT, 2, false, FGSF_HALF_MEAN},
    {"split semi", 0.0, 3, FGSF_SPLIT, 2, false, FGSF_HALF_MEAN},
    {"critic only", 1.0, 3, FGSF_CRITIC_ONLY, 0, false, FGSF_HALF_MEAN},
    {"critic only mix", 0.7, 3, FGSF_CRITIC_ONLY, 0, false, FGSF_MEAN_ACTIONS},
    {"critic only semi", 0.0, 3, FGSF_CRITIC_ONLY, 0, false, FGSF_HALF_MEAN},
    {"target network", 0.0, 1, FGSF_SHARED, 0, true, FGSF_HALF_MEAN},
    {"target network averaged", 0.0, 3, FGSF_SHARED, 0, true, FGSF_MEAN},
    {"target network split", 0.0, 3, FGSF_SPLIT, 2, true, FGSF_HALF_MEAN},
};
#define NUM_WAYS (int)(sizeof ways / sizeof *ways)

static fgsf_bellman_params way_params(int way, enum fgsf_activation activation) {
    fgsf_network_shape shape = problem_shape(activation);
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.max_pairs = 4;
    params.grad_mix = ways[way].grad_mix;
    params.samples = ways[way].samples;
    params.estimator = ways[way].estimator;
    params.split = ways[way].split;
    params.target_network = ways[way].target_network;
    params.loss_scale = ways[way].loss_scale;
    return params;
}

TEST matches_differences(int way, enum fgsf_activation activation) {
    fgsf_bellman_params params = way_params(way, activation);
    problem *p = draw(&params, 4, (uint64_t)way);
    size_t size = fgsf_network_flat_size(&params.shape);
    double *theta = reference_parameters(p->net), *by_hand = reference_zeros(size);
    double *target = p->target ? reference_parameters(p->target) : NULL;
    double *differences = reference_zeros(size);
    reference_differences(&params, &p->batch, theta, target, 1e-5, differences);
    double loss = reference_bellman(&params, &p->batch, theta, target, by_hand);
    double hand_error = 0.0, largest = 0.0;
    for (size_t i = 0; i < size; i++) {
        hand_error = worse(hand_error, fabs(differences[i] - by_hand[i]));
        largest = fmax(largest, fabs(by_hand[i]));
    }
    ASSERT_BELOW(ways[way].name, hand_error / largest, activation == FGSF_SILU ? 1e-7 : 1e-6);
    for (int d = 0; d < NUM_DEVICES; d++) {
        result r = run_once(devices[d], p);
        double error = reference_error(r.gradient, differences, size);
        worst = worse(worst, error);
        ASSERT_BELOW(ways[way].name, error, LIMIT);
        ASSERT_BELOW(ways[way].name, fabs(r.loss - loss), LIMIT * loss);
        free(r.gradient);
    }
    free(theta);
    free(target);
    free(by_hand);
    free(differences);
    problem_free(p);
    PASS();
}

SUITE(t1) {
    for (int way = 0; way < NUM_WAYS; way++) {
        RUN_TESTp(matches_differences, way, FGSF_RELU);
        RUN_TESTp(matches_differences, way, FGSF_SILU);
    }
    printf("\nworst error against central differences: %.2e\n", worst);
}

// A check that cannot fail proves nothing: the differences of the full loss must reject the
// semi-gradient, and those of the semi objective the full gradient.
TEST tells_full_from_semi(enum fgsf_activation activation) {
    for (int way = 0; way < 2; way++) {
        fgsf_bellman_params params = way_params(way, activation);
        problem *p = draw(&params, 4, 77);
        size_t size = fgsf_network_flat_size(&params.shape);
        double *theta = reference_parameters(p->net), *differences = reference_zeros(size);
        reference_differences(&params, &p->batch, theta, NULL, 1e-5, differences);
        p->params.grad_mix = 1.0 - params.grad_mix;
        result r = run_once(devices[0], p);
        ASSERT_BELOW("negative control", 0.05, reference_error(r.gradient, differences, size));
        free(r.gradient);
        free(theta);
        free(differences);
        problem_free(p);
    }
    PASS();
}

// g_eta = g_semi + eta (g_full - g_semi): to rounding through ggml, to 1e-12 in the reference.
TEST mixes_linearly(void) {
    static const double etas[] = {0.0, 0.25, 0.5, 1.0};
    fgsf_bellman_params params = way_params(0, FGSF_SILU);
    problem *p = draw(&params, 4, 5);
    size_t size = fgsf_network_flat_size(&params.shape);
    double *theta = reference_parameters(p->net);
    double *exact[3] = {reference_zeros(size), reference_zeros(size), reference_zeros(size)};
    double *mixed = reference_zeros(size);
    result ends[2];
    for (int i = 0; i < 2; i++) {
        p->params.grad_mix = i;
        reference_bellman(&p->params, &p->batch, theta, NULL, exact[i]);
        ends[i] = run_once(devices[0], p);
    }
    for (size_t e = 0; e < sizeof etas / sizeof *etas; e++) {
        p->params.grad_mix = etas[e];
        result r = run_once(devices[0], p);
        reference_bellman(&p->params, &p->batch, theta, NULL, exact[2]);
        double error = 0.0, largest = 0.0;
        for (size_t i = 0; i < size; i++) {
            double both = exact[0][i] + etas[e] * (exact[1][i] - exact[0][i]);
            error = worse(error, fabs(both - exact[2][i]));
            largest = fmax(largest, fabs(both));
            mixed[i] =
                ends[0].gradient[i] + etas[e] * ((double)ends[1].gradient[i] - ends[0].gradient[i]);
        }
        ASSERT_BELOW("in double", error, 1e-12 * largest);
        ASSERT_BELOW("in float", reference_error(r.gradient, mixed, size), LIMIT);
        free(r.gradient);
    }
    for (int i = 0; i < 3; i++) {
        free(exact[i]);
    }
    free(ends[0].gradient);
    free(ends[1].gradient);
    free(mixed);
    free(theta);
    problem_free(p);
    PASS();
}

// ---- Bits ----------------------------------------------------------------------------------------

// At T1's sizes, whatever BLAS there is. Not on `blas`: there the products are ggml's to place.
TEST full_equals_semi_when_all_is_terminal(enum fgsf_activation activation, int device) {
    for (int samples = 1; samples <= 3; samples += 2) {
        fgsf_bellman_params params = way_params(0, activation);
        params.samples = samples;
        problem *p = draw(&params, 4, 11);
        memset(p->discount, 0, 4 * (size_t)samples * sizeof(float));
        result full = run_once(devices[device], p);
        p->params.grad_mix = 0.0;
        result semi = run_once(devices[device], p);
        ASSERT(same_bits(p, &full, &semi));
        free(full.gradient);
        free(semi.gradient);
        problem_free(p);
    }
    PASS();
}

TEST repeats_bit_for_bit(int device) {
    for (int way = 0; way < NUM_WAYS; way++) {
        fgsf_bellman_params params = way_params(way, FGSF_RELU);
        params.max_pairs = 40;
        problem *p = draw(&params, 13, 3), *other = draw(&params, 40, 4);
        fgsf_bellman *bellman = make_bellman(devices[device], &params);
        result first = run(bellman, p), between = run(bellman, other), again = run(bellman, p);
        result fresh = run_once(devices[device], p);
        ASSERTm(ways[way].name, same_bits(p, &first, &again));
        ASSERTm(ways[way].name, same_bits(p, &first, &fresh));
        free(first.gradient);
        free(between.gradient);
        free(again.gradient);
        free(fresh.gradient);
        fgsf_bellman_free(bellman);
        problem_free(p);
        problem_free(other);
    }
    PASS();
}

// What a large diverged batch leaves in the padding must not reach a smaller one.
TEST forgets_earlier_batches(int device) {
    for (int way = 0; way < NUM_WAYS; way++) {
        fgsf_bellman_params params = way_params(way, FGSF_RELU);
        params.max_pairs = 16;
        problem *p = draw(&params, 11, 8), *bad = draw(&params, 16, 9);
        for (int i = 0; i < 16 * params.samples * params.shape.features; i++) {
            bad->y[i] = i % 2 ? INFINITY : NAN;
        }
        for (int i = 0; i < 16 * params.samples; i++) {
            bad->discount[i] = NAN;
        }
        fgsf_bellman *bellman = make_bellman(devices[device], &params);
        result clean = run(bellman, p), dirty = run(bellman, bad), again = run(bellman, p);
        ASSERTm(ways[way].name, !isfinite(dirty.loss));
        ASSERTm(ways[way].name, same_bits(p, &clean, &again));
        free(clean.gradient);
        free(dirty.gradient);
        free(again.gradient);
        fgsf_bellman_free(bellman);
        problem_free(p);
        problem_free(bad);
    }
    PASS();
}

// ---- Sizes ---------------------------------------------------------------------------------------

// Every batch size through one object: many buckets, any amount of padding.
TEST takes_every_batch_size(int device) {
    for (int way = 0; way < NUM_WAYS; way += 4) {
        fgsf_bellman_params params = way_params(way, FGSF_SILU);
        params.max_pairs = 90;
        problem *p = draw(&params, 90, 21);
        fgsf_bellman *bellman = make_bellman(devices[device], &params);
        for (int pairs = 90; pairs >= 1; pairs -= pairs > 20 ? 13 : 1) {
            p->batch.pairs = pairs;
            result r = run(bellman, p);
            ASSERT_BELOW(device_names[device], error_of(p, &r), LIMIT);
            free(r.gradient);
        }
        fgsf_bellman_free(bellman);
        problem_free(p);
    }
    PASS();
}

// 13 rows, alone or among 51 others of weight 0, in graphs of other sizes.
TEST pads_without_effect(int device) {
    fgsf_bellman_params params = way_params(4, FGSF_SILU);
    params.max_pairs = 64;
    problem *p = draw(&params, 64, 31);
    float weight[64] = {0};
    p->batch.pairs = 13;
    result alone = run_once(devices[device], p);
    double *expected = reference_zeros(fgsf_network_flat_size(&params.shape));
    for (size_t i = 0; i < fgsf_network_flat_size(&params.shape); i++) {
        expected[i] = alone.gradient[i];
    }
    for (int b = 0; b < 13; b++) {
        weight[b] = 1.0f;
    }
    p->batch.weight = weight;
    p->batch.denominator = 13.0;
    static const int sizes[] = {13, 16, 17, 24, 33, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        p->batch.pairs = sizes[i];
        result r = run_once(devices[device], p);
        ASSERT_BELOW(device_names[device],
                     reference_error(r.gradient, expected, fgsf_network_flat_size(&params.shape)),
                     2e-6);
        ASSERT_BELOW(device_names[device], fabs(r.loss - alone.loss), 1e-6 * alone.loss);
        free(r.gradient);
    }
    free(alone.gradient);
    free(expected);
    problem_free(p);
    PASS();
}

TEST weighs_rows(int device) {
    static const enum fgsf_loss_scale scales[] = {FGSF_HALF_MEAN, FGSF_MEAN, FGSF_SUM,
                                                  FGSF_DOUBLE_SUM, FGSF_MEAN_ACTIONS};
    for (int way = 0; way < NUM_WAYS; way++) {
        for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
            fgsf_bellman_params params = way_params(way, FGSF_RELU);
            params.max_pairs = 10;
            params.loss_scale = scales[k];
            problem *p = draw(&params, 10, 41);
            float weight[10] = {1.0f, 0.0f, 0.5f, 2.0f, 0.0f, 1.0f, 3.0f, 0.25f, 0.0f, 1.0f};
            p->batch.weight = weight;
            p->batch.denominator = k % 2 ? 7.0 : 0.0;
            result r = run_once(devices[device], p);
            ASSERT_BELOW(ways[way].name, error_of(p, &r), LIMIT);
            free(r.gradient);
            problem_free(p);
        }
    }
    PASS();
}

// Pairs with fewer samples than n, down to none: what exists is averaged, what is missing ignored.
TEST counts_present_samples(int device) {
    for (int way = 0; way < NUM_WAYS; way++) {
        fgsf_bellman_params params = way_params(way, FGSF_SILU);
        params.max_pairs = 9;
        problem *p = draw(&params, 9, 51);
        int32_t present[9];
        for (int b = 0; b < 9; b++) {
            present[b] = b % (params.samples + 1);
        }
        p->batch.present = present;
        result r = run_once(devices[device], p);
        ASSERT_BELOW(ways[way].name, error_of(p, &r), LIMIT);
        free(r.gradient);
        problem_free(p);
    }
    PASS();
}

// Every kind of network: none to eight hidden layers, one of everything, wide enough for BLAS.
static const fgsf_network_shape shapes[] = {
    {.input = 1, .actions = 1, .features = 1},
    {.input = 1, .actions = 1, .features = 1, .bias = true},
    {.input = 8, .actions = 1, .features = 3},
    {.input = 7, .actions = 4, .features = 1, .bias = true},
    {.input = 300, .actions = 1, .features = 1, .bias = true},
    {.input = 1, .num_hidden = 1, .hidden = {1}, .actions = 1, .features = 1, .bias = true},
    {.input = 6, .num_hidden = 1, .hidden = {33}, .actions = 9, .features = 8, .bias = false},
    {.input = 38, .num_hidden = 2, .hidden = {64, 64}, .actions = 4, .features = 4, .bias = true},
    {.input = 64, .num_hidden = 2, .hidden = {64, 48}, .actions = 32, .features = 1, .bias = false},
    {.input = 64, .num_hidden = 1, .hidden = {128}, .actions = 1, .features = 1, .bias = true},
    {.input = 50, .num_hidden = 3, .hidden = {128, 1, 128}, .actions = 40, .features = 1},
    {.input = 3,
     .num_hidden = 8,
     .hidden = {9, 8, 7, 6, 5, 6, 7, 8},
     .actions = 3,
     .features = 2,
     .bias = true},
};

TEST takes_every_shape(int shape, enum fgsf_activation activation) {
    for (int way = 0; way < NUM_WAYS; way++) {
        fgsf_bellman_params params = way_params(way, activation);
        params.shape = shapes[shape];
        params.shape.activation = activation;
        params.max_pairs = 24;
        problem *p = problem_create(&params, 24, 61 + (uint64_t)shape);
        truth t = solve_exactly(p);
        for (int d = 0; d < NUM_DEVICES; d++) {
            result r = run_once(devices[d], p);
            ASSERT_BELOW(ways[way].name, compare(p, &r, &t), LIMIT);
            free(r.gradient);
        }
        free(t.gradient);
        problem_free(p);
    }
    PASS();
}

// ---- Refusals ------------------------------------------------------------------------------------

TEST refuses_bad_parameters(void) {
    fgsf_bellman *bellman = NULL;
    fgsf_bellman_params good = way_params(0, FGSF_RELU), p;
#define REFUSED(change, field)                                                                     \
    p = good;                                                                                      \
    change;                                                                                        \
    ASSERT_REFUSED(fgsf_bellman_create(devices[0], &p, &bellman), field)
    REFUSED(p.max_pairs = 0, "bellman.max_pairs");
    REFUSED(p.max_pairs = 1 << 21, "bellman.max_pairs");
    REFUSED(p.samples = 0, "bellman.samples");
    REFUSED(p.samples = 1 << 17, "bellman.samples");
    REFUSED((p.max_pairs = 1 << 20, p.samples = 1 << 16), "bellman.max_pairs");
    REFUSED(p.grad_mix = 1.5, "bellman.grad_mix");
    REFUSED(p.grad_mix = -0.1, "bellman.grad_mix");
    REFUSED(p.grad_mix = NAN, "bellman.grad_mix");
    REFUSED(p.target_network = true, "bellman.grad_mix");
    REFUSED(p.estimator = FGSF_SPLIT, "bellman.split");
    REFUSED((p.estimator = FGSF_SPLIT, p.samples = 3, p.split = 3), "bellman.split");
    REFUSED((p.estimator = FGSF_SPLIT, p.samples = 3, p.split = 0), "bellman.split");
    REFUSED(p.estimator = (enum fgsf_estimator)9, "bellman.estimator");
    REFUSED(p.loss_scale = (enum fgsf_loss_scale)9, "bellman.loss_scale");
    REFUSED(p.shape.input = 0, "network.input");
    REFUSED(p.shape.hidden[1] = -1, "network.hidden[1]");
    REFUSED(p.shape.num_hidden = 9, "network.hidden");
#undef REFUSED
    p = good;
    p.shape.activation = (enum fgsf_activation)7; // tanh, say: ggml would abort
    ASSERT_EQ(FGSF_ERR_UNSUPPORTED, fgsf_bellman_create(devices[0], &p, &bellman));
    ASSERT_EQ(NULL, bellman);
    PASS();
}

TEST refuses_bad_batches(void) {
    fgsf_bellman_params params = way_params(4, FGSF_RELU);
    problem *p = draw(&params, 4, 71);
    fgsf_bellman *bellman = make_bellman(devices[0], &params);
    result before = run(bellman, p);
    fgsf_batch good = p->batch, b;
    int32_t present[4] = {3, 3, 3, 3};
    double loss = -1.0;
#define REFUSED(change, undo, field)                                                               \
    b = good;                                                                                      \
    change;                                                                                        \
    ASSERT_REFUSED(fgsf_bellman_run(bellman, &b, p->net, NULL, &loss), field);                     \
    undo
    REFUSED(b.pairs = 0, , "batch.pairs: 0 is not in [1, 4]");
    REFUSED(b.pairs = 5, , "batch.pairs: 5 is not in [1, 4]");
    REFUSED(p->a[3] = 2, p->a[3] = 0, "batch.a[3]: 2 is not in [0, 2)");
    REFUSED(p->a_next[11] = -1, p->a_next[11] = 0, "batch.a_next[11]: -1 is not in [0, 2)");
    REFUSED(b.denominator = -1.0, , "batch.denominator");
    REFUSED(b.denominator = NAN, , "batch.denominator");
    b.present = present;
    REFUSED((b.present = present, present[2] = 4), present[2] = 3, "batch.present[2]: 4");
    REFUSED((b.present = present, present[2] = -1), present[2] = 3, "batch.present[2]: -1");
#undef REFUSED
    ASSERT_REFUSED(fgsf_bellman_run(bellman, &good, p->net, p->net, &loss), "bellman: the target");
    fgsf_network *other = NULL;
    fgsf_network_shape shape = params.shape;
    shape.hidden[1]++;
    ASSERT_EQ(FGSF_OK, fgsf_network_create(&shape, &other));
    ASSERT_REFUSED(fgsf_bellman_run(bellman, &good, other, NULL, &loss),
                   "bellman: the network has another shape");
    ASSERT_EQ(-1.0, loss);
    p->a[3] = good.a[3];
    free(before.gradient);
    fgsf_network_free(other);
    fgsf_bellman_free(bellman);
    problem_free(p);
    PASS();
}

// The operations of a full-gradient run over this many rows: forward, weight gradient, input gradient
// of all layers but the first.
static double operations(int rows) {
    double weights = 5 * 8 + 8 * 8 + 8 * 6, first = 5 * 8;
    return 2.0 * rows * (3.0 * weights - first);
}

TEST counts_operations(void) {
    fgsf_bellman_params params = way_params(0, FGSF_RELU);
    problem *p = problem_create(&params, 4, 3);
    fgsf_bellman *bellman = make_bellman(devices[0], &params);
    result r = run(bellman, p);
    ASSERT_EQ_FMT(operations(4 + 4), fgsf_bellman_flops(bellman), "%g");
    free(r.gradient);
    fgsf_bellman_free(bellman);
    problem_free(p);
    PASS();
}

// ---- samples that are the same state ------------------------------------------------------------

// Makes sample i of every pair b the same state as sample i % (1 + (b + shift) % most); returns how
// many different next states are left. The samples keep their own y, a' and discount.
static int repeat_states(problem *p, int shift, int most) {
    int n = p->params.samples, left = 0;
    size_t input = (size_t)p->params.shape.input;
    for (int b = 0; b < p->batch.pairs; b++) {
        int different = 1 + (b + shift) % most;
        float *first = p->s_next + (size_t)(b * n) * input;
        for (int i = different; i < n; i++) {
            memcpy(first + (size_t)i * input, first + (size_t)(i % different) * input,
                   input * sizeof(float));
        }
        left += different < n ? different : n;
    }
    return left;
}

// Gives each of the different next states once, and where the samples stand among them.
static void name_states(problem *p, int shift, int most, float *s_next, int32_t *next) {
    int n = p->params.samples, at = 0;
    size_t input = (size_t)p->params.shape.input;
    for (int b = 0; b < p->batch.pairs; b++) {
        int different = 1 + (b + shift) % most;
        different = different < n ? different : n;
        memcpy(s_next + (size_t)at * input, p->s_next + (size_t)(b * n) * input,
               (size_t)different * input * sizeof(float));
        for (int i = 0; i < n; i++) next[b * n + i] = at + i % different;
        at += different;
    }
    p->batch.s_next = s_next;
    p->batch.next = next;
    p->batch.nexts = at;
}

TEST takes_repeated_states(int way, int device) {
    fgsf_bellman_params params = way_params(way, FGSF_SILU);
    params.max_pairs = 40;
    fgsf_bellman *bellman = make_bellman(devices[device], &params);
    for (int pairs = 1; pairs <= 40; pairs += 3) { // with one graph after the other, and padding
        for (int most = 1; most <= params.samples; most++) {
            problem *p = problem_create(&params, pairs, (uint64_t)(100 * pairs + most));
            int left = repeat_states(p, pairs, most);
            static float s_next[40 * 64 * 8];
            static int32_t next[40 * 64];
            name_states(p, pairs, most, s_next, next);
            ASSERT_EQ_FMT(left, p->batch.nexts, "%d");
            result r = run(bellman, p);
            if (params.grad_mix == 1.0 && params.estimator == FGSF_SHARED) {
                ASSERT_EQ_FMT(operations(pairs + left), fgsf_bellman_flops(bellman), "%g");
            }
            next[pairs - 1] = left;
            ASSERT_EQ(FGSF_ERR_INVALID,
                      fgsf_bellman_run(bellman, &p->batch, p->net, p->target, NULL));
            p->batch.next = NULL; // the reference knows no names
            p->batch.s_next = p->s_next;
            ASSERT(error_of(p, &r) <= LIMIT);
            free(r.gradient);
            problem_free(p);
        }
    }
    fgsf_bellman_free(bellman);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    for (int d = 0; d < NUM_DEVICES; d++) {
        if (fgsf_device_open(device_names[d], &devices[d]) != FGSF_OK) {
            fprintf(stderr, "%s\n", fgsf_last_error());
            return 1;
        }
    }
    RUN_SUITE(t1);
    RUN_TEST1(tells_full_from_semi, FGSF_SILU);
    RUN_TEST1(tells_full_from_semi, FGSF_RELU);
    RUN_TEST(mixes_linearly);
    for (int d = 0; d < NUM_DEVICES; d++) {
        if (d < 2) {
            RUN_TESTp(full_equals_semi_when_all_is_terminal, FGSF_SILU, d);
            RUN_TESTp(full_equals_semi_when_all_is_terminal, FGSF_RELU, d);
        }
        RUN_TEST1(repeats_bit_for_bit, d);
        RUN_TEST1(forgets_earlier_batches, d);
        RUN_TEST1(takes_every_batch_size, d);
        RUN_TEST1(pads_without_effect, d);
        RUN_TEST1(weighs_rows, d);
        RUN_TEST1(counts_present_samples, d);
    }
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        RUN_TESTp(takes_every_shape, i, FGSF_SILU);
        RUN_TESTp(takes_every_shape, i, FGSF_RELU);
    }
    RUN_TEST(refuses_bad_parameters);
    RUN_TEST(refuses_bad_batches);
    RUN_TEST(counts_operations);
    for (int way = 0; way < NUM_WAYS; way++) {
        for (int d = 0; d < NUM_DEVICES && ways[way].samples > 1; d++) {
            RUN_TESTp(takes_repeated_states, way, d);
        }
    }
    for (int d = 0; d < NUM_DEVICES; d++) {
        fgsf_device_free(devices[d]);
    }
    GREATEST_MAIN_END();
}
