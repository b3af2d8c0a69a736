// The sampled half of the study `bias`: episodes with Robbins-Monro steps (T7), and what drawing
// with replacement from few stored samples does to a mean (T8).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "theory.h"

#define SEEDS 10
#define EPISODES 100000
#define TAIL 1000

// An estimator on A-split episodes: 0 leads to 1 or 2 (y = 0); 1 ends with y = 1, 2 with y = 0.
typedef struct episodes {
    const char *name;
    enum fgsf_gradient_kind kind;
    enum fgsf_estimator estimator;
    int n, first;
    // FGSF_SGD_RM: 0.5 (1000 / (1000 + k))^0.75; FGSF_SGD: constant 0.5
    enum fgsf_opt_kind steps;
} episodes;

// What is left after the last episode, over the seeds.
typedef struct outcome {
    double mean[3], deviation[3];
    double least_tail; // smallest over seeds: deviation of x_B over the last episodes
} outcome;

// All seeds in one table, three states for each. Per seed two pairs: the branching and the branch
// that the episode took, updated together.
static void open_episodes(theory_report *report, const episodes *e, theory_problem *p) {
    fgsf_bellman_params params = theory_table(3 * SEEDS, 1, 1, 2 * SEEDS);
    params.kind = e->kind;
    params.samples = e->n;
    params.estimator = e->estimator;
    params.split = e->first;
    theory_problem_open(report, &params, p);
    theory_use_steps(p, e->steps);
    for (int seed = 0; seed < SEEDS; seed++) {
        theory_add_transition(p, 3 * seed, 0, 1.0, 3 * seed + 1, 0, 1.0, NULL);
        theory_add_transition(p, 3 * seed + 1, 0, 1.0, 3 * seed, 0, 0.0, NULL);
    }
}

// Moves a one-hot input to another of a seed's three states.
static void put(float *row, int seed, int state) {
    memset(row + 3 * seed, 0, 3 * sizeof *row);
    row[3 * seed + state] = 1.0f;
}

static void draw_episode(theory_problem *p, fgsf_rng *rng) {
    int n = p->params.samples;
    const size_t input = 3 * SEEDS;
    for (int seed = 0; seed < SEEDS && p->report->status == FGSF_OK; seed++) {
        size_t branching = (size_t)(2 * seed), branch = branching + 1;
        for (int i = 0; i < n; i++) {
            int next = 1 + (int)fgsf_rng_below(&rng[seed], 2);
            put(p->s_next + (branching * (size_t)n + (size_t)i) * input, seed, next);
            if (i == 0) put(p->s + branch * input, seed, next); // the episode follows the first
        }
        bool one = p->s[branch * input + (size_t)(3 * seed + 1)] != 0.0f;
        for (int i = 0; i < n; i++) p->y[branch * (size_t)n + (size_t)i] = one ? 1.0f : 0.0f;
    }
}

static outcome summarise(const theory_problem *p, const double sum[SEEDS],
                         const double square[SEEDS]) {
    outcome o = {.least_tail = INFINITY};
    for (int s = 0; s < 3; s++) {
        double squares = 0.0;
        for (int seed = 0; seed < SEEDS; seed++) {
            double x = theory_get(p, 3 * seed + s, 0, 0);
            o.mean[s] += x / SEEDS;
            squares += x * x / SEEDS;
        }
        o.deviation[s] = sqrt(fmax(0.0, squares - o.mean[s] * o.mean[s]));
    }
    for (int seed = 0; seed < SEEDS; seed++) {
        double variance = square[seed] / TAIL - pow(sum[seed] / TAIL, 2.0);
        o.least_tail = fmin(o.least_tail, sqrt(fmax(0.0, variance)));
    }
    return o;
}

static outcome run_episodes(theory_report *report, const episodes *e) {
    theory_problem p;
    fgsf_rng rng[SEEDS];
    double sum[SEEDS] = {0}, square[SEEDS] = {0};
    for (int seed = 0; seed < SEEDS; seed++) {
        rng[seed] = fgsf_rng_make((uint64_t)seed, FGSF_STREAM_ENV);
    }
    open_episodes(report, e, &p);
    for (int k = 0; k < EPISODES && report->status == FGSF_OK; k++) {
        draw_episode(&p, rng);
        theory_step(&p, 0.5);
        for (int seed = 0; seed < SEEDS && k >= EPISODES - TAIL; seed++) {
            double x = theory_get(&p, 3 * seed + 1, 0, 0);
            sum[seed] += x;
            square[seed] += x * x;
        }
    }
    outcome o = summarise(&p, sum, square);
    theory_problem_close(&p);
    return o;
}

static void robbins_monro(theory_report *report) {
    const struct {
        episodes run;
        double b, tolerance;
    } cases[] = {
        {{"shared N = 1", FGSF_FULL, FGSF_SHARED, 1, 0, FGSF_SGD_RM}, 0.75, 0.03},
        {{"shared N = 5", FGSF_FULL, FGSF_SHARED, 5, 0, FGSF_SGD_RM}, 0.9166666667, 0.03},
        {{"critic_only N = 5", FGSF_FULL, FGSF_CRITIC_ONLY, 5, 0, FGSF_SGD_RM}, 0.9166666667, 0.03},
        {{"split 1 + 1", FGSF_FULL, FGSF_SPLIT, 2, 1, FGSF_SGD_RM}, 1.0, 0.08},
        {{"corrected N = 1", FGSF_CORRECTED, FGSF_SHARED, 1, 0, FGSF_SGD_RM}, 1.0, 0.03},
        {{"gtd2 N = 1", FGSF_GTD2, FGSF_SHARED, 1, 0, FGSF_SGD_RM}, 1.0, 0.03},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    double deviation[CASES];
    for (int i = 0; i < CASES; i++) {
        outcome o = run_episodes(report, &cases[i].run);
        const double expected[3] = {0.5, cases[i].b, 1.0 - cases[i].b};
        for (int s = 0; s < 3; s++) {
            theory_equal(report, expected[s], o.mean[s], cases[i].tolerance,
                         "T7: %s, x(%c), mean of %d seeds", cases[i].run.name, 'A' + s, SEEDS);
        }
        deviation[i] = o.deviation[1];
    }
    theory_at_least(report, 2.0, deviation[3] / deviation[0],
                    "T7: spread of x(B) over seeds, split / shared N = 1");
    episodes constant = {"shared N = 1", FGSF_FULL, FGSF_SHARED, 1, 0, FGSF_SGD};
    theory_at_least(report, 0.05, run_episodes(report, &constant).least_tail,
                    "T7 control: constant alpha 0.5, deviation of the last 1000 x(B)");
}

// Each pair averages N draws from n stored coins of +-1 against x = 0, so the mean squared error of
// the graph is the variance of such a mean, in units of a single coin's.
static void replacement(theory_report *report) {
    enum { REPETITIONS = 60000, N = 5, MAX_STORED = 20 };
    const struct {
        int stored;
        double factor;
    } cases[] = {{1, 1.0}, {2, 0.6}, {5, 0.36}, {20, 0.24}};
    fgsf_bellman_params params = theory_table(1, 1, 1, REPETITIONS);
    params.samples = N;
    params.loss_scale = FGSF_MEAN;
    fgsf_rng rng = fgsf_rng_make(8, FGSF_STREAM_REPLAY);
    theory_problem p;
    theory_problem_open(report, &params, &p);
    for (int b = 0; b < REPETITIONS; b++) theory_add_transition(&p, 0, 0, 1.0, 0, 0, 0.0, NULL);
    for (int i = 0; i < 4; i++) {
        for (int b = 0; b < REPETITIONS && report->status == FGSF_OK; b++) {
            float coins[MAX_STORED];
            for (int k = 0; k < cases[i].stored; k++) {
                coins[k] = fgsf_rng_below(&rng, 2) ? 1.0f : -1.0f;
            }
            for (int k = 0; k < N; k++) {
                p.y[b * N + k] = coins[fgsf_rng_below(&rng, (uint64_t)cases[i].stored)];
            }
        }
        theory_equal(report, cases[i].factor, theory_loss(&p), 0.01,
                     "T8: variance of a mean of 5 draws from %d stored", cases[i].stored);
    }
    theory_problem_close(&p);
}

void theory_sampling(theory_report *report) {
    replacement(report);
    if (!report->quick) robbins_monro(report);
}
