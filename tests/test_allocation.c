// Nothing is allocated per step: after a first round, Bellman runs, optimiser steps and evaluations
// allocate nothing of their own. ggml itself takes and gives back two blocks of a few bytes whenever
// it computes a graph (or, on `blas`, each of a graph's pieces); that much is allowed, and no more.
//
// The program's own definitions of the allocation functions take precedence over the C library's, in
// this program and in every library it loads; they count and hand on. AddressSanitizer replaces the
// same functions, so there the test is skipped.
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__) && !defined(__linux__)
#include <stdio.h>

int main(void) {
    puts("skipped: the sanitizer replaces the functions that this test replaces");
    return 77;
}
#else

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fgsf/bellman.h"
#include "fgsf/gpe.h"
#include "fgsf/optimizer.h"
#include "support_assert.h"
#include "support_devices.h"
#include "support_problem.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static atomic_long allocations, frees, largest; // largest: bytes in one call

static void count(size_t size) {
    allocations++;
    if ((long)size > largest) {
        largest = (long)size;
    }
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t count_, size_t size) {
    count(count_ * size);
    return __libc_calloc(count_, size);
}

void *realloc(void *memory, size_t size) {
    count(size);
    frees += memory != NULL;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count(size);
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

void free(void *memory) {
    frees += memory != NULL;
    __libc_free(memory);
}

// One training step of the batch sizes and calls that a trainer makes.
typedef struct trainer {
    problem *problem;
    fgsf_bellman *bellman;
    fgsf_optimizer *optimizer;
    fgsf_gpe *gpe;
    float *q;
} trainer;

#define ROUNDS 20
#define GRAPHS (4 * 4) // in one step: a Bellman run and three evaluations at each size

static fgsf_status step(trainer *t) {
    static const int sizes[] = {64, 1, 13, 40};
    static const float rho[8] = {1.0f, -1.0f, 0.5f, 2.0f};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double loss, norm;
        problem *p = t->problem;
        p->batch.pairs = sizes[i];
        fgsf_status status = fgsf_bellman_run(t->bellman, &p->batch, p->net, p->target, &loss);
        if (status == FGSF_OK) {
            status = fgsf_optimizer_step(t->optimizer, p->net, fgsf_bellman_gradient(t->bellman),
                                         1e-3, &norm);
        }
        for (int num_rho = 1; num_rho <= 2 && status == FGSF_OK; num_rho++) {
            status = fgsf_gpe_run(t->gpe, p->net, rho, num_rho, p->s, sizes[i], t->q);
        }
        if (status == FGSF_OK) {
            status = fgsf_gpe_run_plain(t->gpe, p->net, rho, 2, p->s, sizes[i], t->q);
        }
        if (status != FGSF_OK) {
            return status;
        }
    }
    return FGSF_OK;
}

TEST steps_without_allocating(const char *name, double grad_mix, enum fgsf_estimator estimator) {
    fgsf_network_shape shape = {.input = 38,
                                .num_hidden = 2,
                                .hidden = {64, 64},
                                .actions = 4,
                                .features = 4,
                                .bias = true};
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.samples = 2;
    params.split = 1;
    params.grad_mix = grad_mix;
    params.estimator = estimator;
    fgsf_optimizer_params adam = fgsf_optimizer_default_params();
    adam.clip = 1.0;
    fgsf_device *device = NULL;
    trainer t = {.problem = problem_create(&params, 64, 1), .q = malloc(64 * 16 * sizeof(float))};
    ASSERT_OK(fgsf_device_open(name, &device));
    ASSERT_OK(fgsf_bellman_create(device, &params, &t.bellman));
    ASSERT_OK(fgsf_optimizer_create(&adam, t.problem->net, &t.optimizer));
    ASSERT_OK(fgsf_gpe_create(device, &shape, 64, &t.gpe));
    largest = 0;
    ASSERT_OK(step(&t)); // builds a graph for each size
    ASSERT(largest > 10000);
    long allocated = allocations, freed = frees;
    largest = 0;
    for (int i = 0; i < ROUNDS; i++) {
        ASSERT_OK(step(&t));
    }
    allocated = allocations - allocated;
    freed = frees - freed;
    ASSERT_EQ_FMTm(name, allocated, freed, "%ld");
    ASSERT_BELOW(name, largest, 129);
    if (strcmp(name, "blas") != 0) {
        ASSERT_BELOW(name, allocated, 2 * ROUNDS * GRAPHS + 1);
    }
    fgsf_gpe_free(t.gpe);
    fgsf_optimizer_free(t.optimizer);
    fgsf_bellman_free(t.bellman);
    fgsf_device_free(device);
    problem_free(t.problem);
    free(t.q);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    for (int d = 0; d < NUM_DEVICES; d++) {
        RUN_TESTp(steps_without_allocating, device_names[d], 1.0, FGSF_SHARED);
        RUN_TESTp(steps_without_allocating, device_names[d], 0.0, FGSF_SHARED);
        RUN_TESTp(steps_without_allocating, device_names[d], 0.5, FGSF_SPLIT);
    }
    GREATEST_MAIN_END();
}

#endif
