// A decision problem as a batch for the library's Bellman graph, and the steps taken on it.
//
// States enter one-hot; a linear problem (Baird) writes its own inputs into `s` and `s_next`.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "theory.h"

fgsf_bellman_params theory_table(int states, int actions, int features, int pairs) {
    fgsf_network_shape shape = {.input = states, .actions = actions, .features = features};
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.loss_scale = FGSF_SUM;
    params.max_pairs = pairs;
    return params;
}

static bool allocate(theory_problem *p) {
    size_t pairs = (size_t)p->params.max_pairs, next = pairs * (size_t)p->params.samples;
    size_t input = (size_t)p->params.shape.input, features = (size_t)p->params.shape.features;
    p->s = calloc(pairs * input, sizeof *p->s);
    p->s_next = calloc(next * input, sizeof *p->s_next);
    p->y = calloc(next * features, sizeof *p->y);
    p->discount = calloc(next, sizeof *p->discount);
    p->weight = calloc(pairs, sizeof *p->weight);
    p->a = calloc(pairs, sizeof *p->a);
    p->a_next = calloc(next, sizeof *p->a_next);
    return p->s && p->s_next && p->y && p->discount && p->weight && p->a && p->a_next;
}

void theory_problem_open(theory_report *report, const fgsf_bellman_params *params,
                         theory_problem *p) {
    *p = (theory_problem){.report = report, .params = *params};
    if (report->status != FGSF_OK) return;
    if (!allocate(p)) {
        report->status = fgsf_fail(FGSF_ERR_MEMORY, "theory: out of memory");
        return;
    }
    p->batch = (fgsf_batch){.s = p->s,
                            .a = p->a,
                            .y = p->y,
                            .s_next = p->s_next,
                            .a_next = p->a_next,
                            .discount = p->discount,
                            .weight = p->weight};
    fgsf_optimizer_params sgd = fgsf_optimizer_default_params();
    sgd.kind = FGSF_SGD;
    report->status = fgsf_network_create(&params->shape, &p->net);
    if (report->status == FGSF_OK) {
        report->status = fgsf_bellman_create(report->device, params, &p->bellman);
    }
    if (report->status == FGSF_OK) {
        report->status = fgsf_optimizer_create(&sgd, p->net, &p->optimizer);
    }
}

void theory_problem_close(theory_problem *p) {
    fgsf_optimizer_free(p->optimizer);
    fgsf_bellman_free(p->bellman);
    fgsf_network_free(p->net);
    free(p->s);
    free(p->s_next);
    free(p->y);
    free(p->discount);
    free(p->weight);
    free(p->a);
    free(p->a_next);
    *p = (theory_problem){0};
}

int theory_add_pair(theory_problem *p, int state, int action, double weight) {
    if (p->report->status != FGSF_OK) return 0;
    if (p->batch.pairs >= p->params.max_pairs) {
        p->report->status =
            fgsf_fail(FGSF_ERR_INVALID, "theory: more than %d pairs", p->params.max_pairs);
        return 0;
    }
    int pair = p->batch.pairs++;
    size_t input = (size_t)p->params.shape.input;
    p->s[(size_t)pair * input + (size_t)state] = 1.0f;
    p->a[pair] = action;
    p->weight[pair] = (float)weight;
    return pair;
}

void theory_set_sample(theory_problem *p, int pair, int sample, int next_state, int next_action,
                       double discount, const double *y) {
    if (p->report->status != FGSF_OK) return;
    size_t input = (size_t)p->params.shape.input, features = (size_t)p->params.shape.features;
    size_t row = (size_t)pair * (size_t)p->params.samples + (size_t)sample;
    memset(p->s_next + row * input, 0, input * sizeof(float));
    p->s_next[row * input + (size_t)next_state] = 1.0f;
    p->a_next[row] = next_action;
    p->discount[row] = (float)discount;
    for (size_t f = 0; f < features; f++) p->y[row * features + f] = y ? (float)y[f] : 0.0f;
}

int theory_add_transition(theory_problem *p, int state, int action, double weight, int next_state,
                          int next_action, double discount, const double *y) {
    int pair = theory_add_pair(p, state, action, weight);
    for (int i = 0; i < p->params.samples; i++) {
        theory_set_sample(p, pair, i, next_state, next_action, discount, y);
    }
    return pair;
}

double theory_loss(theory_problem *p) {
    if (p->report->status == FGSF_OK) {
        p->report->status = fgsf_bellman_run(p->bellman, &p->batch, p->net, NULL, &p->loss);
    }
    return p->report->status == FGSF_OK ? p->loss : NAN;
}

double theory_step(theory_problem *p, double alpha) {
    double loss = theory_loss(p);
    if (p->report->status == FGSF_OK) {
        p->report->status = fgsf_optimizer_step(p->optimizer, p->net,
                                                fgsf_bellman_gradient(p->bellman), alpha, NULL);
    }
    return loss;
}

double theory_step_master(theory_problem *p, double alpha, double *master) {
    double loss = theory_loss(p);
    if (p->report->status != FGSF_OK) return loss;
    const float *gradient = fgsf_bellman_gradient(p->bellman);
    float *theta = fgsf_network_edit(p->net);
    for (size_t i = 0, n = fgsf_network_num_parameters(&p->params.shape); i < n; i++) {
        master[i] -= alpha * gradient[i];
        theta[i] = (float)master[i];
    }
    return loss;
}

// Where x(s, a, f) stands in the network: weights are (outputs, input), feature fastest in outputs.
static size_t place(const theory_problem *p, int state, int action, int feature) {
    int row = action * p->params.shape.features + feature;
    return (size_t)row * (size_t)p->params.shape.input + (size_t)state;
}

double theory_get(const theory_problem *p, int state, int action, int feature) {
    if (p->report->status != FGSF_OK) return NAN;
    return fgsf_network_parameters(p->net)[place(p, state, action, feature)];
}

void theory_set(theory_problem *p, int state, int action, int feature, double value) {
    if (p->report->status != FGSF_OK) return;
    fgsf_network_edit(p->net)[place(p, state, action, feature)] = (float)value;
}

// One Jacobi rotation that clears M[i][j] of a symmetric matrix.
static void rotate(double *M, int n, int i, int j) {
    double off = M[i * n + j];
    if (off == 0.0) return;
    double theta = 0.5 * atan2(2.0 * off, M[j * n + j] - M[i * n + i]);
    double c = cos(theta), s = sin(theta);
    for (int k = 0; k < n; k++) {
        double a = M[i * n + k], b = M[j * n + k];
        M[i * n + k] = c * a - s * b;
        M[j * n + k] = s * a + c * b;
    }
    for (int k = 0; k < n; k++) {
        double a = M[k * n + i], b = M[k * n + j];
        M[k * n + i] = c * a - s * b;
        M[k * n + j] = s * a + c * b;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void theory_curvature(theory_problem *p, double *eigenvalues) {
    int n = p->params.shape.input;
    double *M = calloc((size_t)(n * n), sizeof *M);
    float *y = calloc((size_t)(p->params.max_pairs * p->params.samples * n), sizeof *y);
    if (!M || !y) p->report->status = fgsf_fail(FGSF_ERR_MEMORY, "theory: out of memory");
    for (int i = 0; i < n * n; i++) theory_set(p, i % n, 0, i / n, i % n == i / n);
    p->batch.y = y; // the gradient without the constant term
    theory_loss(p);
    p->batch.y = p->y;
    if (p->report->status == FGSF_OK) {
        const float *g = fgsf_bellman_gradient(p->bellman);
        for (int i = 0; i < n * n; i++) M[i] = 0.5 * ((double)g[i] + g[i % n * n + i / n]);
        for (int sweep = 0; sweep < 30; sweep++) {
            for (int i = 0; i < n; i++) {
                for (int j = i + 1; j < n; j++) rotate(M, n, i, j);
            }
        }
        for (int i = 0; i < n; i++) eigenvalues[i] = M[i * n + i];
        qsort(eigenvalues, (size_t)n, sizeof *eigenvalues, ascending);
    }
    free(M);
    free(y);
}
