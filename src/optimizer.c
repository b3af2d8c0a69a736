// Clip and step over a flat buffer. The loops are written so that the compiler vectorises them.
#include "update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clones.h"
#include "denormals.h"
#include "require.h"

#define LARGEST_RATE 1e30 // a float, after Adam's correction of its first steps too
#define MOST_STEPS ((int64_t)1 << 53)
#define LINE 16      // numbers of a cache line
#define AHEAD 512    // numbers ahead of the step for which memory is asked
#define SHARED 16384 // numbers, at least, of a thread's part: some 3 us

struct fgsf_optimizer {
    fgsf_optimizer_params params;
    size_t size;
    int64_t steps;
    float *moments[2];         // NULL for SGD
    fgsf_copy copies[2];       // of the moments, on a device that has memory of its own
    fgsf_parameters list;      // how they are laid out
    const fgsf_device *device; // whose threads help with a step; NULL: none
};

fgsf_optimizer_params fgsf_optimizer_default_params(void) {
    return (fgsf_optimizer_params){.kind = FGSF_ADAM,
                                   .beta1 = 0.9,
                                   .beta2 = 0.999,
                                   .eps = 1e-8,
                                   .rm_k0 = 1000.0,
                                   .rm_power = 0.75};
}

static fgsf_status check_params(const fgsf_optimizer_params *p) {
    const fgsf_check checks[] = {
        {"kind", p->kind, p->kind == FGSF_ADAM || p->kind == FGSF_SGD || p->kind == FGSF_SGD_RM},
        {"grad_clip", p->clip, p->clip >= 0.0},
        {"beta1", p->beta1, p->kind != FGSF_ADAM || (p->beta1 >= 0.0 && p->beta1 < 1.0)},
        {"beta2", p->beta2, p->kind != FGSF_ADAM || (p->beta2 >= 0.0 && p->beta2 < 1.0)},
        {"eps", p->eps, p->kind != FGSF_ADAM || p->eps > 0.0},
        {"rm_k0", p->rm_k0, p->kind != FGSF_SGD_RM || p->rm_k0 > 0.0},
        {"rm_power", p->rm_power, p->kind != FGSF_SGD_RM || p->rm_power >= 0.0},
    };
    return fgsf_check_all("opt", checks, sizeof checks / sizeof *checks);
}

fgsf_status fgsf_optimizer_create(const fgsf_optimizer_params *params, const fgsf_network *net,
                                  fgsf_optimizer **out) {
    FGSF_REQUIRE(params && net && out);
    fgsf_status status = check_params(params);
    if (status != FGSF_OK) {
        return status;
    }
    fgsf_optimizer *opt = calloc(1, sizeof *opt);
    if (!opt) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an optimiser");
    }
    opt->params = *params;
    opt->size = fgsf_network_size(net);
    opt->list = *fgsf_network_get_parameters(net);
    for (int i = 0; i < 2 && params->kind == FGSF_ADAM; i++) {
        opt->moments[i] = calloc(opt->size, sizeof(float));
        if (!opt->moments[i]) {
            fgsf_optimizer_free(opt);
            return fgsf_fail(FGSF_ERR_MEMORY, "no memory for an optimiser");
        }
    }
    *out = opt;
    return FGSF_OK;
}

void fgsf_optimizer_free(fgsf_optimizer *opt) {
    if (opt) {
        for (int i = 0; i < 2; i++) {
            fgsf_copy_free(&opt->copies[i]);
            free(opt->moments[i]);
        }
        free(opt);
    }
}

// Sums in 16 lanes, in double precision, always in the same order.
FGSF_CLONES static double squared_norm(const float *g, size_t size) {
    double lanes[16] = {0};
    size_t i = 0;
    for (; i + 16 <= size; i += 16) {
        for (size_t j = 0; j < 16; j++) {
            lanes[j] += (double)g[i + j] * g[i + j];
        }
    }
    for (; i < size; i++) {
        lanes[0] += (double)g[i] * g[i];
    }
    double sum = 0.0;
    for (size_t j = 0; j < 16; j++) {
        sum += lanes[j];
    }
    return sum;
}

// A step of Adam over a stretch.
typedef struct adam {
    float scale, b1, b2, c1, c2, eps, step, root;
    float *theta, *m, *v;
    const float *g;
    size_t offset, count;
} adam;

// theta -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps), as PyTorch orders it.
static inline __attribute__((always_inline)) void adam_numbers(const adam *f, float *restrict theta,
                                                               const float *restrict g,
                                                               float *restrict m, float *restrict v,
                                                               size_t count) {
    for (size_t i = 0; i < count; i++) {
        float gi = f->scale * g[i];
        m[i] = f->b1 * m[i] + f->c1 * gi;
        v[i] = f->b2 * v[i] + f->c2 * gi * gi;
        theta[i] -= f->step * m[i] / (sqrtf(v[i]) * f->root + f->eps);
    }
}

// The moments of a policy have left the cache since its last step, so they are asked for ahead.
FGSF_CLONES static void adam_part(const void *what, int part, int parts) {
    const adam f = *(const adam *)what;
    size_t lines = f.count / LINE, i = f.offset + lines * (size_t)part / (size_t)parts * LINE;
    size_t end = f.offset + lines * ((size_t)part + 1) / (size_t)parts * LINE;
    for (; i < end; i += LINE) {
        __builtin_prefetch(f.theta + i + AHEAD, 1);
        __builtin_prefetch(f.m + i + AHEAD, 1);
        __builtin_prefetch(f.v + i + AHEAD, 1);
        adam_numbers(&f, f.theta + i, f.g + i, f.m + i, f.v + i, LINE);
    }
    if (part + 1 == parts) {
        adam_numbers(&f, f.theta + i, f.g + i, f.m + i, f.v + i, f.count % LINE);
    }
}

static void adam_step(fgsf_optimizer *opt, float *theta, const float *g, float scale,
                      const fgsf_stretch *at) {
    const fgsf_optimizer_params *p = &opt->params;
    double t = (double)at->steps;
    adam f = {.scale = scale,
              .b1 = (float)p->beta1,
              .b2 = (float)p->beta2,
              .c1 = (float)(1.0 - p->beta1),
              .c2 = (float)(1.0 - p->beta2),
              .eps = (float)p->eps,
              .step = (float)(at->lr / (1.0 - pow(p->beta1, t))),
              .root = (float)(1.0 / sqrt(1.0 - pow(p->beta2, t))),
              .theta = theta,
              .m = fgsf_optimizer_moment(opt, 0),
              .v = fgsf_optimizer_moment(opt, 1),
              .g = g,
              .offset = at->offset,
              .count = at->count};
    fgsf_pool *pool = opt->device ? opt->device->pool : NULL;
    int most = 2 * fgsf_pool_threads(pool),
        parts = at->count < SHARED * (size_t)most ? (int)(at->count / SHARED) : most;
    if (pool && parts > 1) {
        fgsf_pool_run(pool, adam_part, &f, parts);
    } else {
        adam_part(&f, 0, 1);
    }
}

FGSF_CLONES static void sgd_step(float *restrict theta, const float *restrict g, float scale,
                                 const fgsf_stretch *at) {
    float step = (float)at->lr * scale;
    for (size_t i = at->offset; i < at->offset + at->count; i++) {
        theta[i] -= step * g[i];
    }
}

static double rate_of(const fgsf_optimizer_params *p, double lr, int64_t steps) {
    bool robbins_monro = p->kind == FGSF_SGD_RM;
    return robbins_monro ? lr * pow(p->rm_k0 / (p->rm_k0 + (double)(steps - 1)), p->rm_power) : lr;
}

static fgsf_status check_stretch(const fgsf_optimizer *opt, const fgsf_stretch *at) {
    if (at->offset > opt->size || at->count > opt->size - at->offset) {
        return fgsf_fail(FGSF_ERR_INVALID, "optimiser: %zu numbers from %zu on of %zu", at->count,
                         at->offset, opt->size);
    }
    if (!(fabs(at->lr) <= LARGEST_RATE)) {
        return fgsf_fail(FGSF_ERR_INVALID, "optimiser: the learning rate is %g", at->lr);
    }
    return FGSF_OK;
}

fgsf_status fgsf_optimizer_step_stretches(fgsf_optimizer *opt, fgsf_network *net,
                                          const float *gradient, const fgsf_stretch *stretches,
                                          int count, double *norm) {
    FGSF_REQUIRE(opt && net && gradient && stretches && count >= 0);
    const fgsf_optimizer_params *p = &opt->params;
    if (fgsf_network_size(net) != opt->size) {
        return fgsf_fail(FGSF_ERR_INVALID, "the optimiser was made for a network of another shape");
    }
    for (int k = 0; k < count; k++) {
        FGSF_TRY(check_stretch(opt, &stretches[k]));
    }
    double length = sqrt(squared_norm(gradient, opt->size));
    if (norm) {
        *norm = length;
    }
    if (!isfinite(length)) {
        return fgsf_fail(FGSF_DIVERGED, "the gradient's norm is %g", length);
    }
    float scale = p->clip > 0.0 && length > p->clip ? (float)(p->clip / (length + 1e-6)) : 1.0f;
    float *theta = fgsf_network_edit(net);
    opt->steps++;
    for (int k = 0; k < count; k++) {
        fgsf_stretch at = stretches[k];
        at.steps = at.steps > 0 ? at.steps : opt->steps;
        at.lr = rate_of(p, at.lr, at.steps);
        if (p->kind == FGSF_ADAM) {
            unsigned before = fgsf_denormals_flush();
            adam_step(opt, theta, gradient, scale, &at);
            fgsf_denormals_restore(before);
        } else {
            sgd_step(theta, gradient, scale, &at);
        }
    }
    return FGSF_OK;
}

fgsf_status fgsf_optimizer_step(fgsf_optimizer *opt, fgsf_network *net, const float *gradient,
                                double lr, double *norm) {
    FGSF_REQUIRE(opt && net && gradient);
    fgsf_stretch all = {.count = opt->size, .lr = lr};
    return fgsf_optimizer_step_stretches(opt, net, gradient, &all, 1, norm);
}

void fgsf_optimizer_share(fgsf_optimizer *opt, const fgsf_device *device) {
    opt->device = device;
}

int64_t fgsf_optimizer_steps(const fgsf_optimizer *opt) {
    if (!opt) return 0;
    return opt->steps;
}

void fgsf_optimizer_set_steps(fgsf_optimizer *opt, int64_t steps) {
    if (opt && steps >= 0 && steps <= MOST_STEPS) opt->steps = steps;
}

// The caller may write, so the copy on a device counts as old afterwards.
float *fgsf_optimizer_moment(fgsf_optimizer *opt, int which) {
    if (!opt || which < 0 || which > 1) return NULL;
    fgsf_copy_fetch(&opt->copies[which], &opt->list, opt->moments[which]);
    opt->copies[which].device_old = true;
    return opt->moments[which];
}

// ---- As part of a graph -------------------------------------------------------------------------

const fgsf_optimizer_params *fgsf_optimizer_get_params(const fgsf_optimizer *opt) {
    return &opt->params;
}

// ggml's Adam takes 1 - beta in single precision, where 1 - 0.999 is off by 1.3e-5. Moments are linear
// in it, so the factors that correct their bias make up for it.
void fgsf_optimizer_advance(fgsf_optimizer *opt, double lr, float numbers[FGSF_STEP_NUMBERS]) {
    const fgsf_optimizer_params *p = &opt->params;
    double t = (double)++opt->steps;
    memset(numbers, 0, FGSF_STEP_NUMBERS * sizeof *numbers);
    numbers[0] = (float)rate_of(p, lr, opt->steps);
    if (p->kind != FGSF_ADAM) return;
    float b1 = (float)p->beta1, b2 = (float)p->beta2;
    numbers[1] = b1;
    numbers[2] = b2;
    numbers[3] = (float)p->eps;
    numbers[5] = (float)((1.0 - p->beta1) / (double)(1.0f - b1) / (1.0 - pow(p->beta1, t)));
    numbers[6] = (float)((1.0 - p->beta2) / (double)(1.0f - b2) / (1.0 - pow(p->beta2, t)));
}

fgsf_status fgsf_optimizer_copies(fgsf_optimizer *opt, fgsf_device *device,
                                  const fgsf_copy *out[2]) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < 2 && status == FGSF_OK; i++) {
        out[i] = &opt->copies[i];
        status = fgsf_copy_update(&opt->copies[i], device, &opt->list, opt->moments[i]);
    }
    return status;
}

void fgsf_optimizer_moved(fgsf_optimizer *opt) {
    for (int i = 0; i < 2; i++) opt->copies[i].host_old = opt->copies[i].slab != NULL;
}
