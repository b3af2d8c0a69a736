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

static void open_baird(theory_report *report, double eta, int columns, theory_problem *p) {
    fgsf_bellman_params params = theory_table(WEIGHTS, 1, columns, STATES);
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

// What a run over sweeps found.
typedef struct run {
    double largest_norm, largest_rise, column_difference;
} run;

static void watch(theory_problem *p, double *previous, run *r) {
    double size = norm(p, 0), loss = p->loss;
    r->largest_norm = fmax(r->largest_norm, size);
    if (*previous > 0.0) r->largest_rise = fmax(r->largest_rise, loss / *previous - 1.0);
    *previous = loss;
    for (int c = 1; c < p->params.shape.features; c++) {
        r->column_difference = fmax(r->column_difference, fabs(norm(p, c) / size - 1.0));
    }
}

static void sweep(theory_problem *p, double alpha, int from, int to, const char *series,
                  double *master, double *previous, run *r) {
    for (int k = from; k < to; k++) {
        if (series && theory_is_plotted(k)) theory_point(p->report, series, k, norm(p, 0));

        theory_step_master(p, alpha, master);
        watch(p, previous, r);
    }
}

static void start_master(const theory_problem *p, double *master) {
    for (int i = 0; i < p->params.shape.features * WEIGHTS; i++) master[i] = START[i % WEIGHTS];
}

static const int SWEEPS[6] = {0, 1, 10, 100, 1000, 10000};
static const double SEMI[6][2] = {{10.344080, 67.591543}, {10.366396, 67.947416},
                                  {10.609470, 71.232196}, {16.826342, 113.68950},
                                  {436.856, 9676.56},     {1.0727e12, 4.744e22}};
static const double FULL[6][2] = {{10.344080, 67.591543}, {10.279264, 64.604281},
                                  {9.798006, 43.011224},  {8.779730, 0.735896},
                                  {8.760903, 5.4417e-5},  {8.760345, 5.4185e-5}};

static void semi_table(theory_report *report) {
    theory_problem p;
    double master[COLUMNS * WEIGHTS], previous = 0.0, norms[2] = {0};
    run r = {0};
    open_baird(report, 0.0, COLUMNS, &p);
    start_master(&p, master);
    for (int i = 0; i < 6; i++) {
        double relative = SWEEPS[i] > 1000 ? 1e-2 : 1e-3;
        sweep(&p, ALPHA, i ? SWEEPS[i - 1] : 0, SWEEPS[i], "semi-gradient", master, &previous, &r);
        theory_equal(report, SEMI[i][0], norm(&p, 0), relative * SEMI[i][0],
                     "T5: semi, norm of w after %d sweeps", SWEEPS[i]);
        theory_equal(report, SEMI[i][1], mean_square(&p), relative * SEMI[i][1],
                     "T5: semi, mean delta^2 after %d sweeps", SWEEPS[i]);
    }
    theory_at_most(report, 1e-5, r.column_difference,
                   "T5: semi, the three feature columns differ by (relative)");
    norms[0] = norm(&p, 0);
    sweep(&p, ALPHA, 0, 1000, NULL, master, &previous, &r);
    norms[1] = norm(&p, 0);
    double growth = pow(norms[1] / norms[0], 1e-3);
    theory_equal(report, 1.0023925046, growth, 1e-6, "T5: semi, growth per sweep in the long run");
    theory_equal(report, 0.23925, (growth - 1.0) / ALPHA, 1e-4, "T5: semi, unstable eigenvalue");
    theory_problem_close(&p);
}

static void full_table(theory_report *report) {
    theory_problem p;
    double master[COLUMNS * WEIGHTS], previous = 0.0;
    open_baird(report, 1.0, COLUMNS, &p);
    start_master(&p, master);
    run r = {.largest_norm = norm(&p, 0)};
    for (int i = 0; i < 6; i++) {
        sweep(&p, ALPHA, i ? SWEEPS[i - 1] : 0, SWEEPS[i], "full gradient", master, &previous, &r);
        theory_equal(report, FULL[i][0], norm(&p, 0), 1e-4, "T5: full, norm of w after %d sweeps",
                     SWEEPS[i]);
        theory_equal(report, FULL[i][1], mean_square(&p), 1e-3 * FULL[i][1],
                     "T5: full, mean delta^2 after %d sweeps", SWEEPS[i]);
    }
    theory_at_most(report, 1e-6, r.largest_rise, "T5: full, largest relative rise of mean delta^2");
    theory_at_most(report, 10.345, r.largest_norm, "T5: full, largest norm of w");
    theory_at_most(report, 1e-5, r.column_difference,
                   "T5: full, the three feature columns differ by (relative)");
    theory_problem_close(&p);
}

// Half-way between the two: here it settles, but slower and farther out than the full gradient.
static void half_table(theory_report *report) {
    const double expected[3][2] = {
        {9.989374296, 9.291530376}, {10.67455752, 1.183461651e-3}, {9.932170598, 7.330637416e-4}};
    theory_problem p;
    double master[COLUMNS * WEIGHTS], previous = 0.0;
    run r = {0};
    open_baird(report, 0.5, COLUMNS, &p);
    start_master(&p, master);
    for (int i = 3; i < 6; i++) {
        sweep(&p, ALPHA, i > 3 ? SWEEPS[i - 1] : 0, SWEEPS[i], "eta = 0.5", master, &previous, &r);
        theory_equal(report, expected[i - 3][0], norm(&p, 0), 1e-3,
                     "T5: eta 0.5, norm of w after %d sweeps", SWEEPS[i]);
        theory_equal(report, expected[i - 3][1], mean_square(&p), 1e-3 * expected[i - 3][1],
                     "T5: eta 0.5, mean delta^2 after %d sweeps", SWEEPS[i]);
    }
    theory_problem_close(&p);
}

// The full gradient's loss has one flat and one nearly flat direction; its steepest one limits
// alpha.
static void full_curvature(theory_report *report) {
    theory_problem p;
    double e[WEIGHTS] = {0};
    open_baird(report, 1.0, WEIGHTS, &p);
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
        double master[WEIGHTS] = {0};
        open_baird(report, 1.0, 1, &p);
        start_master(&p, master);
        for (int k = 0; k < cases[i].sweeps; k++) theory_step_master(&p, cases[i].alpha, master);
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
        for (int i = 0; i < WEIGHTS; i++) {
            sum += pow(theory_get(p, seed * WEIGHTS + i, 0, 0), 2.0);
        }
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
    semi_table(report);
    full_table(report);
    half_table(report);
    full_curvature(report);
    full_steps(report);
    sampled_rows(report);
}
