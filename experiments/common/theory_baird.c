// The study `baird`: seven states, eight weights, one policy, reward 0 (T5).
//
// The values are linear in the weights, the target policy always moves to state 7, and the states
// are updated equally often. The semi-gradient then runs away from the solution w = 0 that it has;
// the full gradient cannot, for it descends a loss. Three copies of the problem run in three
// feature columns of one network, as successor features would.
#include <math.h>
#include <string.h>

#include "theory.h"

#define STATES 7
#define WEIGHTS 8
#define COLUMNS 3
#define GAMMA 0.99
#define ALPHA 0.01

static const double START[WEIGHTS] = {1, 1, 1, 1, 1, 1, 10, 1};

// v(i) = 2 w_i + w_8 for the first six, v(7) = w_7 + 2 w_8; counted from 0.
static void write_input(float *input, int state) {
    input[state] = state < 6 ? 2.0f : 1.0f;
    input[WEIGHTS - 1] = state < 6 ? 1.0f : 2.0f;
}

static void open_baird(theory_report *report, enum fgsf_gradient_kind kind, double eta, int columns,
                       theory_problem *p) {
    fgsf_bellman_params params = theory_table(WEIGHTS, 1, columns, STATES);
    params.kind = kind;
    params.grad_mix = eta;
    theory_problem_open(report, &params, p);
    for (int s = 0; s < STATES && report->status == FGSF_OK; s++) {
        theory_add_transition(p, s, 0, 1.0 / STATES, STATES - 1, 0, GAMMA, NULL);
        write_input(p->s + (size_t)s * WEIGHTS, s);
        write_input(p->s_next + (size_t)s * WEIGHTS, STATES - 1);
    }
    for (int i = 0; i < columns * WEIGHTS; i++) {
        theory_set(p, i % WEIGHTS, 0, i / WEIGHTS, START[i % WEIGHTS]);
    }
    theory_keep_double(p);
}

static double norm(const theory_problem *p, int column) {
    double sum = 0.0;
    for (int i = 0; i < WEIGHTS; i++) sum += pow(theory_get(p, i, 0, column), 2.0);
    return sqrt(sum);
}

// Mean over the states of delta^2, per column: the loss is half the sum over columns.
static double mean_square(theory_problem *p) {
    return 2.0 * theory_loss(p) / p->params.shape.features;
}

#define MARKS 6
static const int SWEEPS[MARKS] = {0, 1, 10, 100, 1000, 10000};

// Norm of the weights, then mean delta^2, after that many sweeps, from the same updates in double; 0
// where they are not compared.
typedef double expected[2][MARKS];
static const expected SEMI = {{10.344080, 10.366396, 10.609470, 16.826342, 436.856, 1.0727e12},
                              {67.591543, 67.947416, 71.232196, 113.68950, 9676.56, 4.744e22}};
static const expected FULL = {{10.344080, 10.279264, 9.798006, 8.779730, 8.760903, 8.760345},
                              {67.591543, 64.604281, 43.011224, 0.735896, 5.4417e-5, 5.4185e-5}};
static const expected HALF = {{10.344080, 0, 0, 9.989374296, 10.67455752, 9.932170598},
                              {67.591543, 0, 0, 9.291530376, 1.183461651e-3, 7.330637416e-4}};
static const expected CORRECTED = {
    {10.344080, 10.36639643, 10.537708, 9.644789054, 8.763260671, 8.760654342},
    {67.591543, 67.94741583, 68.6794884, 1.684561563, 7.63877648e-5, 5.431403173e-5}};
static const expected GTD2 = {
    {10.344080, 10.34408043, 10.30446565, 8.857251488, 8.760960349, 8.760361148},
    {67.591543, 67.59154286, 65.76272643, 3.751508863, 1.721717503e-4, 5.419205957e-5}};
static const expected LATE = {
    {10.344080, 10.36639643, 10.60191498, 15.18413508, 11.76671028, 777.5977853},
    {67.591543, 67.94741583, 70.96294283, 76.97372695, 140.7248502, 15342.2524}};

static const struct run {
    const char *name;
    enum fgsf_gradient_kind kind;
    double eta, h_rate;
    const expected *expected;
    double tolerance; // of the norm, relative; 1e-3 for mean delta^2
    double bound;     // of mean delta^2 in the end, which is below it, or above where it diverges
} RUNS[] = {
    {"semi", FGSF_SEMI, 0.0, 0.0, &SEMI, 1e-3, 1e20},
    {"full", FGSF_FULL, 1.0, 0.0, &FULL, 1e-5, 1e-4},
    {"eta 0.5", FGSF_MIX, 0.5, 0.0, &HALF, 1e-4, 1e-3},
    {"corrected", FGSF_CORRECTED, 1.0, 1.0, &CORRECTED, 1e-5, 1e-4},
    {"gtd2", FGSF_GTD2, 1.0, 1.0, &GTD2, 1e-5, 1e-4},
    {"control: corrected, h_rate 0.1", FGSF_CORRECTED, 1.0, 0.1, &LATE, 1e-3, 1e4},
};

// What the sweeps of a run found.
typedef struct found {
    double largest_norm, largest_rise, column_difference;
} found;

static void sweep(theory_problem *p, const char *series, int from, int to, found *f) {
    for (int k = from; k < to; k++) {
        double before = p->loss, size = norm(p, 0);
        f->largest_norm = fmax(f->largest_norm, size);
        if (series && theory_is_plotted(k)) theory_point(p->report, series, k, size);
        double loss = theory_step(p, ALPHA);
        if (k > 0) f->largest_rise = fmax(f->largest_rise, loss / before - 1.0);
        for (int c = 1; c < COLUMNS; c++) {
            f->column_difference = fmax(f->column_difference, fabs(norm(p, c) / norm(p, 0) - 1.0));
        }
    }
}

static void report_run(theory_report *report, const struct run *r) {
    theory_problem p;
    found f = {0};
    open_baird(report, r->kind, r->eta, COLUMNS, &p);
    p.h_rate = r->h_rate;
    double square = 0.0, start = mean_square(&p);
    for (int i = 0; i < MARKS; i++) {
        double size = (*r->expected)[0][i], error = (*r->expected)[1][i];
        sweep(&p, r->name, i ? SWEEPS[i - 1] : 0, SWEEPS[i], &f);
        square = mean_square(&p);
        if (size == 0.0) continue;
        theory_equal(report, size, norm(&p, 0), r->tolerance * size,
                     "T5 %s: norm of w after %d sweeps", r->name, SWEEPS[i]);
        theory_equal(report, error, square, 1e-3 * error, "T5 %s: mean delta^2 after %d sweeps",
                     r->name, SWEEPS[i]);
    }
    if (r->bound < start) {
        theory_at_most(report, r->bound, square, "T5 %s: settles, mean delta^2", r->name);
    } else {
        theory_at_least(report, r->bound, square, "T5 %s: diverges, mean delta^2", r->name);
    }
    theory_at_most(report, 1e-5, f.column_difference,
                   "T5 %s: the three feature columns differ by (relative)", r->name);
    if (r->kind == FGSF_FULL) {
        theory_at_most(report, 1e-6, f.largest_rise,
                       "T5 full: largest relative rise of mean delta^2");
        theory_at_most(report, 10.345, f.largest_norm, "T5 full: largest norm of w");
    }
    if (r->kind == FGSF_SEMI) {
        double before = norm(&p, 0);
        sweep(&p, NULL, 0, 1000, &f);
        double growth = pow(norm(&p, 0) / before, 1e-3);
        theory_equal(report, 1.0023925046, growth, 1e-6, "T5 semi: growth per sweep in the end");
        theory_equal(report, 0.23925, (growth - 1.0) / ALPHA, 1e-4, "T5 semi: unstable eigenvalue");
    }
    theory_problem_close(&p);
}

// The full gradient's loss has one flat and one nearly flat direction; its steepest one limits
// alpha.
static void full_curvature(theory_report *report) {
    theory_problem p;
    double e[WEIGHTS] = {0};
    open_baird(report, FGSF_FULL, 1.0, WEIGHTS, &p);
    theory_curvature(&p, e);
    theory_problem_close(&p);
    theory_equal(report, 2.234762, e[7], 1e-5, "T5: full, largest curvature");
    theory_equal(report, 0.571429, e[2], 1e-5, "T5: full, next curvature, lowest of five");
    theory_equal(report, 0.571429, e[6], 1e-5, "T5: full, next curvature, highest of five");
    theory_equal(report, 2.4e-5, e[1], 1e-6, "T5: full, smallest curvature that is not zero");
    theory_equal(report, 0.0, e[0], 1e-6, "T5: full, curvature of the flat direction");
}

static void full_steps(theory_report *report) {
    const struct {
        double alpha, square, tolerance;
        int sweeps;
        const char *what;
    } cases[] = {
        {0.89, 5.2204830807e-5, 1e-3, 1000, "T5: full, alpha 0.89 < 0.89495"},
        {0.9, 3.78170478e11, 1e-2, 1000, "T5 control: full, alpha 0.9 > 0.89495"},
        {0.1, 3.39e-5, 1e-2, 100000, "T5: full, alpha 0.1"},
    };
    for (int i = 0; i < 3; i++) {
        theory_problem p;
        open_baird(report, FGSF_FULL, 1.0, 1, &p);
        for (int k = 0; k < cases[i].sweeps; k++) theory_step(&p, cases[i].alpha);
        theory_equal(report, cases[i].square, mean_square(&p), cases[i].tolerance * cases[i].square,
                     "%s, mean delta^2 after %d sweeps", cases[i].what, cases[i].sweeps);
        theory_problem_close(&p);
    }
}

#define SEEDS 10

// All seeds in one network: a block of eight inputs for each. The pair's weight is the importance
// ratio, 7 for the move to state 7 and 0 else.
static void open_sampled(theory_report *report, double eta, theory_problem *p) {
    fgsf_bellman_params params = theory_table(SEEDS * WEIGHTS, 1, 1, SEEDS);
    params.grad_mix = eta;
    theory_problem_open(report, &params, p);
    for (int seed = 0; seed < SEEDS; seed++) {
        int block = seed * WEIGHTS;
        theory_add_transition(p, block, 0, 1.0, block, 0, GAMMA, NULL);
        if (report->status == FGSF_OK) {
            float *next = p->s_next + (size_t)seed * SEEDS * WEIGHTS + block;
            memset(next, 0, WEIGHTS * sizeof *next);
            write_input(next, STATES - 1);
        }
        for (int i = 0; i < WEIGHTS; i++) theory_set(p, block + i, 0, 0, START[i]);
    }
}

static void draw_step(theory_problem *p, fgsf_rng *rng, int state[SEEDS]) {
    for (int seed = 0; seed < SEEDS && p->report->status == FGSF_OK; seed++) {
        float *input = p->s + (size_t)seed * SEEDS * WEIGHTS + seed * WEIGHTS;
        memset(input, 0, WEIGHTS * sizeof *input);
        write_input(input, state[seed]);
        bool solid = fgsf_rng_below(&rng[seed], 7) == 0;
        p->weight[seed] = solid ? 7.0f : 0.0f;
        state[seed] = solid ? STATES - 1 : (int)fgsf_rng_below(&rng[seed], 6);
    }
}

static void seed_norms(const theory_problem *p, double *least, double *most) {
    *least = INFINITY, *most = 0.0;
    for (int seed = 0; seed < SEEDS; seed++) {
        double sum = 0.0;
        for (int i = 0; i < WEIGHTS; i++) sum += pow(theory_get(p, seed * WEIGHTS + i, 0, 0), 2.0);
        *least = fmin(*least, sqrt(sum));
        *most = fmax(*most, sqrt(sum));
    }
}

static void sampled(theory_report *report, double eta, double least[2], double most[2]) {
    theory_problem p;
    fgsf_rng rng[SEEDS];
    int state[SEEDS];
    for (int seed = 0; seed < SEEDS; seed++) {
        rng[seed] = fgsf_rng_make((uint64_t)seed, FGSF_STREAM_ENV);
        state[seed] = (int)fgsf_rng_below(&rng[seed], STATES);
    }
    open_sampled(report, eta, &p);
    for (int k = 0; k < 10000; k++) {
        if (k == 1000) seed_norms(&p, &least[0], &most[0]);
        draw_step(&p, rng, state);
        theory_step(&p, ALPHA);
    }
    seed_norms(&p, &least[1], &most[1]);
    theory_problem_close(&p);
}

static void sampled_rows(theory_report *report) {
    double least[2] = {0}, most[2] = {0};
    sampled(report, 0.0, least, most);
    theory_at_least(report, 200.0, least[0], "T5: semi, sampled, 1000 steps, smallest norm of 10");
    theory_at_most(report, 700.0, most[0], "T5: semi, sampled, 1000 steps, largest norm of 10");
    theory_at_least(report, 1e11, least[1], "T5: semi, sampled, 10,000 steps, smallest norm of 10");
    sampled(report, 1.0, least, most);
    for (int i = 0; i < 2; i++) {
        const char *when = i ? "10,000" : "1000";
        theory_equal(report, 8.76, least[i], 0.02,
                     "T5: full, sampled, %s steps, smallest norm of 10", when);
        theory_equal(report, 8.76, most[i], 0.02, "T5: full, sampled, %s steps, largest norm of 10",
                     when);
    }
}

void theory_baird(theory_report *report) {
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) report_run(report, &RUNS[i]);
    full_curvature(report);
    full_steps(report);
    sampled_rows(report);
}
