// Draws networks and batches for tests.
#include "support_problem.h"

#include <stdio.h>
#include <stdlib.h>

fgsf_network_shape problem_shape(enum fgsf_activation activation) {
    return (fgsf_network_shape){.input = 5,
                                .num_hidden = 2,
                                .hidden = {8, 8},
                                .actions = 2,
                                .features = 3,
                                .activation = activation,
                                .bias = true};
}

static void *allocate(size_t count) {
    void *memory = calloc(count, sizeof(float)); // floats and 32-bit integers alike
    if (!memory) {
        fprintf(stderr, "no memory for a test problem\n");
        abort();
    }
    return memory;
}

static float *draw_normal(size_t count, fgsf_rng *rng) {
    float *values = allocate(count);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)fgsf_rng_normal(rng);
    }
    return values;
}

static int32_t *draw_actions(size_t count, int actions, fgsf_rng *rng) {
    int32_t *values = allocate(count);
    for (size_t i = 0; i < count; i++) {
        values[i] = (int32_t)fgsf_rng_below(rng, (uint64_t)actions);
    }
    return values;
}

static fgsf_network *draw_network(const fgsf_network_shape *shape, fgsf_rng *rng) {
    fgsf_network *net = NULL;
    if (fgsf_network_create(shape, &net) != FGSF_OK) {
        fprintf(stderr, "%s\n", fgsf_last_error());
        abort();
    }
    fgsf_network_init(net, FGSF_UNIFORM_FAN_IN, rng);
    for (int head = 1; head < shape->heads; head++) {
        fgsf_network_init_head(net, head, FGSF_UNIFORM_FAN_IN, rng);
    }
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    for (int i = 0; i < list->count; i++) { // where a mistake would hide behind 1 and 0
        bool constant =
            list->list[i].fill == FGSF_FILL_ONES || list->list[i].fill == FGSF_FILL_ZEROS;
        for (int k = 0; constant && k < list->list[i].columns; k++) {
            fgsf_network_edit(net)[list->list[i].offset + (size_t)k] +=
                0.3f * (float)fgsf_rng_normal(rng);
        }
    }
    return net;
}

problem *problem_create(const fgsf_bellman_params *params, int pairs, uint64_t seed) {
    fgsf_rng rng = fgsf_rng_make(seed, FGSF_STREAM_INIT);
    const fgsf_network_shape *shape = &params->shape;
    size_t rows = (size_t)pairs, next = rows * (size_t)params->samples;
    size_t input = (size_t)shape->input, features = (size_t)shape->features;
    int actions = shape->actions * (shape->heads > 1 ? shape->heads : 1);
    problem *p = allocate(sizeof *p / sizeof(float));
    p->params = *params;
    p->net = draw_network(shape, &rng);
    p->target = params->target_network ? draw_network(shape, &rng) : NULL;
    p->s = draw_normal(rows * input, &rng);
    p->s_next = draw_normal(next * input, &rng);
    p->y = draw_normal(next * features, &rng);
    p->a = draw_actions(rows, actions, &rng);
    p->a_next = draw_actions(next, actions, &rng);
    p->discount = allocate(next);
    for (size_t i = 0; i < next; i++) {
        p->discount[i] = i % 3 == 2 ? 0.0f : 0.9f;
    }
    p->batch = (fgsf_batch){.pairs = pairs,
                            .s = p->s,
                            .a = p->a,
                            .y = p->y,
                            .s_next = p->s_next,
                            .a_next = p->a_next,
                            .discount = p->discount};
    return p;
}

void problem_free(problem *p) {
    if (!p) {
        return;
    }
    fgsf_network_free(p->net);
    fgsf_network_free(p->target);
    free(p->s);
    free(p->y);
    free(p->s_next);
    free(p->discount);
    free(p->a);
    free(p->a_next);
    free(p);
}
