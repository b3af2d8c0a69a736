// A network of your own: residual blocks, trained in a loop of your own. docs/networks.md explains it.
//
//     export PKG_CONFIG_PATH=build/pkgconfig    # where FGSF is built and not installed
//     cc docs/examples/residual.c $(pkg-config --cflags --libs fgsf) -o residual && ./residual
//
// Compiled as a shared object it is a plugin of every driver:
//
//     cc -shared -fPIC docs/examples/residual.c $(pkg-config --cflags --libs fgsf_plugin) -o residual.so
//     experiments/run four_rooms --plugin residual.so --set net.kind=residual
#include <stdio.h>

#include "fgsf/learner.h"
#include "ggml.h"

// ---- The definition ------------------------------------------------------------------------------

// net.hidden=128,128,128 makes three blocks of width 128: h = W s, then h += relu(V_k h + c_k) for every
// block k, and at last x = U h + b.
static void parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int width = shape->num_hidden > 0 ? shape->hidden[0] : 16;
    int outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "in.weight", width, shape->input, FGSF_FILL_WEIGHTS, shape->input);
    for (int k = 0; k < shape->num_hidden; k++) {
        char name[32];
        snprintf(name, sizeof name, "block.%d.weight", k);
        fgsf_parameters_add(out, name, width, width, FGSF_FILL_WEIGHTS, width);
        snprintf(name, sizeof name, "block.%d.bias", k);
        fgsf_parameters_add(out, name, 1, width, FGSF_FILL_ZEROS, width);
    }
    fgsf_parameters_add(out, "head.weight", outputs, width, FGSF_FILL_WEIGHTS, width);
    if (shape->bias) fgsf_parameters_add(out, "head.bias", 1, outputs, FGSF_FILL_BIASES, width);
}

static struct ggml_tensor *forward(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                   struct ggml_tensor *const *p, struct ggml_tensor *input) {
    struct ggml_tensor *h = ggml_mul_mat(ctx, *p++, input);
    for (int k = 0; k < shape->num_hidden; k++) {
        struct ggml_tensor *z = ggml_mul_mat(ctx, *p++, h);
        h = ggml_add(ctx, h, ggml_relu(ctx, ggml_add(ctx, z, *p++)));
    }
    struct ggml_tensor *x = ggml_mul_mat(ctx, *p++, h);
    return shape->bias ? ggml_add(ctx, x, *p) : x;
}

static const fgsf_network_def residual = {
    .name = "residual",
    .summary = "residual blocks, one for each number in net.hidden",
    .parameters = parameters,
    .forward = forward,
    .linear_head = true,
};

// What a driver calls after --plugin.
fgsf_status fgsf_plugin_register(void);
fgsf_status fgsf_plugin_register(void) {
    return fgsf_network_register(&residual);
}

// ---- Five cells in a row, the last one pays ------------------------------------------------------

#define CELLS 5

static int step(int cell, int action) {
    return action ? cell + 1 : cell > 0 ? cell - 1 : 0;
}

static fgsf_status train(fgsf_learner *learner) {
    fgsf_status status = fgsf_learner_add_task(learner);
    for (int t = 0, cell = 0; t < 2000 && status == FGSF_OK; t++) {
        float s[CELLS] = {0}, next[CELLS] = {0}, phi = 0.0f;
        fgsf_experience e = {.s = s, .s_next = next, .phi = &phi};
        s[cell] = 1.0f;
        status = fgsf_learner_act(learner, 0, s, 0.5, &e.action);
        cell = step(cell, e.action);
        next[cell] = 1.0f;
        e.terminal = cell == CELLS - 1;
        e.reward = phi = e.terminal;
        if (status == FGSF_OK) status = fgsf_learner_observe(learner, &e);
        if (status == FGSF_OK) status = fgsf_learner_learn(learner, 0, NULL);
        cell = e.terminal ? 0 : cell;
    }
    return status;
}

static fgsf_status show(fgsf_learner *learner) {
    fgsf_status status = FGSF_OK;
    for (int cell = 0; cell + 1 < CELLS && status == FGSF_OK; cell++) {
        float s[CELLS] = {0}, q[2];
        int policies;
        s[cell] = 1.0f;
        status = fgsf_agent_q(fgsf_learner_agent(learner), 0, NULL, s, q, &policies);
        printf("cell %d: left %.2f, right %.2f\n", cell, q[0], q[1]);
    }
    return status;
}

int main(void) {
    fgsf_learner *learner = NULL;
    fgsf_learner_params params = fgsf_learner_default_params();
    params.agent.num_tasks = 1;
    params.agent.num_actions = 2;
    params.agent.num_features = 1;
    params.agent.state_size = CELLS;
    params.agent.net = (fgsf_network_shape){.num_hidden = 2, .hidden = {16, 16}, .def = &residual};
    params.gamma = 0.9;
    fgsf_status status = fgsf_network_register(&residual); // so that archives can name it
    if (status == FGSF_OK) status = fgsf_learner_create(&params, &learner);
    if (status == FGSF_OK) status = train(learner);
    if (status == FGSF_OK) status = show(learner);
    if (status != FGSF_OK) fprintf(stderr, "residual: %s\n", fgsf_last_error());
    fgsf_learner_free(learner);
    return status == FGSF_OK ? 0 : 1;
}
