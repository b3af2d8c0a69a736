// Definitions of networks: the gradient of each of ours, and of three of the test's own, against
// float64 central differences; what ggml cannot differentiate is refused; every product is lowered.
#include <math.h>
#include <stdlib.h>

#include "fgsf/gpe.h"
#include "program.h"
#include "support_assert.h"
#include "support_devices.h"
#include "support_problem.h"
#include "support_reference.h"

#define LIMIT 1e-5 // float32 through ggml, relative to the largest entry
#define PAIRS 6
#define NUM(array) ((int)(sizeof(array) / sizeof *(array)))

static fgsf_device *devices[NUM_DEVICES];
static double worst;

// ---- A residual block: x = W2 (h + silu(W1 h + b1)) + b2 with h = W0 s ------------------------------

static void residual_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int width = shape->hidden[0], outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "in", width, shape->input, FGSF_FILL_WEIGHTS, shape->input);
    fgsf_parameters_add(out, "block", width, width, FGSF_FILL_WEIGHTS, width);
    fgsf_parameters_add(out, "block.bias", 1, width, FGSF_FILL_BIASES, width);
    fgsf_parameters_add(out, "head", outputs, width, FGSF_FILL_WEIGHTS, width);
    fgsf_parameters_add(out, "head.bias", 1, outputs, FGSF_FILL_BIASES, width);
}

static struct ggml_tensor *residual_forward(struct ggml_context *ctx,
                                            const fgsf_network_shape *shape,
                                            struct ggml_tensor *const *p, struct ggml_tensor *s) {
    (void)shape;
    struct ggml_tensor *h = ggml_mul_mat(ctx, p[0], s);
    struct ggml_tensor *z = ggml_add(ctx, ggml_mul_mat(ctx, p[1], h), p[2]);
    h = ggml_add(ctx, h, ggml_silu(ctx, z));
    return ggml_add(ctx, ggml_mul_mat(ctx, p[3], h), p[4]);
}

static const fgsf_network_def residual = {
    .name = "residual",
    .summary = "a residual block",
    .parameters = residual_parameters,
    .forward = residual_forward,
    .linear_head = true,
};

// ---- Its weights kept transposed, an output scale behind the head: nothing to fold ---------------

static void turned_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "turned", shape->input, outputs, FGSF_FILL_WEIGHTS, shape->input);
    fgsf_parameters_add(out, "scale", 1, outputs, FGSF_FILL_ONES, 1);
    fgsf_parameters_add(out, "unused", 1, 3, FGSF_FILL_WEIGHTS, 1);
}

static struct ggml_tensor *turned_forward(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                          struct ggml_tensor *const *p, struct ggml_tensor *s) {
    (void)shape;
    struct ggml_tensor *w = ggml_cont(ctx, ggml_transpose(ctx, p[0]));
    return ggml_mul(ctx, ggml_exp(ctx, ggml_mul_mat(ctx, w, s)), p[1]);
}

static const fgsf_network_def turned = {
    .name = "turned",
    .summary = "no linear head",
    .parameters = turned_parameters,
    .forward = turned_forward,
};

// x(s) of both in double precision.
static double user_forward(const fgsf_network_shape *shape, const double *theta, const float *s,
                           double *x) {
    fgsf_parameters list;
    fgsf_network_list(shape, &list);
    const double *p[5];
    for (int i = 0; i < list.count; i++) p[i] = theta + list.list[i].offset;
    int outputs = shape->actions * shape->features, in = shape->input, width = shape->hidden[0];
    double h[64] = {0}, block[64] = {0};
    for (int o = 0; shape->def == &turned && o < outputs; o++) {
        double sum = 0.0;
        for (int i = 0; i < in; i++) sum += p[0][i * outputs + o] * s[i];
        x[o] = p[1][o] * exp(sum);
    }
    if (shape->def == &turned) return INFINITY;
    for (int o = 0; o < width; o++) {
        for (int i = 0; i < in; i++) h[o] += p[0][o * in + i] * s[i];
    }
    for (int o = 0; o < width; o++) {
        double z = p[2][o];
        for (int i = 0; i < width; i++) z += p[1][o * width + i] * h[i];
        block[o] = h[o] + z / (1.0 + exp(-z));
    }
    for (int o = 0; o < outputs; o++) {
        x[o] = p[4][o];
        for (int i = 0; i < width; i++) x[o] += p[3][o * width + i] * block[i];
    }
    return INFINITY;
}

// ---- Gradients -----------------------------------------------------------------------------------

static const struct kind {
    const char *name;
    const fgsf_network_def *def;
    enum fgsf_norm norm;
    enum fgsf_activation activation;
    int heads;
} kinds[] = {
    {"mlp relu", &fgsf_network_mlp, FGSF_NORM_NONE, FGSF_RELU, 0},
    {"mlp silu", &fgsf_network_mlp, FGSF_NORM_NONE, FGSF_SILU, 0},
    {"mlp softplus", &fgsf_network_mlp, FGSF_NORM_NONE, FGSF_SOFTPLUS, 0},
    {"mlp rms relu", &fgsf_network_mlp, FGSF_NORM_RMS, FGSF_RELU, 0},
    {"mlp rms silu", &fgsf_network_mlp, FGSF_NORM_RMS, FGSF_SILU, 0},
    {"mlp rms softplus", &fgsf_network_mlp, FGSF_NORM_RMS, FGSF_SOFTPLUS, 0},
    {"mlp layer relu", &fgsf_network_mlp, FGSF_NORM_LAYER, FGSF_RELU, 0},
    {"mlp layer silu", &fgsf_network_mlp, FGSF_NORM_LAYER, FGSF_SILU, 0},
    {"mlp layer softplus", &fgsf_network_mlp, FGSF_NORM_LAYER, FGSF_SOFTPLUS, 0},
    {"torso relu", &fgsf_network_torso, FGSF_NORM_NONE, FGSF_RELU, 3},
    {"torso rms silu", &fgsf_network_torso, FGSF_NORM_RMS, FGSF_SILU, 3},
    {"torso layer relu", &fgsf_network_torso, FGSF_NORM_LAYER, FGSF_RELU, 3},
    {"torso of one", &fgsf_network_torso, FGSF_NORM_NONE, FGSF_SILU, 1},
    {"residual", &residual, FGSF_NORM_NONE, FGSF_SILU, 0},
    {"turned", &turned, FGSF_NORM_NONE, FGSF_SILU, 0},
};

static fgsf_bellman_params params_of(int kind, double grad_mix) {
    fgsf_network_shape shape = problem_shape(kinds[kind].activation);
    shape.def = kinds[kind].def;
    shape.norm = kinds[kind].norm;
    shape.heads = kinds[kind].heads;
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.max_pairs = PAIRS;
    params.grad_mix = grad_mix;
    return params;
}

// A problem whose pre-activations all keep away from the kink of a ReLU.
static problem *draw(const fgsf_bellman_params *params, uint64_t seed) {
    for (;; seed += 1000) {
        problem *p = problem_create(params, PAIRS, seed);
        double *theta = reference_parameters(p->net);
        double margin = reference_margin(params, &p->batch, theta);
        free(theta);
        if (params->shape.activation != FGSF_RELU || margin > 1e-3) return p;
        problem_free(p);
    }
}

// The error of the library's gradient of `run` against differences of the objective of `truth`.
static double gradient_error(fgsf_device *device, const problem *p,
                             const fgsf_bellman_params *truth) {
    size_t size = fgsf_network_flat_size(&p->params.shape);
    double *theta = reference_parameters(p->net), *differences = reference_zeros(size), loss = 0.0;
    reference_differences(truth, &p->batch, theta, NULL, 1e-5, differences);
    fgsf_bellman *bellman = NULL;
    double error = INFINITY;
    if (fgsf_bellman_create(device, &p->params, &bellman) == FGSF_OK &&
        fgsf_bellman_run(bellman, &p->batch, p->net, NULL, &loss) == FGSF_OK) {
        error = reference_error(fgsf_bellman_gradient(bellman), differences, size);
        double exact = reference_bellman(truth, &p->batch, theta, NULL, NULL);
        error = worse(error, fabs(loss - exact) / exact);
    } else {
        fprintf(stderr, "%s\n", fgsf_last_error());
    }
    fgsf_bellman_free(bellman);
    free(theta);
    free(differences);
    return error;
}

TEST matches_differences(int kind, int device) {
    static const double mixes[] = {1.0, 0.0, 0.4};
    for (int m = 0; m < NUM(mixes); m++) {
        fgsf_bellman_params params = params_of(kind, mixes[m]);
        problem *p = draw(&params, (uint64_t)kind);
        double error = gradient_error(devices[device], p, &params);
        worst = worse(worst, error);
        ASSERT_BELOW(kinds[kind].name, error, LIMIT);
        problem_free(p);
    }
    PASS();
}

// A check that cannot fail proves nothing: differences of the semi objective reject the full gradient.
TEST tells_gradients_apart(int kind) {
    fgsf_bellman_params params = params_of(kind, 1.0), semi = params_of(kind, 0.0);
    problem *p = draw(&params, 77);
    ASSERT_BELOW(kinds[kind].name, 0.01, gradient_error(devices[0], p, &semi));
    problem_free(p);
    PASS();
}

// Pairs that name the same state give the gradient of pairs with copies of it.
TEST shares_states(int kind, int device) {
    fgsf_bellman_params params = params_of(kind, 1.0);
    problem *p = problem_create(&params, PAIRS, 5);
    static const int32_t state[PAIRS] = {0, 1, 2, 2, 0, 1};
    size_t input = (size_t)params.shape.input, size = fgsf_network_flat_size(&params.shape);
    float *s = malloc(2 * PAIRS * input * sizeof(float)), *s_next = s + PAIRS * input;
    double *copied = reference_zeros(size), loss[2];
    fgsf_batch batch = p->batch;
    for (size_t b = 0; b < PAIRS; b++) {
        memcpy(s + b * input, p->s + (size_t)state[b] * input, input * sizeof(float));
        memcpy(s_next + b * input, p->s_next + (size_t)state[b] * input, input * sizeof(float));
    }
    batch.s = s;
    batch.s_next = s_next;
    fgsf_bellman *bellman = NULL;
    ASSERT_OK(fgsf_bellman_create(devices[device], &params, &bellman));
    ASSERT_OK(fgsf_bellman_run(bellman, &batch, p->net, NULL, &loss[0]));
    for (size_t i = 0; i < size; i++) copied[i] = fgsf_bellman_gradient(bellman)[i];
    p->batch.state = state;
    p->batch.states = 3;
    ASSERT_OK(fgsf_bellman_run(bellman, &p->batch, p->net, NULL, &loss[1]));
    ASSERT_BELOW("loss", fabs(loss[0] - loss[1]), 1e-6 * loss[0]);
    ASSERT_BELOW("gradient", reference_error(fgsf_bellman_gradient(bellman), copied, size), 2e-6);
    p->batch.states = 2;
    ASSERT_REFUSED(fgsf_bellman_run(bellman, &p->batch, p->net, NULL, &loss[1]),
                   "batch.state[2]: 2 of 2 states");
    fgsf_bellman_free(bellman);
    free(s);
    free(copied);
    problem_free(p);
    PASS();
}

// ---- Evaluation ----------------------------------------------------------------------------------

// Folded or not, Q of every head under every reward is what x and rho give in double precision.
TEST evaluates(int kind, int device) {
    fgsf_bellman_params params = params_of(kind, 1.0);
    const fgsf_network_shape *shape = &params.shape;
    problem *p = problem_create(&params, PAIRS, (uint64_t)kind);
    static const float rho[] = {1.0f, -2.0f, 0.5f, 0.25f, 3.0f, -1.0f};
    double *theta = reference_parameters(p->net), *x = reference_zeros(reference_outputs(shape));
    int all = fgsf_shape_actions(shape), count = PAIRS * 2 * all;
    double *q = reference_zeros((size_t)count);
    float *folded = calloc((size_t)count, sizeof(float)), *plain = calloc((size_t)count, 4);
    for (int b = 0; b < PAIRS; b++) {
        reference_forward(shape, theta, p->s + b * shape->input, x);
        for (int i = 0; i < 2 * all * shape->features; i++) {
            int f = i % shape->features, a = i / shape->features % all,
                r = i / shape->features / all;
            q[(b * 2 + r) * all + a] += x[a * shape->features + f] * rho[r * shape->features + f];
        }
    }
    fgsf_gpe *gpe = NULL;
    ASSERT_OK(fgsf_gpe_create(devices[device], shape, PAIRS, &gpe));
    ASSERT_OK(fgsf_gpe_run(gpe, p->net, rho, 2, p->s, PAIRS, folded));
    ASSERT_OK(fgsf_gpe_run_plain(gpe, p->net, rho, 2, p->s, PAIRS, plain));
    ASSERT_BELOW("folded", reference_error(folded, q, (size_t)count), LIMIT);
    ASSERT_BELOW("plain", reference_error(plain, q, (size_t)count), LIMIT);
    fgsf_gpe_free(gpe);
    free(theta);
    free(x);
    free(q);
    free(folded);
    free(plain);
    problem_free(p);
    PASS();
}

// ---- Products ------------------------------------------------------------------------------------

// A body whose product has three dimensions, which lower.c leaves to ggml.
static struct ggml_tensor *deep_forward(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                        struct ggml_tensor *const *p, struct ggml_tensor *s) {
    (void)shape;
    struct ggml_tensor *h = ggml_mul_mat(ctx, p[0], s);
    int64_t half = h->ne[0] / 2, rows = h->ne[1];
    struct ggml_tensor *left = ggml_reshape_3d(ctx, h, half, 2, rows);
    h = ggml_reshape_2d(ctx, ggml_mul_mat(ctx, left, left), 4, rows);
    return ggml_mul_mat(ctx, p[1], h);
}

static void deep_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "in", 8, shape->input, FGSF_FILL_WEIGHTS, shape->input);
    fgsf_parameters_add(out, "out", outputs, 4, FGSF_FILL_WEIGHTS, 4);
}

static const fgsf_network_def deep = {
    .name = "deep", .summary = "", .parameters = deep_parameters, .forward = deep_forward};

// Builds every graph of a definition on a new device and counts products that were left to ggml.
static bool count_left(fgsf_bellman_params params, int *products, int *left) {
    fgsf_device *device = NULL;
    bool good = fgsf_device_open("auto", &device) == FGSF_OK;
    for (int m = 0; m < 3 && good; m++) {
        fgsf_bellman *bellman = NULL;
        params.grad_mix = 0.5 * m;
        good = fgsf_bellman_create(device, &params, &bellman) == FGSF_OK;
        fgsf_bellman_free(bellman);
    }
    fgsf_gpe *gpe = NULL;
    good = good && fgsf_gpe_create(device, &params.shape, PAIRS, &gpe) == FGSF_OK;
    fgsf_gpe_free(gpe);
    *products = device->products;
    *left = device->products_left;
    fgsf_device_free(device);
    return good;
}

TEST lowers_every_product(int kind) {
    int products = 0, left = -1;
    ASSERT(count_left(params_of(kind, 1.0), &products, &left));
    ASSERT(products > 10);
    ASSERT_EQ_FMTm(kinds[kind].name, 0, left, "%d");
    PASS();
}

TEST counts_products_that_are_left(void) {
    fgsf_bellman_params params = params_of(0, 1.0);
    int products = 0, left = 0;
    params.shape.def = &deep;
    ASSERT(count_left(params, &products, &left));
    ASSERT(left > 0 && left < products);
    PASS();
}

// As many products as parameters, more than anything else in the graph: all find room and are lowered.
static struct ggml_tensor *wide_forward(struct ggml_context *ctx, const fgsf_network_shape *shape,
                                        struct ggml_tensor *const *p, struct ggml_tensor *s) {
    (void)shape;
    struct ggml_tensor *x = ggml_mul_mat(ctx, p[0], s);
    for (int i = 1; i < FGSF_MAX_PARAMETERS; i++) {
        x = ggml_add(ctx, x, ggml_mul_mat(ctx, p[i], s));
    }
    return x;
}

static void wide_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    for (int i = 0; i < FGSF_MAX_PARAMETERS; i++) {
        fgsf_parameters_add(out, "w", shape->actions * shape->features, shape->input,
                            FGSF_FILL_WEIGHTS, shape->input);
    }
}

TEST many_products_have_room(void) {
    static const fgsf_network_def wide = {
        .name = "wide", .summary = "", .parameters = wide_parameters, .forward = wide_forward};
    fgsf_bellman_params params = params_of(0, 1.0);
    int products = 0, left = -1;
    params.shape.def = &wide;
    ASSERT(count_left(params, &products, &left));
    ASSERT(products > 4 * FGSF_MAX_PARAMETERS);
    ASSERT_EQ_FMT(0, left, "%d");
    PASS();
}

// ---- What is refused -----------------------------------------------------------------------------

typedef struct ggml_tensor tensor;
typedef struct ggml_context context;

static tensor *head(context *ctx, tensor *const *p, tensor *h) {
    return ggml_mul_mat(ctx, p[1], h);
}

static tensor *body(context *ctx, tensor *const *p, tensor *s) {
    return ggml_mul_mat(ctx, p[0], s);
}

#define FORWARD(name, result)                                                                      \
    static tensor *name##_forward(context *ctx, const fgsf_network_shape *shape, tensor *const *p, \
                                  tensor *s) {                                                     \
        (void)shape;                                                                               \
        tensor *h = body(ctx, p, s);                                                               \
        (void)h;                                                                                   \
        return result;                                                                             \
    }
FORWARD(tanh, head(ctx, p, ggml_tanh(ctx, h)))
FORWARD(sigmoid, head(ctx, p, ggml_sigmoid(ctx, h)))
FORWARD(norm, head(ctx, p, ggml_norm(ctx, h, 1e-5f)))
FORWARD(mean, head(ctx, p, ggml_sub(ctx, h, ggml_mean(ctx, h))))
FORWARD(concat, ggml_concat(ctx, h, h, 0))
FORWARD(sub, head(ctx, p, ggml_sub(ctx, h, ggml_sum_rows(ctx, h))))
FORWARD(div, head(ctx, p, ggml_div(ctx, h, p[2])))
FORWARD(inplace, head(ctx, p, ggml_relu_inplace(ctx, h)))
FORWARD(transpose,
        head(ctx, p, ggml_cont(ctx, ggml_transpose(ctx, ggml_cont(ctx, ggml_transpose(ctx, h))))))
FORWARD(half, head(ctx, p, ggml_cast(ctx, ggml_cast(ctx, h, GGML_TYPE_F16), GGML_TYPE_F32)))
FORWARD(short, h)
FORWARD(none, NULL)
FORWARD(product,
        head(ctx, p, ggml_mul_mat(ctx, ggml_mul_mat(ctx, p[0], ggml_transpose(ctx, p[3])), h)))
FORWARD(turned_sum,
        head(ctx, p, ggml_mul_mat(ctx, ggml_add(ctx, ggml_transpose(ctx, p[4]), p[4]), h)))
FORWARD(twice, head(ctx, p,
                    ggml_add(ctx, ggml_mul_mat(ctx, p[4], h),
                             ggml_mul_mat(ctx, ggml_cont(ctx, ggml_transpose(ctx, p[4])), h))))
FORWARD(view, head(ctx, p,
                   ggml_cont(ctx, ggml_view_2d(ctx, ggml_transpose(ctx, p[3]), 3, s->ne[1], 4, 0))))
FORWARD(repeated,
        head(ctx, p,
             ggml_reshape_2d(ctx, ggml_mul_mat(ctx, p[4], ggml_reshape_3d(ctx, h, 3, 1, h->ne[1])),
                             3, h->ne[1])))
FORWARD(rows, ggml_reshape_2d(ctx,
                              ggml_get_rows(ctx,
                                            ggml_reshape_3d(ctx, ggml_mul_mat(ctx, p[1], h), 6, 1,
                                                            h->ne[1]),
                                            ggml_reshape_2d(ctx, ggml_argmax(ctx, s), 1, h->ne[1])),
                              6, h->ne[1]))
FORWARD(mask, head(ctx, p, ggml_soft_max_ext(ctx, h, h, 1.0f, 0.0f)))
FORWARD(constant, ggml_repeat_4d(ctx, s, 6, s->ne[1], 1, 1))

static void refused_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "in", 3, shape->input, FGSF_FILL_WEIGHTS, shape->input);
    fgsf_parameters_add(out, "out", outputs, 3, FGSF_FILL_WEIGHTS, 3);
    fgsf_parameters_add(out, "divisor", 1, 3, FGSF_FILL_ONES, 3);
    fgsf_parameters_add(out, "other", shape->input, 3, FGSF_FILL_WEIGHTS, 3);
    fgsf_parameters_add(out, "square", 3, 3, FGSF_FILL_WEIGHTS, 3);
}

// ggml adds the sinks' place after the node is made.
static tensor *sinks_forward(context *ctx, const fgsf_network_shape *shape, tensor *const *p,
                             tensor *s) {
    (void)shape;
    tensor *h = ggml_soft_max(ctx, body(ctx, p, s));
    ggml_soft_max_add_sinks(h, ggml_view_1d(ctx, p[2], 1, 0));
    return head(ctx, p, h);
}

TEST refuses(const char *name,
             tensor *(*forward)(context *, const fgsf_network_shape *, tensor *const *, tensor *),
             fgsf_status expected, const char *message) {
    fgsf_network_def def = {
        .name = name, .summary = "", .parameters = refused_parameters, .forward = forward};
    fgsf_bellman_params params = params_of(0, 1.0);
    params.shape.def = &def;
    params.shape.input = strcmp(name, "constant") == 0 ? 3 : params.shape.input;
    fgsf_bellman *bellman = NULL;
    ASSERT_EQ_FMTm(name, (int)expected, (int)fgsf_bellman_create(devices[0], &params, &bellman),
                   "%d");
    ASSERT_EQ(NULL, bellman);
    ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), name));
    ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), message));
    PASS();
}

SUITE(refusals) {
    static const fgsf_status no = FGSF_ERR_UNSUPPORTED;
    RUN_TESTp(refuses, "tanh", tanh_forward, no, "cannot differentiate TANH;");
    RUN_TESTp(refuses, "sigmoid", sigmoid_forward, no, "cannot differentiate SIGMOID;");
    RUN_TESTp(refuses, "norm", norm_forward, no, "cannot differentiate NORM;");
    RUN_TESTp(refuses, "mean", mean_forward, no, "cannot differentiate MEAN;");
    RUN_TESTp(refuses, "concat", concat_forward, no, "cannot differentiate CONCAT;");
    RUN_TESTp(refuses, "sub", sub_forward, no, "SUB with a second operand that is repeated");
    RUN_TESTp(refuses, "div", div_forward, no, "DIV with a second operand that is repeated");
    RUN_TESTp(refuses, "inplace", inplace_forward, no, "RELU in place");
    RUN_TESTp(refuses, "transpose", transpose_forward, no, "TRANSPOSE of what is not");
    RUN_TESTp(refuses, "twice", twice_forward, no, "TRANSPOSE of what is read before;");
    RUN_TESTp(refuses, "product", product_forward, no, "MUL_MAT of what is transposed;");
    RUN_TESTp(refuses, "turned_sum", turned_sum_forward, no, "ADD of what is transposed;");
    RUN_TESTp(refuses, "view", view_forward, no, "VIEW of what is not contiguous;");
    RUN_TESTp(refuses, "sinks", sinks_forward, no, "SOFT_MAX with sinks;");
    RUN_TESTp(refuses, "repeated", repeated_forward, no,
              "MUL_MAT with an operand that is repeated;");
    RUN_TESTp(refuses, "rows", rows_forward, no, "GET_ROWS of more than a matrix;");
    RUN_TESTp(refuses, "mask", mask_forward, no, "SOFT_MAX with such a mask;");
    RUN_TESTp(refuses, "half", half_forward, no, "of another type than float");
    RUN_TESTp(refuses, "short", short_forward, FGSF_ERR_INVALID, "9 numbers for 3 rows of 6");
    RUN_TESTp(refuses, "none", none_forward, FGSF_ERR_INVALID, "0 numbers");
    RUN_TESTp(refuses, "constant", constant_forward, FGSF_ERR_INVALID, "no parameter");
}

TEST registers(void) {
    ASSERT_OK(fgsf_network_register(&residual));
    ASSERT_OK(fgsf_network_register(&residual)); // the same again
    ASSERT_EQ(&residual, fgsf_network_def_find("residual"));
    ASSERT_EQ(&residual, fgsf_network_def_at(2));
    fgsf_network_def def = residual;
    ASSERT_REFUSED(fgsf_network_register(&def), "network 'residual' is registered already");
    def.name = "two words";
    ASSERT_REFUSED(fgsf_network_register(&def), "network 'two words'");
    def = turned;
    def.shared = true;
    ASSERT_REFUSED(fgsf_network_register(&def), "network 'turned': shared needs linear_head");
    def.forward = NULL;
    ASSERT_REFUSED(fgsf_network_register(&def), "a network needs the functions parameters");
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    shape.heads = 2;
    ASSERT_REFUSED(fgsf_network_shape_check(&shape), "network.heads: 2, but 'mlp' has one head");
    PASS();
}

// A definition that lists something else than it says is refused before anything reads it.
static int lies; // which one `lying_parameters` tells

static void lying_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "w", lies == 1 ? 5 : outputs, shape->input, FGSF_FILL_WEIGHTS,
                        lies == 2 ? 0 : shape->input);
    if (lies != 3) fgsf_parameters_add(out, "b", 1, outputs - (lies == 4), FGSF_FILL_ZEROS, 0);
    for (int i = 2; lies == 5 && i <= FGSF_MAX_PARAMETERS; i++) {
        fgsf_parameters_add(out, "b", 1, outputs, FGSF_FILL_ZEROS, 0);
    }
}

TEST refuses_lists(void) {
    static const fgsf_network_def def = {.name = "lying",
                                         .summary = "",
                                         .parameters = lying_parameters,
                                         .forward = wide_forward,
                                         .linear_head = true};
    static const char head[] = "network 'lying': with linear_head the last parameters must be W";
    static const char list[] = "network 'lying': 1 to 64 parameters";
    static const char *const says[] = {NULL, head, list, head, head, list};
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    shape.def = &def;
    lies = 0;
    ASSERT_OK(fgsf_network_shape_check(&shape));
    for (lies = 1; lies < NUM(says); lies++) {
        ASSERT_REFUSED(fgsf_network_shape_check(&shape), says[lies]);
    }
    lies = 3; // no b, which is right without biases
    shape.bias = false;
    ASSERT_OK(fgsf_network_shape_check(&shape));
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    reference_user_forward = user_forward;
    for (int d = 0; d < NUM_DEVICES; d++) {
        if (fgsf_device_open(device_names[d], &devices[d]) != FGSF_OK) return 1;
    }
    for (int kind = 0; kind < NUM(kinds); kind++) {
        for (int d = 0; d < NUM_DEVICES; d++) {
            RUN_TESTp(matches_differences, kind, d);
            RUN_TESTp(evaluates, kind, d);
            RUN_TESTp(shares_states, kind, d);
        }
        RUN_TEST1(tells_gradients_apart, kind);
        RUN_TEST1(lowers_every_product, kind);
    }
    printf("\nworst error against central differences: %.2e\n", worst);
    RUN_TEST(counts_products_that_are_left);
    RUN_TEST(many_products_have_room);
    RUN_SUITE(refusals);
    RUN_TEST(refuses_lists);
    RUN_TEST(registers);
    for (int d = 0; d < NUM_DEVICES; d++) fgsf_device_free(devices[d]);
    GREATEST_MAIN_END();
}
