// How the CPU executes a graph's matrix products, without changing what is computed.
//
// ggml's CPU backend has no fast OUT_PROD (the weight gradient), and its BLAS backend costs a
// scheduler split around every product and skips those with a side below 32. So, once the backward
// pass is built, every plain 2-D float MUL_MAT and OUT_PROD node is rewritten in place as a custom
// node that calls cblas_sgemm. The graph, its values and its gradients stay what ggml derived.
#include <string.h>

#include "program.h"

#ifdef FGSF_HAVE_CBLAS
#include <cblas.h>

static int stride(const struct ggml_tensor *t, int dim) {
    return (int)(t->nb[dim] / sizeof(float));
}

// dst (p, m) = b (p, n) a (m, n)^T, in rows as ggml stores them.
static void mul_mat(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth, (void)userdata;
    const struct ggml_tensor *a = dst->src[0], *b = dst->src[1];
    int m = (int)a->ne[1], n = (int)a->ne[0], p = (int)b->ne[1];
    if (p == 1) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1.0f, a->data, stride(a, 1), b->data, 1,
                    0.0f, dst->data, 1);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, p, m, n, 1.0f, b->data, stride(b, 1),
                a->data, stride(a, 1), 0.0f, dst->data, stride(dst, 1));
}

// dst (m, n) = b (p, m)^T a (p, n); b may itself be a transposed view.
static void out_prod(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
    (void)ith, (void)nth, (void)userdata;
    const struct ggml_tensor *a = dst->src[0], *b = dst->src[1];
    int m = (int)b->ne[0], n = (int)a->ne[0], p = (int)a->ne[1];
    bool transposed = b->nb[0] != sizeof(float);
    cblas_sgemm(CblasRowMajor, transposed ? CblasNoTrans : CblasTrans, CblasNoTrans, m, n, p, 1.0f,
                b->data, stride(b, transposed ? 0 : 1), a->data, stride(a, 1), 0.0f, dst->data,
                stride(dst, 1));
}

static bool is_matrix(const struct ggml_tensor *t) {
    return t->type == GGML_TYPE_F32 && t->ne[2] == 1 && t->ne[3] == 1;
}

static void make_custom(struct ggml_context *ctx, struct ggml_tensor *node, ggml_custom_op_t fun) {
    // A throw-away custom node supplies the parameters in ggml's own layout.
    struct ggml_tensor *args[] = {node->src[0], node->src[1]};
    struct ggml_tensor *model =
        ggml_custom_4d(ctx, GGML_TYPE_F32, 1, 1, 1, 1, args, 2, fun, 1, NULL);
    node->op = model->op;
    memcpy(node->op_params, model->op_params, sizeof node->op_params);
}

void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph) {
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        struct ggml_tensor *node = ggml_graph_node(graph, i);
        bool product = node->op == GGML_OP_MUL_MAT || node->op == GGML_OP_OUT_PROD;
        if (!product || !is_matrix(node->src[0]) || !is_matrix(node->src[1]) ||
            node->src[0]->nb[0] != sizeof(float)) {
            continue;
        }
        if (node->op == GGML_OP_OUT_PROD) {
            make_custom(ctx, node, out_prod);
        } else if (node->src[1]->nb[0] == sizeof(float)) {
            make_custom(ctx, node, mul_mat);
        }
    }
}

#else

void fgsf_lower(struct ggml_context *ctx, struct ggml_cgraph *graph) {
    (void)ctx, (void)graph;
}

#endif
