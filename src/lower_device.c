// How a device other than the CPU executes a graph whose operations it does not all have.
//
// ggml's backward pass makes OUT_PROD of products, GET_ROWS_BACK of the choice of actions and
// REPEAT_BACK of biases. Vulkan has no kernel for the first two, Metal for none of the three. Left
// alone, ggml's scheduler would bring their operands to the CPU and the results back, in every update.
// Where one is missing it becomes what every device has:
//
//     OUT_PROD a b         ->  MUL_MAT of the transposed operands
//     GET_ROWS_BACK g      ->  g times a 0/1 mask of the parts; rows that several picks share are
//                              added up by a product with another 0/1 matrix
//     REPEAT_BACK g        ->  SUM_ROWS of the transposed g, also where there are very many rows
#include <string.h>

#include "program.h"

#define MAX_REPEATS 8192 // rows that one thread adds up

static struct ggml_tensor *turned(struct ggml_context *ctx, struct ggml_tensor *t) {
    if (t->op == GGML_OP_TRANSPOSE && ggml_is_contiguous(t->src[0])) return t->src[0];
    return ggml_cont(ctx, ggml_transpose(ctx, t));
}

// Makes `node` compute what `model`, of the same size, would.
static void become(struct ggml_tensor *node, const struct ggml_tensor *model) {
    node->op = model->op;
    memcpy(node->op_params, model->op_params, sizeof node->op_params);
    memcpy(node->src, model->src, sizeof node->src);
}

// sum over p of a[p] b[p]^T: (p, n) and (p, m) -> (m, n).
static void replace_out_prod(struct ggml_context *ctx, struct ggml_tensor *node) {
    become(node, ggml_mul_mat(ctx, turned(ctx, node->src[0]), turned(ctx, node->src[1])));
}

static void replace_repeat_back(struct ggml_context *ctx, struct ggml_tensor *node) {
    struct ggml_tensor *sums = ggml_sum_rows(ctx, turned(ctx, node->src[0]));
    become(node, ggml_cont(ctx, ggml_reshape_2d(ctx, sums, node->ne[0], 1)));
}

// (picks, F) -> (rows parts, F).
static void replace_get_rows_back(struct ggml_context *ctx, struct ggml_tensor *node,
                                  const fgsf_scatter *by) {
    struct ggml_tensor *g = node->src[0];
    int64_t features = node->ne[0], parts = by->parts->ne[0], picks = by->parts->ne[1];
    g = ggml_reshape_3d(ctx, g, features, 1, picks);
    g = ggml_repeat_4d(ctx, g, features, parts, picks, 1);
    g = ggml_reshape_2d(ctx, g, features, parts * picks);
    struct ggml_tensor *mask = ggml_reshape_2d(ctx, by->parts, 1, parts * picks);
    if (!by->rows) {
        become(node, ggml_mul(ctx, g, mask));
        return;
    }
    g = ggml_reshape_2d(ctx, ggml_mul(ctx, g, mask), features * parts, picks);
    struct ggml_tensor *belongs = ggml_get_rows(ctx, by->identity, by->rows); // (picks, rows)
    struct ggml_tensor *sums = ggml_mul_mat(ctx, turned(ctx, g), turned(ctx, belongs));
    become(node, ggml_cont(ctx, ggml_reshape_2d(ctx, sums, node->ne[0], node->ne[1])));
}

static const fgsf_scatter *find_scatter(const fgsf_scatter *scatter,
                                        const struct ggml_tensor *index) {
    while (scatter && scatter->index && scatter->index != index) scatter++;
    return scatter && scatter->index ? scatter : NULL;
}

static void replace(struct ggml_context *ctx, struct ggml_tensor *node,
                    const fgsf_scatter *scatter) {
    const struct ggml_tensor *a = node->src[0];
    const fgsf_scatter *by =
        node->op == GGML_OP_GET_ROWS_BACK ? find_scatter(scatter, node->src[1]) : NULL;
    if (node->op == GGML_OP_OUT_PROD && a->ne[2] == node->src[1]->ne[2] &&
        a->ne[3] == node->src[1]->ne[3]) {
        replace_out_prod(ctx, node);
    } else if (node->op == GGML_OP_REPEAT_BACK && node->ne[0] == a->ne[0] &&
               ggml_nelements(node) == a->ne[0] && a->ne[2] == 1 && a->ne[3] == 1) {
        replace_repeat_back(ctx, node);
    } else if (by) {
        replace_get_rows_back(ctx, node, by);
    }
}

// In one thread, and Mesa's software device ends the loops of a thread after 65,535 turns.
static bool adds_many(const struct ggml_tensor *node) {
    return node->op == GGML_OP_REPEAT_BACK &&
           ggml_nelements(node->src[0]) > MAX_REPEATS * ggml_nelements(node);
}

fgsf_status fgsf_lower_device(fgsf_program *program, const fgsf_device *device,
                              const fgsf_scatter *scatter) {
    if (!device->resident) return FGSF_OK;
    struct ggml_cgraph *before = program->graph;
    int nodes = ggml_graph_n_nodes(before);
    program->graph = ggml_new_graph_custom(program->ctx, (size_t)ggml_graph_size(before), false);
    program->whole = true;
    fgsf_count_products(before, &program->flops);
    for (int i = 0; i < nodes; i++) {
        struct ggml_tensor *node = ggml_graph_node(before, i);
        if (!fgsf_device_runs(device, node) || adds_many(node)) {
            replace(program->ctx, node, scatter);
        }
        ggml_build_forward_expand(program->graph, node);
    }
    for (int i = 0; i < ggml_graph_n_nodes(program->graph); i++) {
        const struct ggml_tensor *node = ggml_graph_node(program->graph, i);
        if (fgsf_computes(node) && !fgsf_device_runs(device, node)) program->whole = false;
    }
    return FGSF_OK;
}

bool fgsf_device_scatters(const fgsf_device *device, int64_t rows) {
    struct ggml_init_params room = {.mem_size = 8 * ggml_tensor_overhead(), .no_alloc = true};
    struct ggml_context *ctx = device->resident ? ggml_init(room) : NULL;
    if (!ctx) return true;
    struct ggml_tensor *some = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 4);
    struct ggml_tensor *all = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, rows);
    struct ggml_tensor *index = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 4);
    bool runs = fgsf_device_runs(device, ggml_get_rows_back(ctx, some, index, all));
    ggml_free(ctx);
    return runs;
}
