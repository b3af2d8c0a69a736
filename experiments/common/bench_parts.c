// Makes the parts of an update and runs them one at a time; see the header.
#include "bench_parts.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "fgsf/stats.h"

static bool allocate(fgsf_parts *p, size_t pairs, size_t features) {
    const struct {
        void **place;
        size_t count;
    } arrays[] = {
        {(void **)&p->s, pairs * FGSF_PARTS_INPUT},
        {(void **)&p->s_next, pairs * FGSF_PARTS_INPUT},
        {(void **)&p->y, pairs * features},
        {(void **)&p->discount, pairs},
        {(void **)&p->rho, features},
        {(void **)&p->q, pairs * FGSF_PARTS_ACTIONS},
        {(void **)&p->a, pairs},
        {(void **)&p->a_next, pairs},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].place = calloc(arrays[i].count, sizeof(float)); // an index is as large
        good = good && *arrays[i].place;
    }
    return good;
}

static void fill(fgsf_parts *p, int pairs, int features) {
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    for (int i = 0; i < pairs * FGSF_PARTS_INPUT; i++) {
        p->s[i] = (float)(fgsf_rng_uniform(&rng) < 0.2);
        p->s_next[i] = (float)(fgsf_rng_uniform(&rng) < 0.2);
    }
    for (int i = 0; i < pairs; i++) {
        p->a[i] = (int32_t)fgsf_rng_below(&rng, FGSF_PARTS_ACTIONS);
        p->a_next[i] = (int32_t)fgsf_rng_below(&rng, FGSF_PARTS_ACTIONS);
        p->discount[i] = 0.95f;
    }
    for (int i = 0; i < pairs * features; i++) p->y[i] = (float)fgsf_rng_uniform(&rng);
    for (int f = 0; f < features; f++) p->rho[f] = 1.0f;
    fgsf_network_init(p->net, FGSF_NORMAL_FAN_IN, &rng);
    if (p->other) fgsf_network_init(p->other, FGSF_NORMAL_FAN_IN, &rng);
    p->batch = (fgsf_batch){.pairs = pairs,
                            .s = p->s,
                            .a = p->a,
                            .y = p->y,
                            .s_next = p->s_next,
                            .a_next = p->a_next,
                            .discount = p->discount};
}

fgsf_status fgsf_parts_open(fgsf_parts *p, enum fgsf_gradient_kind kind, bool target, int batch,
                            int width, int features) {
    *p = (fgsf_parts){.kind = kind,
                      .shape = {.input = FGSF_PARTS_INPUT,
                                .num_hidden = 2,
                                .hidden = {width, width},
                                .actions = FGSF_PARTS_ACTIONS,
                                .features = features,
                                .bias = true}};
    fgsf_gradient_need need = fgsf_gradient_needs(kind);
    fgsf_bellman_params params = fgsf_bellman_default_params(&p->shape);
    params.max_pairs = batch;
    params.kind = kind;
    params.grad_mix = kind == FGSF_MIX ? 0.5 : 1.0;
    params.target_network = target;
    fgsf_optimizer_params opt = fgsf_optimizer_default_params();
    opt.clip = 1.0;
    fgsf_status status =
        allocate(p, (size_t)batch, (size_t)features)
            ? fgsf_device_open("auto", &p->device)
            : fgsf_fail(FGSF_ERR_MEMORY, "no memory for a batch of %d pairs", batch);
    if (status == FGSF_OK) status = fgsf_network_create(&p->shape, &p->net);
    if (status == FGSF_OK && (target || need.error_network || need.target_network)) {
        status = fgsf_network_create(&p->shape, &p->other);
    }
    if (status == FGSF_OK) status = fgsf_bellman_create(p->device, &params, &p->bellman);
    if (status == FGSF_OK) status = fgsf_gpe_create(p->device, &p->shape, batch, &p->gpe);
    if (status == FGSF_OK) status = fgsf_optimizer_create(&opt, p->net, &p->opt);
    if (status == FGSF_OK && need.error_network) {
        status = fgsf_optimizer_create(&opt, p->other, &p->error_opt);
    }
    if (status == FGSF_OK) fill(p, batch, features);
    return status;
}

void fgsf_parts_close(fgsf_parts *p) {
    void *arrays[] = {p->s, p->s_next, p->y, p->discount, p->rho, p->q, p->a, p->a_next};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    fgsf_optimizer_free(p->error_opt);
    fgsf_optimizer_free(p->opt);
    fgsf_gpe_free(p->gpe);
    fgsf_bellman_free(p->bellman);
    fgsf_network_free(p->other);
    fgsf_network_free(p->net);
    fgsf_device_free(p->device);
    *p = (fgsf_parts){0};
}

fgsf_status fgsf_parts_gradient(fgsf_parts *p) {
    double loss;
    return fgsf_bellman_run(p->bellman, &p->batch, p->net, p->other, &loss);
}

fgsf_status fgsf_parts_optimize(fgsf_parts *p) {
    double norm, rate = 1e-9; // the same numbers at every call
    fgsf_status status =
        fgsf_optimizer_step(p->opt, p->net, fgsf_bellman_gradient(p->bellman), rate, &norm);
    if (status == FGSF_OK && p->error_opt) {
        status = fgsf_optimizer_step(p->error_opt, p->other,
                                     fgsf_bellman_error_gradient(p->bellman), rate, &norm);
    }
    return status;
}

fgsf_status fgsf_parts_update(fgsf_parts *p) {
    FGSF_TRY(fgsf_parts_gradient(p));
    return fgsf_parts_optimize(p);
}

fgsf_status fgsf_parts_evaluate(fgsf_parts *p) {
    fgsf_network_edit(p->net); // counts as a change
    return fgsf_gpe_run(p->gpe, p->net, p->rho, 1, p->s_next, p->batch.pairs, p->q);
}

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double fgsf_bench_cpu_seconds(void) {
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double fgsf_bench_wall_seconds(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

double fgsf_bench_quantile(const double *values, int n, double q) {
    double out = NAN;
    return n > 0 && fgsf_stats_quantile(values, (size_t)n, q, &out) == FGSF_OK ? out : NAN;
}
