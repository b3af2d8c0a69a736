// Every kind of Bellman gradient against its formula in double precision, against central differences
// with the factors frozen, and against what it must become in the limits (docs/gradients.md).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/device.h"
#include "support_assert.h"
#include "support_devices.h"
#include "support_problem.h"
#include "support_reference.h"

#define LIMIT 1e-5
#define PAIRS 9

static fgsf_device *devices[NUM_DEVICES];
static float weights[PAIRS]; // of the problem at hand

static const enum fgsf_gradient_kind kinds[] = {
    FGSF_SEMI, FGSF_FULL, FGSF_MIX, FGSF_CORRECTED, FGSF_GTD2, FGSF_BIDIRECTIONAL, FGSF_CONVERGENT};
#define NUM_KINDS (int)(sizeof kinds / sizeof *kinds)

// A problem with the other network that its kind needs.
typedef struct kind_problem {
    problem *p;
    fgsf_network *other; // NULL without one
    double *theta, *theta_other;
    size_t size;
} kind_problem;

static kind_problem create(enum fgsf_gradient_kind kind, int features, bool weighted,
                           enum fgsf_activation activation) {
    fgsf_network_shape shape = problem_shape(activation);
    shape.features = features;
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.max_pairs = PAIRS;
    params.kind = kind;
    fgsf_gradient_need need = fgsf_gradient_needs(kind);
    bool part = kind == FGSF_MIX || kind == FGSF_BIDIRECTIONAL || (need.error_network && weighted);
    params.grad_mix = part ? 0.3 : 1.0;
    kind_problem k = {.p = problem_create(&params, PAIRS, 40 + (uint64_t)kind)};
    fgsf_rng rng = fgsf_rng_make(9, (uint64_t)kind);
    k.size = fgsf_network_flat_size(&shape);
    k.theta = reference_parameters(k.p->net);
    if (need.error_network || need.target_network) {
        if (fgsf_network_create(&shape, &k.other) != FGSF_OK) abort();
        fgsf_network_init(k.other, FGSF_UNIFORM_FAN_IN, &rng);
        k.theta_other = reference_parameters(k.other);
    }
    for (int b = 0; b < PAIRS; b++) weights[b] = (float)(0.25 + fgsf_rng_uniform(&rng));
    k.p->batch.weight = weighted ? weights : NULL;
    return k;
}

static void destroy(kind_problem *k) {
    problem_free(k->p);
    fgsf_network_free(k->other);
    free(k->theta);
    free(k->theta_other);
}

// x(s, a) of one row: F numbers of (A, F).
static void value_of(const fgsf_network_shape *shape, const double *theta, const float *s,
                     double *x) {
    reference_forward(shape, theta, s, x);
}

static double dot(const double *u, const double *v, int n) {
    double sum = 0.0;
    for (int f = 0; f < n; f++) sum += u[f] * v[f];
    return sum;
}

// The scalar whose gradient in theta, at theta = frozen, is the kind's direction: what is a constant
// there is computed from `frozen`. Also the loss that is reported.
static double objective(const kind_problem *k, const double *theta, const double *frozen,
                        double *loss) {
    const fgsf_bellman_params *p = &k->p->params;
    const fgsf_network_shape *shape = &p->shape;
    int F = shape->features;
    double factor = fgsf_loss_factor(p->loss_scale, PAIRS, F, shape->actions), total = 0.0;
    double x[4][64], delta[4][8];
    *loss = 0.0;
    for (int b = 0; b < PAIRS; b++) {
        const float *s = k->p->s + b * shape->input, *s_next = k->p->s_next + b * shape->input;
        double d = k->p->discount[b];
        double w = factor * (k->p->batch.weight ? (double)k->p->batch.weight[b] : 1.0);
        const double *of[4] = {theta, theta, frozen, frozen};
        for (int i = 0; i < 4; i++) value_of(shape, of[i], i % 2 ? s_next : s, x[i]);
        double *now = x[0] + k->p->a[b] * F, *next = x[1] + k->p->a_next[b] * F;
        double *now0 = x[2] + k->p->a[b] * F, *next0 = x[3] + k->p->a_next[b] * F;
        double h[64], bar[64], bar_next[64];
        if (k->other) {
            value_of(shape, k->theta_other, s, h);
            memcpy(bar, h, sizeof bar);
            value_of(shape, k->theta_other, s_next, bar_next);
        }
        const double *hs = h + k->p->a[b] * F, *bars = bar + k->p->a[b] * F;
        const double *bars_next = bar_next + k->p->a_next[b] * F;
        for (int f = 0; f < F; f++) {
            double y = k->p->y[b * F + f];
            delta[0][f] = y + d * next0[f] - now0[f]; // a constant
            switch (p->kind) {
            case FGSF_SEMI:
            case FGSF_FULL:
            case FGSF_MIX: {
                double eta = p->kind == FGSF_SEMI ? 0 : p->kind == FGSF_FULL ? 1 : p->grad_mix;
                delta[1][f] = y + d * (eta * next[f] + (1 - eta) * next0[f]) - now[f];
                break;
            }
            case FGSF_BIDIRECTIONAL:
                delta[1][f] = y + d * bars_next[f] - now[f];
                delta[2][f] = y + d * next[f] - bars[f];
                break;
            case FGSF_CONVERGENT:
                delta[1][f] = y + d * bars_next[f] - now[f];
                delta[2][f] = y + d * next[f] - now[f];
                delta[3][f] = y + d * bars_next[f] - now0[f];
                break;
            default:
                break;
            }
        }
        switch (p->kind) {
        case FGSF_SEMI:
        case FGSF_FULL:
        case FGSF_MIX:
            total += w * dot(delta[1], delta[1], F);
            *loss += w * dot(delta[0], delta[0], F);
            break;
        case FGSF_CORRECTED:
        case FGSF_GTD2: {
            const double *e1 = p->kind == FGSF_CORRECTED ? delta[0] : hs;
            total += 2 * w * (p->grad_mix * d * dot(hs, next, F) - dot(e1, now, F));
            *loss += w * dot(delta[0], delta[0], F);
            break;
        }
        case FGSF_BIDIRECTIONAL: {
            double both = dot(delta[1], delta[1], F) + p->grad_mix * dot(delta[2], delta[2], F);
            total += w * both;
            *loss += w * both;
            break;
        }
        case FGSF_CONVERGENT: {
            bool first = dot(delta[3], delta[3], F) > dot(delta[0], delta[0], F);
            total += w * dot(delta[first ? 1 : 2], delta[first ? 1 : 2], F);
            *loss += w * fmax(dot(delta[3], delta[3], F), dot(delta[0], delta[0], F));
            break;
        }
        }
    }
    return total;
}

// The error network's own loss, with delta constant.
static double error_objective(const kind_problem *k, const double *theta_h) {
    const fgsf_bellman_params *p = &k->p->params;
    const fgsf_network_shape *shape = &p->shape;
    int F = shape->features;
    double factor = fgsf_loss_factor(p->loss_scale, PAIRS, F, shape->actions), total = 0.0;
    for (int b = 0; b < PAIRS; b++) {
        double x[64], x_next[64], h[64];
        value_of(shape, k->theta, k->p->s + b * shape->input, x);
        value_of(shape, k->theta, k->p->s_next + b * shape->input, x_next);
        value_of(shape, theta_h, k->p->s + b * shape->input, h);
        double w = factor * (k->p->batch.weight ? (double)k->p->batch.weight[b] : 1.0);
        for (int f = 0; f < F; f++) {
            int at = k->p->a[b] * F + f, next = k->p->a_next[b] * F + f;
            double delta = k->p->y[b * F + f] + (double)k->p->discount[b] * x_next[next] - x[at];
            total += w * (delta - h[at]) * (delta - h[at]);
        }
    }
    for (size_t i = 0; i < k->size; i++) total += 0.5 * p->h_beta * theta_h[i] * theta_h[i];
    return total;
}

typedef struct answer {
    double loss;
    float *gradient, *error;
} answer;

static answer run(const kind_problem *k, const fgsf_network *other, int device) {
    fgsf_bellman *bellman = NULL;
    answer a = {.gradient = calloc(k->size, sizeof(float)),
                .error = calloc(k->size, sizeof(float))};
    if (fgsf_bellman_create(devices[device], &k->p->params, &bellman) != FGSF_OK ||
        fgsf_bellman_run(bellman, &k->p->batch, k->p->net, other, &a.loss) != FGSF_OK) {
        fprintf(stderr, "%s\n", fgsf_last_error());
        abort();
    }
    memcpy(a.gradient, fgsf_bellman_gradient(bellman), k->size * sizeof(float));
    const float *error = fgsf_bellman_error_gradient(bellman);
    if (error) memcpy(a.error, error, k->size * sizeof(float));
    fgsf_bellman_free(bellman);
    return a;
}

static void answer_free(answer *a) {
    free(a->gradient);
    free(a->error);
}

static double *differences(const kind_problem *k, const double *at, bool of_error) {
    const double h = 1e-6;
    double *moved = reference_zeros(k->size), *gradient = reference_zeros(k->size), loss;
    memcpy(moved, at, k->size * sizeof *moved);
    for (size_t i = 0; i < k->size; i++) {
        double values[2];
        for (int side = 0; side < 2; side++) {
            moved[i] = at[i] + (side ? h : -h);
            values[side] = of_error ? error_objective(k, moved) : objective(k, moved, at, &loss);
        }
        moved[i] = at[i];
        gradient[i] = (values[1] - values[0]) / (2 * h);
    }
    free(moved);
    return gradient;
}

// ---- Against double precision ---------------------------------------------------------------------

TEST matches_differences(int kind, int features, bool weighted, int device) {
    kind_problem k = create(kinds[kind], features, weighted, FGSF_SILU);
    k.p->params.h_beta = k.other ? 0.01 : 0.0;
    double loss, *truth = differences(&k, k.theta, false);
    objective(&k, k.theta, k.theta, &loss);
    answer a = run(&k, k.other, device);
    ASSERT_BELOW("gradient", reference_error(a.gradient, truth, k.size), LIMIT);
    ASSERT_BELOW("loss", fabs(a.loss - loss), LIMIT * fabs(loss));
    if (fgsf_gradient_needs(kinds[kind]).error_network) {
        double *truth_h = differences(&k, k.theta_other, true);
        ASSERT_BELOW("error gradient", reference_error(a.error, truth_h, k.size), LIMIT);
        free(truth_h);
    }
    free(truth);
    answer_free(&a);
    destroy(&k);
    PASS();
}

// A check that cannot fail proves nothing: no kind passes for another one.
TEST tells_kinds_apart(void) {
    for (int i = 0; i < NUM_KINDS; i++) {
        kind_problem k = create(kinds[i], 3, false, FGSF_SILU);
        double *truth = differences(&k, k.theta, false);
        for (int j = 0; j < NUM_KINDS; j++) {
            fgsf_gradient_need a = fgsf_gradient_needs(kinds[i]), b = fgsf_gradient_needs(kinds[j]);
            bool same_other =
                a.error_network == b.error_network && a.target_network == b.target_network;
            if (i == j || !same_other) continue;
            k.p->params.kind = kinds[j];
            answer other = run(&k, k.other, 0);
            bool same = kinds[i] == FGSF_FULL && kinds[j] == FGSF_MIX; // grad_mix is 1 there
            if (!same) {
                ASSERT_BELOW("control", 0.01, reference_error(other.gradient, truth, k.size));
            }
            answer_free(&other);
        }
        free(truth);
        destroy(&k);
    }
    PASS();
}

// ---- Limits ---------------------------------------------------------------------------------------

static double largest_difference(const float *a, const float *b, size_t size) {
    double most = 0.0, largest = 0.0;
    for (size_t i = 0; i < size; i++) {
        double off = fabs((double)a[i] - b[i]);
        most = off > most || isnan(off) ? off : most;
        largest = fmax(largest, fabs((double)b[i]));
    }
    return most / largest;
}

static answer run_as(kind_problem *k, enum fgsf_gradient_kind kind, const fgsf_network *target) {
    fgsf_bellman_params before = k->p->params;
    k->p->params.kind = kind;
    k->p->params.target_network = target != NULL;
    answer a = run(k, target, 0);
    k->p->params = before;
    return a;
}

// With h = 0 corrected is the semi-gradient, and gtd2 does not move.
TEST without_error_it_is_semi(void) {
    kind_problem k = create(FGSF_CORRECTED, 3, true, FGSF_RELU);
    memset(fgsf_network_edit(k.other), 0, k.size * sizeof(float));
    answer corrected = run(&k, k.other, 0), semi = run_as(&k, FGSF_SEMI, NULL);
    ASSERT_BELOW("semi", largest_difference(corrected.gradient, semi.gradient, k.size), LIMIT);
    k.p->params.kind = FGSF_GTD2;
    answer gtd2 = run(&k, k.other, 0);
    for (size_t i = 0; i < k.size; i++) ASSERT_EQ(0.0f, gtd2.gradient[i]);
    answer_free(&corrected);
    answer_free(&semi);
    answer_free(&gtd2);
    destroy(&k);
    PASS();
}

// One pair and an error network that is a bias alone: h can be set to the sample's error exactly, and
// corrected and gtd2 are then the full gradient.
TEST with_the_error_itself_it_is_full(void) {
    const enum fgsf_gradient_kind both[] = {FGSF_CORRECTED, FGSF_GTD2};
    for (int i = 0; i < 2; i++) {
        kind_problem k = create(both[i], 3, false, FGSF_SILU);
        const fgsf_network_shape *shape = &k.p->params.shape;
        int F = shape->features;
        k.p->batch.pairs = 1;
        k.p->discount[0] = 0.9f;
        double x[64], x_next[64];
        value_of(shape, k.theta, k.p->s, x);
        value_of(shape, k.theta, k.p->s_next, x_next);
        const fgsf_parameters *list = fgsf_network_get_parameters(k.other);
        float *h = fgsf_network_edit(k.other);
        memset(h, 0, k.size * sizeof(float));
        float *bias = h + list->list[list->count - 1].offset;
        for (int f = 0; f < F; f++) {
            double delta = k.p->y[f] + 0.9f * x_next[k.p->a_next[0] * F + f] - x[k.p->a[0] * F + f];
            bias[k.p->a[0] * F + f] = (float)delta;
        }
        answer kind = run(&k, k.other, 0), full = run_as(&k, FGSF_FULL, NULL);
        ASSERT_BELOW("full", largest_difference(kind.gradient, full.gradient, k.size), LIMIT);
        answer_free(&kind);
        answer_free(&full);
        destroy(&k);
    }
    PASS();
}

// With xbar = x, bidirectional at eta = 1 has the gradient of full and twice its loss, and convergent
// takes the second loss on ties, so it is full.
TEST with_its_own_target_it_is_full(void) {
    kind_problem k = create(FGSF_BIDIRECTIONAL, 3, true, FGSF_SILU);
    k.p->params.grad_mix = 1.0;
    answer both = run(&k, k.p->net, 0), full = run_as(&k, FGSF_FULL, NULL);
    ASSERT_BELOW("bidirectional", largest_difference(both.gradient, full.gradient, k.size), LIMIT);
    ASSERT_BELOW("its loss", fabs(both.loss - 2.0 * full.loss), LIMIT * full.loss);
    k.p->params.kind = FGSF_CONVERGENT;
    answer convergent = run(&k, k.p->net, 0);
    ASSERT_BELOW("convergent", largest_difference(convergent.gradient, full.gradient, k.size),
                 LIMIT);
    ASSERT_BELOW("its loss", fabs(convergent.loss - full.loss), LIMIT * full.loss);
    answer_free(&both);
    answer_free(&full);
    answer_free(&convergent);
    destroy(&k);
    PASS();
}

// With xbar far away the lagged loss is the larger one everywhere it bootstraps: convergent is the
// semi-gradient with a target network.
TEST with_a_far_target_it_is_semi(void) {
    kind_problem k = create(FGSF_CONVERGENT, 3, true, FGSF_SILU);
    float *far = fgsf_network_edit(k.other);
    for (size_t i = 0; i < k.size; i++) far[i] *= 50.0f;
    for (int b = 0; b < PAIRS; b++) k.p->discount[b] = 0.9f;
    answer convergent = run(&k, k.other, 0), semi = run_as(&k, FGSF_SEMI, k.other);
    ASSERT_BELOW("semi", largest_difference(convergent.gradient, semi.gradient, k.size), LIMIT);
    answer_free(&convergent);
    answer_free(&semi);
    destroy(&k);
    PASS();
}

// ---- Refusals -------------------------------------------------------------------------------------

TEST refuses_what_makes_no_sense(void) {
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    const struct {
        enum fgsf_gradient_kind kind;
        int samples;
        enum fgsf_estimator estimator;
        bool target;
        const char *says;
    } bad[] = {
        {FGSF_CORRECTED, 3, FGSF_SHARED, false, "bellman.samples"},
        {FGSF_GTD2, 1, FGSF_SHARED, true, "bellman.grad_mix"},
        {FGSF_CORRECTED, 1, FGSF_SHARED, true, "bellman.grad_mix"}, // even where eta is 0
        {FGSF_FULL, 1, FGSF_SHARED, true, "bellman.grad_mix"},
        {FGSF_CONVERGENT, 4, FGSF_SPLIT, false, "bellman.estimator"},
        {(enum fgsf_gradient_kind)NUM_KINDS, 1, FGSF_SHARED, false, "bellman.kind"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
        fgsf_bellman *bellman = NULL;
        params.kind = bad[i].kind;
        params.samples = bad[i].samples;
        params.estimator = bad[i].estimator;
        params.split = 2;
        params.grad_mix = bad[i].kind == FGSF_CORRECTED ? 0.0 : 1.0;
        params.target_network = bad[i].target;
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_bellman_create(devices[0], &params, &bellman));
        ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), bad[i].says));
    }
    kind_problem k = create(FGSF_CORRECTED, 3, false, FGSF_RELU);
    fgsf_bellman *bellman = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_bellman_create(devices[0], &k.p->params, &bellman));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_bellman_run(bellman, &k.p->batch, k.p->net, NULL, NULL));
    ASSERT(strstr(fgsf_last_error(), "the error network is configured but not given"));
    fgsf_bellman_free(bellman);
    destroy(&k);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    for (int d = 0; d < NUM_DEVICES; d++) {
        if (fgsf_device_open(device_names[d], &devices[d]) != FGSF_OK) return 1;
    }
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        for (int way = 0; way < 4 * NUM_DEVICES; way++) {
            RUN_TESTp(matches_differences, kind, way & 1 ? 4 : 1, way & 2, way >> 2);
        }
    }
    RUN_TEST(tells_kinds_apart);
    RUN_TEST(without_error_it_is_semi);
    RUN_TEST(with_the_error_itself_it_is_full);
    RUN_TEST(with_its_own_target_it_is_full);
    RUN_TEST(with_a_far_target_it_is_semi);
    RUN_TEST(refuses_what_makes_no_sense);
    for (int d = 0; d < NUM_DEVICES; d++) fgsf_device_free(devices[d]);
    GREATEST_MAIN_END();
}
