// Where a step's time goes: each part alone, beside the cblas_sgemm calls that it cannot do without.
// The ratio of the two says what is left to gain without a faster sgemm.
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas_kernel.h"
#include "fgsf/bellman.h"
#include "fgsf/gpe.h"
#include "fgsf/optimizer.h"
#include "overhead_modes.h"
#include "say.h"

#define PROGRAM "overhead"
#define SGEMM_EVERY 10
#define MAX_LAYERS (FGSF_MAX_HIDDEN + 1)

typedef struct parts {
    fgsf_network_shape shape;
    int batch;
    bool full;
    fgsf_device *device;
    fgsf_network *net, *target;
    fgsf_bellman *bellman;
    fgsf_gpe *gpe;
    fgsf_optimizer *opt;
    float *s, *s_next, *y, *discount, *q, *rho;
    int32_t *a, *a_next;
    float *left, *right, *out; // operands of the products alone
} parts;

// --- what the parts work on ---------------------------------------------------------------------

static bool allocate(parts *p) {
    size_t rows = 2 * (size_t)p->batch, widest = 0;
    for (int l = 0; l < p->shape.num_hidden; l++) {
        widest = (size_t)p->shape.hidden[l] > widest ? (size_t)p->shape.hidden[l] : widest;
    }
    size_t outputs = (size_t)(p->shape.actions * p->shape.features);
    size_t width = (size_t)p->shape.input + widest + outputs;
    size_t operand = (rows > width ? rows : width) * width;
    p->s = calloc(rows * (size_t)p->shape.input, sizeof(float));
    p->s_next = calloc(rows * (size_t)p->shape.input, sizeof(float));
    p->y = calloc(rows * (size_t)p->shape.features, sizeof(float));
    p->discount = calloc(rows, sizeof(float));
    p->q = calloc(rows * (size_t)p->shape.actions, sizeof(float));
    p->rho = calloc((size_t)p->shape.features, sizeof(float));
    p->a = calloc(rows, sizeof(int32_t));
    p->a_next = calloc(rows, sizeof(int32_t));
    p->left = calloc(operand, sizeof(float));
    p->right = calloc(operand, sizeof(float));
    p->out = calloc(operand, sizeof(float));
    return p->s && p->s_next && p->y && p->discount && p->q && p->rho && p->a && p->a_next &&
           p->left && p->right && p->out;
}

static void fill(parts *p) {
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    for (int i = 0; i < p->batch * p->shape.input; i++) { // as sparse as Four Rooms
        p->s[i] = (float)(fgsf_rng_uniform(&rng) < 0.2);
        p->s_next[i] = (float)(fgsf_rng_uniform(&rng) < 0.2);
    }
    for (int b = 0; b < p->batch; b++) {
        p->a[b] = (int32_t)fgsf_rng_below(&rng, (uint64_t)p->shape.actions);
        p->a_next[b] = (int32_t)fgsf_rng_below(&rng, (uint64_t)p->shape.actions);
        p->discount[b] = 0.95f;
    }
    for (int f = 0; f < p->shape.features; f++) p->rho[f] = 1.0f;
    fgsf_network_init(p->net, FGSF_NORMAL_FAN_IN, &rng);
    fgsf_network_track(p->target, p->net, 1.0f);
}

static fgsf_status create(parts *p) {
    fgsf_bellman_params params = fgsf_bellman_default_params(&p->shape);
    params.max_pairs = p->batch;
    params.grad_mix = p->full ? 1.0 : 0.0;
    params.target_network = !p->full;
    fgsf_optimizer_params opt = fgsf_optimizer_default_params();
    opt.clip = 1.0;
    fgsf_status status = allocate(p) ? FGSF_OK : FGSF_ERR_MEMORY;
    if (status == FGSF_OK) status = fgsf_device_open("auto", &p->device);
    if (status == FGSF_OK) status = fgsf_network_create(&p->shape, &p->net);
    if (status == FGSF_OK) status = fgsf_network_create(&p->shape, &p->target);
    if (status == FGSF_OK) status = fgsf_bellman_create(p->device, &params, &p->bellman);
    if (status == FGSF_OK) status = fgsf_gpe_create(p->device, &p->shape, p->batch, &p->gpe);
    if (status == FGSF_OK) status = fgsf_optimizer_create(&opt, p->net, &p->opt);
    if (status == FGSF_OK) fill(p);
    return status;
}

static void destroy(parts *p) {
    float *arrays[] = {p->s, p->s_next, p->y, p->discount, p->q, p->rho, p->left, p->right, p->out};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(p->a);
    free(p->a_next);
    fgsf_optimizer_free(p->opt);
    fgsf_gpe_free(p->gpe);
    fgsf_bellman_free(p->bellman);
    fgsf_network_free(p->target);
    fgsf_network_free(p->net);
    fgsf_device_free(p->device);
}

// --- the parts ----------------------------------------------------------------------------------

static bool run_update(parts *p) {
    double loss;
    fgsf_batch batch = {.pairs = p->batch,
                        .s = p->s,
                        .a = p->a,
                        .y = p->y,
                        .s_next = p->s_next,
                        .a_next = p->a_next,
                        .discount = p->discount};
    const fgsf_network *target = p->full ? NULL : p->target;
    return fgsf_bellman_run(p->bellman, &batch, p->net, target, &loss) == FGSF_OK;
}

static bool run_gpe(parts *p) {
    fgsf_network_edit(p->net); // as after an update
    return fgsf_gpe_run(p->gpe, p->net, p->rho, 1, p->s_next, p->batch, p->q) == FGSF_OK;
}

static bool run_optimizer(parts *p) {
    double norm;
    return fgsf_optimizer_step(p->opt, p->net, fgsf_bellman_gradient(p->bellman), 1e-9, &norm) ==
           FGSF_OK;
}

// The weights of the network, layer by layer.
static int list_weights(const parts *p, fgsf_parameter weights[MAX_LAYERS]) {
    fgsf_parameters all;
    int count = 0;
    fgsf_network_list(&p->shape, &all);
    for (int i = 0; i < all.count; i++) {
        if (all.list[i].fill == FGSF_FILL_WEIGHTS) weights[count++] = all.list[i];
    }
    return count;
}

// y (rows, out) = x (rows, in) W (out, in)^T, as the forward pass has it.
static void forward_products(parts *p, int rows, int outputs) {
    fgsf_parameter weights[MAX_LAYERS];
    int n = list_weights(p, weights);
    for (int l = 0; l < n; l++) {
        int in = weights[l].columns, out = l + 1 < n ? weights[l].rows : outputs;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1.0f, p->left, in,
                    p->right, in, 0.0f, p->out, out);
    }
}

// dW (out, in) = dy^T x for every layer, dx (rows, in) = dy W for all but the first.
static void backward_products(parts *p, int rows) {
    fgsf_parameter weights[MAX_LAYERS];
    for (int l = list_weights(p, weights) - 1; l >= 0; l--) {
        int in = weights[l].columns, out = weights[l].rows;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, rows, 1.0f, p->left, out,
                    p->right, in, 0.0f, p->out, in);
        if (l > 0) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, in, out, 1.0f, p->left,
                        out, p->right, in, 0.0f, p->out, in);
        }
    }
}

static bool run_update_floor(parts *p) {
    int outputs = p->shape.actions * p->shape.features;
    forward_products(p, 2 * p->batch, outputs);
    backward_products(p, p->full ? 2 * p->batch : p->batch);
    return true;
}

static bool run_gpe_floor(parts *p) {
    forward_products(p, p->batch, p->shape.actions);
    return true;
}

// --- timing -------------------------------------------------------------------------------------

// Median milliseconds of two functions taken in turns; the second may be NULL. The third number is
// sgemm's GFLOP/s in between.
static bool time_two(parts *p, bool (*first)(parts *), bool (*second)(parts *), int rounds,
                     double ms[3]) {
    double *times[3];
    for (int k = 0; k < 3; k++) times[k] = calloc((size_t)rounds, sizeof(double));
    bool (*run[2])(parts *) = {first, second};
    bool good = times[0] && times[1] && times[2];
    int looks = 0;
    for (int i = -3; i < rounds && good; i++) { // the first three warm up
        for (int k = 0; k < 2 && good && run[k]; k++) {
            double start = fgsf_bench_cpu_seconds();
            good = run[k](p);
            if (i >= 0) times[k][i] = 1e3 * (fgsf_bench_cpu_seconds() - start);
        }
        if (i >= 0 && i % SGEMM_EVERY == 0) times[2][looks++] = fgsf_bench_sgemm();
    }
    for (int k = 0; k < 3; k++) {
        bool known = good && (k == 2 || run[k]);
        ms[k] = known ? fgsf_bench_quantile(times[k], k == 2 ? looks : rounds, 0.5) : NAN;
        free(times[k]);
    }
    return good;
}

static bool measure_part(const fgsf_overhead_options *o, parts *p, const char *name, double gflop,
                         bool (*run)(parts *), bool (*floor)(parts *)) {
    double ms[3];
    if (!time_two(p, run, floor, (int)o->steps, ms)) {
        fgsf_say(PROGRAM ": %s", fgsf_last_error());
        return false;
    }
    printf(o->table ? "%-24s %9.4f %9.4f %8.3f %9.5f %8.1f %6.3f\n"
                    : "%s,%.6g,%.6g,%.4g,%.6g,%.6g,%.4g\n",
           name, ms[0], ms[1], ms[1] / ms[0], gflop, 1e3 * gflop / ms[0],
           1e3 * gflop / ms[0] / ms[2]);
    fflush(stdout);
    return true;
}

static bool measure_shape(const fgsf_overhead_options *o, int width, int features, bool full) {
    parts p = {.shape = {.input = 38,
                         .num_hidden = 2,
                         .hidden = {width, width},
                         .actions = 4,
                         .features = features,
                         .bias = true},
               .batch = (int)o->batch,
               .full = full};
    char name[64];
    bool good = create(&p) == FGSF_OK;
    if (!good) {
        fgsf_say(PROGRAM ": %s", fgsf_last_error());
    } else {
        snprintf(name, sizeof name, "%s gradient, %dx%d", full ? "full" : "semi", width, width);
        good = run_update(&p) && measure_part(o, &p, name, 1e-9 * fgsf_bellman_flops(p.bellman),
                                              run_update, run_update_floor);
    }
    if (good && full) {
        snprintf(name, sizeof name, "evaluation, %dx%d", width, width);
        good = run_gpe(&p) &&
               measure_part(o, &p, name, 1e-9 * fgsf_gpe_flops(p.gpe), run_gpe, run_gpe_floor) &&
               measure_part(o, &p, "clip and Adam", 0.0, run_optimizer, NULL);
    }
    destroy(&p);
    return good;
}

int fgsf_overhead_parts(const fgsf_overhead_options *o) {
    openblas_set_num_threads(1);
    if (o->table) {
        printf("batch %ld, 38 inputs, median ms; floor: the sgemm calls alone; kernels: %s\n",
               o->batch, fgsf_driver_blas_kernel());
        printf("%-24s %9s %9s %8s %9s %8s %6s\n", "part", "ms", "floor ms", "floor/ms", "GFLOP",
               "GFLOP/s", "eff.");
    } else {
        printf("part,ms,floor_ms,floor_ratio,gflop,gflops,efficiency\n");
    }
    bool good = measure_shape(o, 256, 4, true) && measure_shape(o, 256, 4, false) &&
                measure_shape(o, 128, 1, true) && measure_shape(o, 128, 1, false);
    return good ? 0 : 2;
}
