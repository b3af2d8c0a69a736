// Where a step's time goes: each part alone, beside the cblas_sgemm calls that it cannot do without
// (the ratio of the two says what is left to gain without a faster sgemm), and what each kind of
// gradient costs. What is compared takes turns, so that all of it sees the same machine.
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "blas_kernel.h"
#include "overhead_modes.h"

#define COUNT(array) (int)(sizeof array / sizeof *array)
#define SGEMM_EVERY 10
#define LAYERS 3

typedef fgsf_status part(fgsf_parts *p);

// Takes turns with `count` parts, `rounds` times; `ms` gets their medians and *sgemm what sgemm
// reached in between. False after a message.
static bool take_turns(int count, part *const *run, fgsf_parts *const *of, int rounds, double *ms,
                       double *sgemm) {
    double *times = calloc((size_t)(count + 1) * (size_t)rounds, sizeof *times);
    fgsf_status status = times ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory for times");
    int looks = 0;
    for (int i = -3; i < rounds && status == FGSF_OK; i++) { // the first three warm up
        for (int k = 0; k < count && status == FGSF_OK; k++) {
            double start = fgsf_bench_cpu_seconds();
            status = run[k](of[k]);
            if (i >= 0) times[k * rounds + i] = 1e3 * (fgsf_bench_cpu_seconds() - start);
        }
        if (i >= 0 && i % SGEMM_EVERY == 0) times[count * rounds + looks++] = fgsf_bench_sgemm();
    }
    for (int k = 0; k < count && status == FGSF_OK; k++) {
        ms[k] = fgsf_bench_quantile(times + k * rounds, rounds, 0.5);
    }
    if (times) *sgemm = fgsf_bench_quantile(times + count * rounds, looks, 0.5);
    free(times);
    return status == FGSF_OK || fgsf_overhead_fail();
}

// --- the parts and their products ---------------------------------------------------------------

static float *operands[3]; // of the products alone: two factors and the result

static bool make_operands(const fgsf_parts *p) {
    size_t rows = 2 * (size_t)p->batch.pairs, width = (size_t)p->shape.hidden[0] + 64;
    bool good = true;
    for (int i = 0; i < 3; i++) {
        free(operands[i]);
        operands[i] = calloc((rows > width ? rows : width) * width, sizeof(float));
        good = good && operands[i];
    }
    return good || (fgsf_fail(FGSF_ERR_MEMORY, "no memory for operands"), fgsf_overhead_fail());
}

static void multiply(bool turn_left, bool turn_right, int m, int n, int k) {
    cblas_sgemm(CblasRowMajor, turn_left ? CblasTrans : CblasNoTrans,
                turn_right ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, operands[0],
                turn_left ? m : k, operands[1], turn_right ? k : n, 0.0f, operands[2], n);
}

// y (rows, out) = x (rows, in) W (out, in)^T for every layer; backward dW (out, in) = dy^T x, and dx
// (rows, in) = dy W for all but the first.
static void products(const fgsf_parts *p, int rows, int backward_rows, int outputs) {
    int width = p->shape.hidden[0], in[LAYERS] = {p->shape.input, width, width};
    int out[LAYERS] = {width, width, outputs};
    for (int l = 0; l < LAYERS; l++) multiply(false, true, rows, out[l], in[l]);
    for (int l = LAYERS - 1; l >= 0 && backward_rows; l--) {
        multiply(true, false, out[l], in[l], backward_rows);
        if (l > 0) multiply(false, false, backward_rows, in[l], out[l]);
    }
}

static fgsf_status gradient_floor(fgsf_parts *p) {
    int pairs = p->batch.pairs, outputs = p->shape.actions * p->shape.features;
    products(p, 2 * pairs, p->kind == FGSF_FULL ? 2 * pairs : pairs, outputs);
    return FGSF_OK;
}

static fgsf_status evaluation_floor(fgsf_parts *p) {
    products(p, p->batch.pairs, 0, p->shape.actions);
    return FGSF_OK;
}

static fgsf_status no_floor(fgsf_parts *p) {
    (void)p;
    return FGSF_OK;
}

static double gradient_flops(const fgsf_parts *p) {
    return fgsf_bellman_flops(p->bellman);
}

static double evaluation_flops(const fgsf_parts *p) {
    return fgsf_gpe_flops(p->gpe);
}

static const struct row {
    const char *name;
    enum fgsf_gradient_kind kind;
    int width, features;
    part *run, *floor;
    double (*flops)(const fgsf_parts *p);
} ROWS[] = {
    {"full gradient", FGSF_FULL, 256, 4, fgsf_parts_gradient, gradient_floor, gradient_flops},
    {"semi gradient", FGSF_SEMI, 256, 4, fgsf_parts_gradient, gradient_floor, gradient_flops},
    {"evaluation", FGSF_FULL, 256, 4, fgsf_parts_evaluate, evaluation_floor, evaluation_flops},
    {"clip and Adam", FGSF_FULL, 256, 4, fgsf_parts_optimize, no_floor, NULL},
    {"full gradient", FGSF_FULL, 128, 1, fgsf_parts_gradient, gradient_floor, gradient_flops},
    {"semi gradient", FGSF_SEMI, 128, 1, fgsf_parts_gradient, gradient_floor, gradient_flops},
    {"evaluation", FGSF_FULL, 128, 1, fgsf_parts_evaluate, evaluation_floor, evaluation_flops},
    {"clip and Adam", FGSF_FULL, 128, 1, fgsf_parts_optimize, no_floor, NULL},
};

static bool measure_part(const fgsf_overhead_options *o, const fgsf_overhead_table *t,
                         const struct row *r) {
    fgsf_parts p;
    char name[64];
    double ms[2], sgemm;
    fgsf_status status =
        fgsf_parts_open(&p, r->kind, r->kind == FGSF_SEMI, (int)o->batch, r->width, r->features);
    if (status == FGSF_OK) status = fgsf_parts_gradient(&p);
    bool good = status == FGSF_OK ? make_operands(&p) : fgsf_overhead_fail();
    good = good && take_turns(2, (part *const[]){r->run, r->floor}, (fgsf_parts *const[]){&p, &p},
                              (int)o->steps, ms, &sgemm);
    if (good) {
        double gflop = r->flops ? 1e-9 * r->flops(&p) : NAN, floor = r->flops ? ms[1] : NAN;
        snprintf(name, sizeof name, "%s, %dx%d", r->name, r->width, r->width);
        fgsf_overhead_row(o, t, name,
                          (double[]){ms[0], floor, floor / ms[0], gflop, 1e3 * gflop / ms[0],
                                     1e3 * gflop / ms[0] / sgemm});
    }
    fgsf_parts_close(&p);
    return good;
}

int fgsf_overhead_parts(const fgsf_overhead_options *o) {
    static const fgsf_overhead_column columns[] = {
        {"part", "part", 24, 0},           {"ms", "ms", 9, 4},       {"floor ms", "floor_ms", 9, 4},
        {"floor/ms", "floor_ratio", 8, 3}, {"GFLOP", "gflop", 9, 5}, {"GFLOP/s", "gflops", 8, 1},
        {"eff.", "efficiency", 6, 3},
    };
    fgsf_overhead_table t = {columns, COUNT(columns), NULL, NULL};
    openblas_set_num_threads(1);
    if (o->table) {
        printf("batch %ld, 38 inputs, median ms; floor: the sgemm calls alone; kernels: %s\n",
               o->batch, fgsf_driver_blas_kernel());
    }
    bool good = fgsf_overhead_begin(o, &t);
    for (int i = 0; i < COUNT(ROWS) && good; i++) good = measure_part(o, &t, &ROWS[i]);
    return fgsf_overhead_end(&t, good);
}

// --- the kinds of gradient ----------------------------------------------------------------------

static const struct kind {
    const char *name, *settings;
    enum fgsf_gradient_kind kind;
    bool target;
} KINDS[] = {
    {"semi", "gradient.kind=semi target.mode=none", FGSF_SEMI, false},
    {"semi, target network", "gradient.kind=semi target.mode=hard", FGSF_SEMI, true},
    {"full", "gradient.kind=full target.mode=none", FGSF_FULL, false},
    {"mix", "gradient.kind=mix gradient.eta=0.5 target.mode=none", FGSF_MIX, false},
    {"corrected", "gradient.kind=corrected target.mode=none", FGSF_CORRECTED, false},
    {"gtd2", "gradient.kind=gtd2 target.mode=none", FGSF_GTD2, false},
    {"bidirectional", "gradient.kind=bidirectional target.mode=hard", FGSF_BIDIRECTIONAL, false},
    {"convergent", "gradient.kind=convergent target.mode=hard", FGSF_CONVERGENT, false},
};
#define NUM_KINDS COUNT(KINDS)

// Rates so small that the networks stay as they started: which priors are best, and so the number of
// updates, is then the same for all kinds.
#define STANDING_STILL "sf.lr=1e-12 sf.lr_prior=1e-12 dqn.lr=1e-12 target.double=false"

// An update is the gradient and the optimiser's step, of the error network as well.
static bool measure_updates(const fgsf_overhead_options *o, const fgsf_overhead_table *t) {
    fgsf_parts parts[NUM_KINDS] = {{.kind = FGSF_SEMI}}, *of[NUM_KINDS];
    part *run[NUM_KINDS];
    double ms[NUM_KINDS], sgemm;
    fgsf_status status = FGSF_OK;
    for (int k = 0; k < NUM_KINDS; k++) {
        of[k] = &parts[k];
        run[k] = fgsf_parts_update;
        if (status == FGSF_OK) {
            status = fgsf_parts_open(of[k], KINDS[k].kind, KINDS[k].target, (int)o->batch, 256, 4);
        }
    }
    bool good = status == FGSF_OK || fgsf_overhead_fail();
    good = good && take_turns(NUM_KINDS, run, of, (int)o->steps, ms, &sgemm);
    for (int k = 0; k < NUM_KINDS; k++) {
        char name[64];
        double gflop = good ? 1e-9 * fgsf_bellman_flops(parts[k].bellman) : 0.0;
        snprintf(name, sizeof name, "update, %s", KINDS[k].name);
        const double values[] = {ms[k], ms[k] / ms[0],       1.0,
                                 gflop, 1e3 * gflop / ms[k], 1e3 * gflop / ms[k] / sgemm};
        if (good) fgsf_overhead_row(o, t, name, values);
        fgsf_parts_close(&parts[k]);
    }
    return good;
}

static bool open_steps(const fgsf_overhead_options *o, const char *method, fgsf_bench **benches) {
    static fgsf_config cfg;
    for (int k = 0; k < NUM_KINDS; k++) {
        fgsf_overhead_options settings = *o;
        fgsf_bench_setup setup = fgsf_overhead_setup(o);
        settings.sets[settings.num_sets++] = STANDING_STILL;
        settings.sets[settings.num_sets++] = KINDS[k].settings;
        if (!fgsf_overhead_configure(&settings, method, &cfg)) return false;
        if (!fgsf_bench_open(&cfg, &setup, &benches[k])) return fgsf_overhead_fail();
    }
    return true;
}

// Training steps of a method with each kind.
static bool measure_steps(const fgsf_overhead_options *o, const fgsf_overhead_table *t,
                          const char *method) {
    fgsf_bench *benches[NUM_KINDS] = {NULL};
    bool good = open_steps(o, method, benches);
    for (long done = 0; done < o->steps && good; done += FGSF_BENCH_CHUNK) {
        for (int k = 0; k < NUM_KINDS && good; k++) {
            good = fgsf_bench_run(benches[k], FGSF_BENCH_CHUNK) || fgsf_overhead_fail();
        }
    }
    double semi = good ? fgsf_bench_get(benches[0]).median_ms : NAN;
    for (int k = 0; k < NUM_KINDS; k++) {
        char name[64];
        fgsf_bench_figures f = {0};
        if (good) f = fgsf_bench_get(benches[k]);
        snprintf(name, sizeof name, "%s, %s", method, KINDS[k].name);
        const double values[] = {f.median_ms,      f.median_ms / semi, f.updates_per_step,
                                 f.gflop_per_step, f.gflops,           f.efficiency};
        if (good) fgsf_overhead_row(o, t, name, values);
        fgsf_bench_free(benches[k]);
    }
    return good;
}

int fgsf_overhead_kinds(const fgsf_overhead_options *o) {
    static const fgsf_overhead_column columns[] = {
        {"kind", "kind", 32, 0},      {"median ms", "median_ms", 9, 3},
        {"ratio", "ratio", 8, 2},     {"updates", "updates_per_step", 8, 2},
        {"GFLOP", "gflop", 9, 4},     {"GFLOP/s", "gflops", 8, 1},
        {"eff.", "efficiency", 6, 3},
    };
    fgsf_overhead_table t = {columns, COUNT(columns), NULL, NULL};
    openblas_set_num_threads(1);
    if (o->table) {
        printf("batch %ld, %ld tasks, preset %s; update: 38-256-256-16 alone; ratio to semi; "
               "kernels: %s\n",
               o->batch, o->tasks, o->preset, fgsf_driver_blas_kernel());
    }
    bool good = o->num_sets + 2 < FGSF_OVERHEAD_MAX_SETS && fgsf_overhead_begin(o, &t) &&
                measure_updates(o, &t);
    for (int m = 0; m < o->num_methods && good; m++) good = measure_steps(o, &t, o->methods[m]);
    return fgsf_overhead_end(&t, good);
}
