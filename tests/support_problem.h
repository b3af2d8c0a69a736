// Random Bellman problems for tests: a network and a batch of a given shape, from a seed.
//
//     problem *p = problem_create(&params, 13, 7);
//     fgsf_bellman_run(bellman, &p->batch, p->net, p->target, &loss);
//     problem_free(p);
#ifndef FGSF_SUPPORT_PROBLEM_H
#define FGSF_SUPPORT_PROBLEM_H

#include "fgsf/bellman.h"

// The arrays are writable under the same names; `batch` points to them.
typedef struct problem {
    fgsf_bellman_params params;
    fgsf_network *net, *target; // target is NULL unless params.target_network
    fgsf_batch batch;
    float *s, *y, *s_next, *discount;
    int32_t *a, *a_next;
} problem;

// T1's network: 5-8-8-(2x3) with biases.
fgsf_network_shape problem_shape(enum fgsf_activation activation);

// Draws a problem: uniform_fan_in parameters, normal states and targets, discount 0.9 with every
// third sample terminal (0). Out of memory ends the test.
problem *problem_create(const fgsf_bellman_params *params, int pairs, uint64_t seed);
void problem_free(problem *p);

#endif
