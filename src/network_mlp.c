// The definitions of the library: `mlp`, and `torso`, which is the same network with a head per
// policy. Both are written as a user's own would be (docs/networks.md).
#include <stdio.h>

#include "fgsf/network.h"
#include "ggml.h"

#define NORM_EPS 1e-5f

// layers.L.weight, .bias, .scale and .shift, as far as the shape has them.
static void add(fgsf_parameters *out, int layer, const char *what, int rows, int columns,
                enum fgsf_fill fill, int fan_in) {
    char name[32];
    snprintf(name, sizeof name, "layers.%d.%s", layer, what);
    fgsf_parameters_add(out, name, rows, columns, fill, fan_in);
}

static void parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int in = shape->input, heads = shape->heads > 1 ? shape->heads : 1;
    for (int l = 0; l <= shape->num_hidden; l++) {
        bool last = l == shape->num_hidden;
        int width = last ? heads * shape->actions * shape->features : shape->hidden[l];
        add(out, l, "weight", width, in, FGSF_FILL_WEIGHTS, in);
        if (shape->bias) add(out, l, "bias", 1, width, FGSF_FILL_BIASES, in);
        if (!last && shape->norm != FGSF_NORM_NONE) {
            add(out, l, "scale", 1, width, FGSF_FILL_ONES, in);
        }
        if (!last && shape->norm == FGSF_NORM_LAYER) {
            add(out, l, "shift", 1, width, FGSF_FILL_ZEROS, in);
        }
        in = width;
    }
}

// ggml differentiates RMS_NORM but not NORM: the mean is taken off first.
static struct ggml_tensor *centre(struct ggml_context *ctx, struct ggml_tensor *x) {
    struct ggml_tensor *sum = ggml_sum_rows(ctx, x);
    return ggml_add(ctx, x, ggml_scale(ctx, sum, -1.0f / (float)x->ne[0]));
}

static struct ggml_tensor *activate(struct ggml_context *ctx, enum fgsf_activation activation,
                                    struct ggml_tensor *x) {
    switch (activation) {
    case FGSF_SILU:
        return ggml_silu(ctx, x);
    case FGSF_SOFTPLUS:
        return ggml_softplus(ctx, x);
    default:
        return ggml_relu(ctx, x);
    }
}

// Each layer: W x + b, and between layers normalise, times scale, plus shift, activation.
static struct ggml_tensor *forward(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                   struct ggml_tensor *const *p, struct ggml_tensor *input) {
    struct ggml_tensor *x = input;
    for (int l = 0; l <= shape->num_hidden; l++) {
        x = ggml_mul_mat(ctx, *p++, x);
        if (shape->bias) x = ggml_add(ctx, x, *p++);
        if (l == shape->num_hidden) break;
        if (shape->norm == FGSF_NORM_LAYER) x = centre(ctx, x);
        if (shape->norm != FGSF_NORM_NONE) {
            x = ggml_mul(ctx, ggml_rms_norm(ctx, x, NORM_EPS), *p++);
        }
        if (shape->norm == FGSF_NORM_LAYER) x = ggml_add(ctx, x, *p++);
        x = activate(ctx, shape->activation, x);
    }
    return x;
}

const fgsf_network_def fgsf_network_mlp = {
    .name = "mlp",
    .summary = "multi-layer perceptron, a network per policy",
    .parameters = parameters,
    .forward = forward,
    .linear_head = true,
    .stacks = true,
};

const fgsf_network_def fgsf_network_torso = {
    .name = "torso",
    .summary = "one multi-layer perceptron for all policies, with a head for each",
    .parameters = parameters,
    .forward = forward,
    .linear_head = true,
    .shared = true,
};
