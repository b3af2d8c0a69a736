// How the CPU executes a graph's matrix products, without changing what is computed.
//
// ggml's CPU backend has no fast OUT_PROD (the weight gradient), and its BLAS backend costs a
// scheduler split around every product and skips those with a side below 32. So, once the backward
// pass is built, every plain 2-D float MUL_MAT and OUT_PROD node is rewritten in place as a custom
// node that calls cblas_sgemm. What follows a product element by element is done on its output while
// that is still in cache, and the nodes it replaces become views of it:
//
//     MUL_MAT, ADD bias [, RELU]        ->  relu(x W^T + b)        (SiLU stays a node of its own)
//     OUT_PROD, MUL by STEP             ->  the gradient through ReLU
//
// STEP may read the activated value, since relu(z) > 0 exactly where z > 0. The graph, its values and
// its gradients stay what ggml derived. Tiny products stay with ggml: BLAS gains nothing there, and its
// kernels for small matrices may sum in another order when rows of zeros are appended.
#include <string.h>

#include "program.h"

#ifdef FGSF_HAVE_CBLAS
#include <cblas.h>

// The distance between rows of `columns` numbers. Of a matrix with one row ggml may give any stride,
// but BLAS wants it no smaller than a row.
static int stride(const struct ggml_tensor *t, int dim, int columns) {
    int floats = (int)(t->nb[dim] / sizeof(float));
    return floats > columns ? floats : columns;
}

// dst (p, m) = b (p, n) a (m, n)^T + bias, in rows as ggml stores them.
static void product_with_bias(struct ggml_tensor *dst) {
    const struct ggml_tensor *a = dst->src[0], *b = dst->src[1], *bias = dst->src[2];
    int m = (int)a->ne[1], n = (int)a->ne[0], p = (int)b->ne[1];
    float *out = dst->data, keep = bias ? 1.0f : 0.0f;
    for (int row = 0; bias && row < p; row++) {
        memcpy(out + (size_t)row * (size_t)m, bias->data, (size_t)m * sizeof(float));
    }
    if (p == 1) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1.0f, a->data, stride(a, 1, n), b->data, 1,
                    keep, out, 1);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, p, m, n, 1.0f, b->data, stride(b, 1, n),
                a->data, stride(a, 1, n), keep, out, m);
}

static void mul_mat(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth, (void)userdata;
    product_with_bias(dst);
}

static void mul_mat_relu(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth, (void)userdata;
    product_with_bias(dst);
    float *x = dst->data;
    for (int64_t i = 0, count = ggml_nelements(dst); i < count; i++) {
        x[i] = x[i] > 0.0f ? x[i] : 0.0f;
    }
}

// dst (m, n) = b (p, m)^T a (p, n); b may itself be a transposed view. With a third source, entries
// where that is not positive are set to zero.
static void out_prod(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth, (void)userdata;
    const struct ggml_tensor *a = dst->src[0], *b = dst->src[1], *gate = dst->src[2];
    int m = (int)b->ne[0], n = (int)a->ne[0], p = (int)a->ne[1];
    bool transposed = b->nb[0] != sizeof(float);
    cblas_sgemm(CblasRowMajor, transposed ? CblasNoTrans : CblasTrans, CblasNoTrans, m, n, p, 1.0f,
                b->data, transposed ? stride(b, 0, p) : stride(b, 1, m), a->data, stride(a, 1, n),
                0.0f, dst->data, stride(dst, 1, n));
    if (gate) {
        float *g = dst->data;
        const float *z = gate->data;
        for (int64_t i = 0, count = ggml_nelements(dst); i < count; i++) {
            g[i] = z[i] > 0.0f ? g[i] : 0.0f;
        }
    }
}

#define TINY 4096 // multiplications; below that a call of BLAS is no faster

static bool is_tiny(const struct ggml_tensor *product) {
    int64_t terms = product->src[0]->ne[product->op == GGML_OP_OUT_PROD];
    return ggml_nelements(product) * terms <= TINY;
}

static bool is_matrix(const struct ggml_tensor *t) {
    return t->type == GGML_TYPE_F32 && t->ne[2] == 1 && t->ne[3] == 1;
}

static bool is_unary(const struct ggml_tensor *t, enum ggml_unary_op op) {
    return t->op == GGML_OP_UNARY && ggml_get_unary_op(t) == op;
}

static void make_custom(struct ggml_context *ctx, struct ggml_tensor *node, ggml_custom_op_t fun) {
    // A throw-away custom node supplies the parameters in ggml's own layout.
    struct ggml_tensor *args[] = {node->src[0], node->src[1]};
    struct ggml_tensor *model =
        ggml_custom_4d(ctx, GGML_TYPE_F32, 1, 1, 1, 1, args, 2, fun, 1, NULL);
    node->op = model->op;
    memcpy(node->op_params, model->op_params, sizeof node->op_params);
}

// Turns a node into a view of the node that now computes its value.
static void make_view(struct ggml_tensor *node, struct ggml_tensor *of) {
    memset(node->src, 0, sizeof node->src);
    node->op = GGML_OP_VIEW;
    node->src[0] = of;
    node->view_src = of->view_src ? of->view_src : of;
    node->view_offs = 0;
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

static void lower_mul_mat(struct ggml_context *ctx, struct ggml_cgraph *graph, int i) {
    struct ggml_tensor *node = ggml_graph_node(graph, i), *relu = NULL;
    int user = has_one_user(graph, node, i) ? next_user(graph, node, i) : -1;
    struct ggml_tensor *add = user >= 0 ? ggml_graph_node(graph, user) : NULL;
    if (add && add->op == GGML_OP_ADD && add->src[0] == node && add->src[1]->ne[0] == node->ne[0] &&
        ggml_nelements(add->src[1]) == node->ne[0] && !add->data) {
        relu = find_relu(graph, add, user);
        node->src[2] = add->src[1];
        make_view(add, node);
    }
    if (relu) {
        make_view(relu, node);
    }
    make_custom(ctx, node, relu ? mul_mat_relu : mul_mat);
}

static void lower_out_prod(struct ggml_context *ctx, struct ggml_cgraph *graph, int i) {
    struct ggml_tensor *node = ggml_graph_node(graph, i);
    int user = has_one_user(graph, node, i) ? next_user(graph, node, i) : -1;
    struct ggml_tensor *mul = user >= 0 ? ggml_graph_node(graph, user) : NULL;
    if (mul && mul->op == GGML_OP_MUL && mul->src[1] == node && !mul->data &&
        is_unary(mul->src[0], GGML_UNARY_OP_STEP) && ggml_are_same_shape(mul->src[0], node)) {
        struct ggml_tensor *step = mul->src[0];
        node->src[2] = step->src[0];
        make_view(step, step->src[0]);
        make_view(mul, node);
    }
    make_custom(ctx, node, out_prod);
}

void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph) {
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(graph, i);
        bool product = node->op == GGML_OP_MUL_MAT || node->op == GGML_OP_OUT_PROD;
        if (!product || !is_matrix(node->src[0]) || !is_matrix(node->src[1]) ||
            node->src[0]->nb[0] != sizeof(float) || is_tiny(node)) {
            continue;
        }
        if (node->op == GGML_OP_OUT_PROD) {
            lower_out_prod(ctx, graph, i);
        } else if (node->src[1]->nb[0] == sizeof(float)) {
            lower_mul_mat(ctx, graph, i);
        }
    }
}

#else

void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph) {
    (void)ctx, (void)graph;
}

#endif
