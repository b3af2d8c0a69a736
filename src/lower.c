// How the CPU executes a graph's matrix products, without changing what is computed.
//
// ggml's CPU backend has no fast OUT_PROD (the weight gradient), and its BLAS backend costs a
// scheduler split around every product and skips those with a side below 32. So, once the backward
// pass is built, every plain 2-D float MUL_MAT and OUT_PROD node is rewritten in place as a custom
// node that calls product.c. What follows a product element by element is done before its sums are
// stored, and the nodes it replaces become views of it:
//
//     MUL_MAT, ADD bias [, RELU]        ->  relu(x W^T + b)        (SiLU stays a node of its own)
//     OUT_PROD, MUL by STEP             ->  the gradient through ReLU
//
// STEP may read the activated value, since relu(z) > 0 exactly where z > 0. The graph, its values and
// its gradients stay what ggml derived, except that a gradient which is infinite behind a unit that is
// off becomes zero there, where ggml's product with zero is NaN.
#include <string.h>

#include "product.h"
#include "program.h"

// The distance between neighbours along a dimension, in numbers.
static size_t stride(const struct ggml_tensor *t, int dim) {
    return t->nb[dim] / sizeof(float);
}

// dst (p, m) = b (p, n) a (m, n)^T + bias, in rows as ggml stores them.
static void run_mul_mat(struct ggml_tensor *dst, const fgsf_device *device, bool relu) {
    const struct ggml_tensor *a = dst->src[0], *b = dst->src[1], *bias = dst->src[2];
    fgsf_product product = {.m = (int)b->ne[1],
                            .n = (int)a->ne[1],
                            .k = (int)a->ne[0],
                            .a = b->data,
                            .a_row = stride(b, 1),
                            .a_col = 1,
                            .b = a->data,
                            .b_row = 1,
                            .b_col = stride(a, 1),
                            .c = dst->data,
                            .c_row = stride(dst, 1),
                            .bias = bias ? bias->data : NULL,
                            .relu = relu};
    fgsf_product_share(&product, device->pool);
}

static void mul_mat(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth; // ggml's own threads, of which a device has one
    run_mul_mat(dst, userdata, false);
}

static void mul_mat_relu(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth;
    run_mul_mat(dst, userdata, true);
}

// dst (m, n) = b (p, m)^T a (p, n); b may itself be a transposed view. With a third source, entries
// where that is not positive are set to zero.
static void out_prod(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth;
    const fgsf_device *device = userdata;
    const struct ggml_tensor *a = dst->src[0], *b = dst->src[1], *gate = dst->src[2];
    fgsf_product product = {.m = (int)b->ne[0],
                            .n = (int)a->ne[0],
                            .k = (int)a->ne[1],
                            .a = b->data,
                            .a_row = stride(b, 0),
                            .a_col = stride(b, 1),
                            .b = a->data,
                            .b_row = stride(a, 1),
                            .b_col = 1,
                            .c = dst->data,
                            .c_row = stride(dst, 1),
                            .gate = gate ? gate->data : NULL,
                            .gate_row = gate ? stride(gate, 1) : 0};
    fgsf_product_share(&product, device->pool);
}

static bool is_matrix(const struct ggml_tensor *t) {
    return t->type == GGML_TYPE_F32 && t->ne[2] == 1 && t->ne[3] == 1;
}

static bool is_unary(const struct ggml_tensor *t, enum ggml_unary_op op) {
    return t->op == GGML_OP_UNARY && ggml_get_unary_op(t) == op;
}

// What the functions below share.
typedef struct lowering {
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    fgsf_device *device;
} lowering;

static void make_custom(const lowering *l, struct ggml_tensor *node, ggml_custom_op_t fun) {
    // A throw-away custom node supplies the parameters in ggml's own layout.
    struct ggml_tensor *args[] = {node->src[0], node->src[1]};
    struct ggml_tensor *model =
        ggml_custom_4d(l->ctx, GGML_TYPE_F32, 1, 1, 1, 1, args, 2, fun, 1, l->device);
    node->op = model->op;
    memcpy(node->op_params, model->op_params, sizeof node->op_params);
}

// Turns a node into a view of the node that now computes its value.
static void make_view(struct ggml_tensor *node, struct ggml_tensor *of) {
    memset(node->src, 0, sizeof node->src);
    node->op = GGML_OP_VIEW;
    node->src[0] = of;
    node->view_src = of->view_src ? of->view_src : of;
    node->view_offs = of->view_offs;
    node->view_src->flags |= node->flags & GGML_TENSOR_FLAG_OUTPUT;
}

// Finds the next user of `t` after node i; returns its index, or -1.
static int next_user(struct ggml_cgraph *graph, const struct ggml_tensor *t, int i) {
    for (i++; i < ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph, i);
        for (int s = 0; s < GGML_MAX_SRC; s++) {
            if (node->src[s] == t) {
                return i;
            }
        }
    }
    return -1;
}

static int find(struct ggml_cgraph *graph, const struct ggml_tensor *t) {
    int i = 0;
    while (i < ggml_graph_n_nodes(graph) && ggml_graph_node(graph, i) != t) {
        i++;
    }
    return i;
}

static bool has_one_user(struct ggml_cgraph *graph, const struct ggml_tensor *t, int i) {
    int user = next_user(graph, t, i);
    return user >= 0 && next_user(graph, t, user) < 0 && !(t->flags & GGML_TENSOR_FLAG_OUTPUT);
}

// RELU may overwrite its input when all else that reads the input is STEP.
static struct ggml_tensor *find_relu(struct ggml_cgraph *graph, const struct ggml_tensor *t,
                                     int i) {
    struct ggml_tensor *relu = NULL;
    while ((i = next_user(graph, t, i)) >= 0) {
        struct ggml_tensor *user = ggml_graph_node(graph, i);
        if (!relu && is_unary(user, GGML_UNARY_OP_RELU)) {
            relu = user;
        } else if (!is_unary(user, GGML_UNARY_OP_STEP)) {
            return NULL;
        }
    }
    return t->flags & GGML_TENSOR_FLAG_OUTPUT ? NULL : relu;
}

static void lower_mul_mat(const lowering *l, int i) {
    struct ggml_cgraph *graph = l->graph;
    struct ggml_tensor *node = ggml_graph_node(graph, i), *relu = NULL;
    int user = has_one_user(graph, node, i) ? next_user(graph, node, i) : -1;
    struct ggml_tensor *add = user >= 0 ? ggml_graph_node(graph, user) : NULL;
    const struct ggml_tensor *bias = add && add->op == GGML_OP_ADD ? add->src[1] : NULL;
    if (bias && add->src[0] == node && bias->op == GGML_OP_NONE && bias->type == GGML_TYPE_F32 &&
        ggml_is_contiguous(bias) && bias->ne[0] == node->ne[0] &&
        ggml_nelements(bias) == node->ne[0] && !add->data) {
        relu = find_relu(graph, add, user);
        node->src[2] = add->src[1];
        make_view(add, node);
    }
    if (relu) {
        make_view(relu, add); // not of `node`: a view that nothing reads would never be released
    }
    make_custom(l, node, relu ? mul_mat_relu : mul_mat);
}

static void lower_out_prod(const lowering *l, int i) {
    struct ggml_cgraph *graph = l->graph;
    struct ggml_tensor *node = ggml_graph_node(graph, i);
    int user = has_one_user(graph, node, i) ? next_user(graph, node, i) : -1;
    struct ggml_tensor *mul = user >= 0 ? ggml_graph_node(graph, user) : NULL;
    if (mul && mul->op == GGML_OP_MUL && mul->src[1] == node && !mul->data &&
        is_unary(mul->src[0], GGML_UNARY_OP_STEP) && ggml_are_same_shape(mul->src[0], node) &&
        has_one_user(graph, mul->src[0], find(graph, mul->src[0]))) {
        struct ggml_tensor *step = mul->src[0];
        node->src[2] = step;
        make_view(step, step->src[0]);
        make_view(mul, node);
    }
    make_custom(l, node, out_prod);
}

void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph, fgsf_device *device) {
    lowering l = {ctx, graph, device};
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph, i);
        bool product = node->op == GGML_OP_MUL_MAT || node->op == GGML_OP_OUT_PROD;
        if (!product || !is_matrix(node->src[0]) || !is_matrix(node->src[1]) ||
            node->src[0]->nb[0] != sizeof(float)) {
            continue;
        }
        const struct ggml_tensor *b = node->src[1];
        bool unit[2] = {b->nb[0] == sizeof(float), b->nb[1] == sizeof(float)};
        if (node->op == GGML_OP_OUT_PROD && (unit[0] || unit[1])) {
            lower_out_prod(&l, i);
        } else if (node->op == GGML_OP_MUL_MAT && unit[0]) {
            lower_mul_mat(&l, i);
        }
    }
}
