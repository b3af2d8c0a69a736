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

void *theory_zeros(theory_report *report, size_t count, size_t size) {
    void *array = calloc(count, size);
    if (!array) report->status = fgsf_fail(FGSF_ERR_MEMORY, "theory: out of memory");
    return array;
}

void theory_problem_open(theory_report *report, const fgsf_bellman_params *params,
                         theory_problem *p) {
    *p = (theory_problem){.report = report, .params = *params, .h_rate = 1.0};
    if (report->status != FGSF_OK) return;
    size_t pairs = (size_t)params->max_pairs, next = pairs * (size_t)params->samples;
    size_t input = (size_t)params->shape.input, features = (size_t)params->shape.features;
    p->s = theory_zeros(report, pairs * input, sizeof *p->s);
    p->s_next = theory_zeros(report, next * input, sizeof *p->s_next);
    p->y = theory_zeros(report, next * features, sizeof *p->y);
    p->discount = theory_zeros(report, next, sizeof *p->discount);
    p->weight = theory_zeros(report, pairs, sizeof *p->weight);
    p->a = theory_zeros(report, pairs, sizeof *p->a);
    p->a_next = theory_zeros(report, next, sizeof *p->a_next);
    p->batch = (fgsf_batch){.s = p->s,
                            .a = p->a,
                            .y = p->y,
                            .s_next = p->s_next,
                            .a_next = p->a_next,
                            .discount = p->discount,
                            .weight = p->weight};
    p->num_nets = fgsf_gradient_needs(params->kind).error_network ? 2 : 1;
    for (int i = 0; i < p->num_nets; i++) {
        THEORY_TRY(report, fgsf_network_create(&params->shape, &p->nets[i]));
    }
    THEORY_TRY(report, fgsf_bellman_create(report->device, params, &p->bellman));
    theory_use_steps(p, FGSF_SGD);
}

void theory_use_steps(theory_problem *p, enum fgsf_opt_kind kind) {
    fgsf_optimizer_params params = fgsf_optimizer_default_params();
    params.kind = kind;
    for (int i = 0; i < p->num_nets; i++) {
        fgsf_optimizer_free(p->optimizers[i]);
        p->optimizers[i] = NULL;
        THEORY_TRY(p->report, fgsf_optimizer_create(&params, p->nets[i], &p->optimizers[i]));
    }
}

void theory_keep_double(theory_problem *p) {
    for (int i = 0; i < p->num_nets; i++) {
        size_t size = fgsf_network_num_parameters(&p->params.shape);
        p->master[i] = theory_zeros(p->report, size, sizeof *p->master[i]);
        for (size_t k = 0; k < size && p->report->status == FGSF_OK; k++) {
            p->master[i][k] = fgsf_network_parameters(p->nets[i])[k];
        }
    }
}

void theory_problem_close(theory_problem *p) {
    for (int i = 0; i < 2; i++) {
        fgsf_optimizer_free(p->optimizers[i]);
        fgsf_network_free(p->nets[i]);
        free(p->master[i]);
    }
    fgsf_bellman_free(p->bellman);
    void *arrays[] = {p->s, p->s_next, p->y, p->discount, p->weight, p->a, p->a_next};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
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

void theory_add_cycle(theory_problem *p, bool ends, double gamma, double weight) {
    int states = p->params.shape.input;
    for (int i = 0; i < states; i++) {
        double y[THEORY_MAX_FEATURES] = {0};
        bool last = i == states - 1;
        y[i] = 1.0;
        theory_add_transition(p, i, 0, weight, last ? 0 : i + 1, 0, last && ends ? 0.0 : gamma, y);
    }
}

void theory_open_cycle(theory_report *report, int states, bool ends, double gamma, double eta,
                       double weight, theory_problem *p) {
    fgsf_bellman_params params = theory_table(states, 1, states, states);
    params.grad_mix = eta;
    theory_problem_open(report, &params, p);
    theory_add_cycle(p, ends, gamma, weight);
}

void theory_evaluate(theory_problem *p, const float *rho, const float *states, int rows,
                     float *out) {
    fgsf_gpe *gpe = NULL;
    THEORY_TRY(p->report, fgsf_gpe_create(p->report->device, &p->params.shape, rows, &gpe));
    THEORY_TRY(p->report, rho ? fgsf_gpe_run(gpe, p->nets[0], rho, 1, states, rows, out)
                              : fgsf_gpe_representation(gpe, p->nets[0], states, rows, out));
    fgsf_gpe_free(gpe);
}

double theory_loss(theory_problem *p) {
    THEORY_TRY(p->report,
               fgsf_bellman_run(p->bellman, &p->batch, p->nets[0], p->nets[1], &p->loss));
    return p->report->status == FGSF_OK ? p->loss : NAN;
}

double theory_step(theory_problem *p, double alpha) {
    double loss = theory_loss(p);
    const float *gradients[2] = {fgsf_bellman_gradient(p->bellman),
                                 fgsf_bellman_error_gradient(p->bellman)};
    for (int i = 0; i < p->num_nets && p->report->status == FGSF_OK; i++) {
        double rate = i ? p->h_rate * alpha : alpha;
        if (!p->master[i]) {
            p->report->status =
                fgsf_optimizer_step(p->optimizers[i], p->nets[i], gradients[i], rate, NULL);
            continue;
        }
        float *theta = fgsf_network_edit(p->nets[i]);
        for (size_t k = 0; k < fgsf_network_num_parameters(&p->params.shape); k++) {
            p->master[i][k] -= rate * gradients[i][k];
            theta[k] = (float)p->master[i][k];
        }
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
    return fgsf_network_parameters(p->nets[0])[place(p, state, action, feature)];
}

void theory_set(theory_problem *p, int state, int action, int feature, double value) {
    if (p->report->status != FGSF_OK) return;
    fgsf_network_edit(p->nets[0])[place(p, state, action, feature)] = (float)value;
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
    double *M = theory_zeros(p->report, (size_t)(n * n), sizeof *M);
    float *y =
        theory_zeros(p->report, (size_t)(p->params.max_pairs * p->params.samples * n), sizeof *y);
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
