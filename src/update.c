// The optimiser as part of a graph; see update.h. bellman.c runs it.
#include "update.h"

#include <math.h>

static struct fgsf_plan_step plan_step(const fgsf_step *step) {
    if (!step->net) return (struct fgsf_plan_step){0};
    const fgsf_optimizer_params *p = fgsf_optimizer_get_params(step->opt);
    return (struct fgsf_plan_step){.steps = true,
                                   .adam = p->kind == FGSF_ADAM,
                                   .tracks = step->target != NULL,
                                   .clip = (float)p->clip,
                                   .polyak = (float)step->polyak};
}

fgsf_plan fgsf_plan_of(const fgsf_step steps[2]) {
    return (fgsf_plan){.of = {plan_step(&steps[0]), plan_step(&steps[1])}};
}

bool fgsf_plan_equal(const fgsf_plan *a, const fgsf_plan *b) {
    bool equal = true;
    for (int i = 0; i < 2; i++) {
        const struct fgsf_plan_step *p = &a->of[i], *q = &b->of[i];
        equal = equal && p->steps == q->steps && p->adam == q->adam && p->tracks == q->tracks &&
                p->clip == q->clip && p->polyak == q->polyak;
    }
    return equal;
}

// A flat leaf; where it lies is said before each run, and until then as for the gradient.
static struct ggml_tensor *flat(struct ggml_context *ctx, const struct ggml_tensor *gradient) {
    struct ggml_tensor *t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, gradient->ne[0]);
    fgsf_tensor_place(t, gradient->buffer, gradient->data);
    return t;
}

// g min(1, clip / (|g| + 1e-6)), PyTorch's clip.
static struct ggml_tensor *clipped(struct ggml_context *ctx, struct ggml_tensor *gradient,
                                   struct ggml_tensor *square, float clip,
                                   struct ggml_tensor *one) {
    struct ggml_tensor *norm = ggml_sqrt(ctx, square);
    struct ggml_tensor *ratio =
        ggml_div(ctx, one, ggml_scale_bias(ctx, norm, 1.0f / clip, 1e-6f / clip));
    return ggml_mul(ctx, gradient, ggml_clamp(ctx, ratio, 0.0f, 1.0f));
}

struct ggml_tensor *fgsf_step_build(struct ggml_context *ctx, struct ggml_cgraph *graph,
                                    const struct fgsf_plan_step *plan, struct ggml_tensor *gradient,
                                    struct ggml_tensor *numbers, struct ggml_tensor *one,
                                    fgsf_step_leaves *leaves) {
    struct ggml_tensor *square = ggml_sum(ctx, ggml_sqr(ctx, gradient)), *g = gradient, *moved;
    *leaves = (fgsf_step_leaves){.theta = flat(ctx, gradient)};
    ggml_build_forward_expand(graph, square);
    if (plan->clip > 0.0f) g = clipped(ctx, gradient, square, plan->clip, one);
    ggml_set_param(leaves->theta); // ggml's steps ask for it
    if (plan->adam) {
        for (int i = 0; i < 2; i++) leaves->moments[i] = flat(ctx, gradient);
        moved = ggml_opt_step_adamw(ctx, leaves->theta, g, leaves->moments[0], leaves->moments[1],
                                    numbers);
    } else {
        moved = ggml_opt_step_sgd(ctx, leaves->theta, g, numbers);
    }
    ggml_build_forward_expand(graph, moved);
    if (plan->tracks) {
        leaves->target = flat(ctx, gradient);
        struct ggml_tensor *way = ggml_sub(ctx, moved, leaves->target);
        way = ggml_add_inplace(ctx, leaves->target, ggml_scale(ctx, way, plan->polyak));
        ggml_build_forward_expand(graph, way);
    }
    return square;
}

static void place(struct ggml_tensor *t, const fgsf_copy *copy) {
    fgsf_tensor_place(t, copy->slab->buffer, fgsf_copy_data(copy));
}

fgsf_status fgsf_step_bind(fgsf_step_leaves *leaves, const fgsf_step *step, fgsf_device *device) {
    const fgsf_copy *copy, *moments[2];
    fgsf_status status = fgsf_network_copy(step->net, device, &copy);
    if (status == FGSF_OK) place(leaves->theta, copy);
    if (status == FGSF_OK && leaves->moments[0]) {
        status = fgsf_optimizer_copies(step->opt, device, moments);
    }
    for (int i = 0; i < 2 && status == FGSF_OK && leaves->moments[i]; i++) {
        place(leaves->moments[i], moments[i]);
    }
    if (status == FGSF_OK && leaves->target) {
        status = fgsf_network_copy(step->target, device, &copy);
        if (status == FGSF_OK) place(leaves->target, copy);
    }
    return status;
}

void fgsf_step_moved(const fgsf_step *step) {
    fgsf_network_moved(step->net);
    fgsf_optimizer_moved(step->opt);
    if (step->target) fgsf_network_moved(step->target);
}
