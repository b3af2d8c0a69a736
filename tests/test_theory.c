// The theory twice: published digits against the double reference of support_mdp.h, and the fast
// half of the studies, which hold the library's graphs, in float, against the same digits.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/envs.h"
#include "four_rooms.h"
#include "support_assert.h"
#include "support_mdp.h"
#include "theory.h"

#define RING 4

// Deterministic transitions i -> i + 1 that give feature i; `ends` stops after the last.
static ref_mdp make_cycle(int n, bool ends, const double *d, ref_outcome *outcomes) {
    for (int i = 0; i < n; i++) {
        bool last = ends && i == n - 1;
        outcomes[i] = (ref_outcome){.pair = i,
                                    .next = last ? -1 : (i + 1) % n,
                                    .probability = 1.0,
                                    .gamma = last ? 0.0 : 0.9};
        outcomes[i].y[i] = 1.0;
    }
    return (ref_mdp){n, n, d, n, outcomes};
}

static int sweeps_until(const double *A, const double *b, double alpha, int n, const double *exact,
                        double limit) {
    double x[RING * RING] = {0};
    int sweeps = 0;
    while (ref_max_difference(n * n, x, exact) > limit) {
        ref_iterate(n, n, A, b, alpha, 1, x);
        sweeps++;
    }
    return sweeps;
}

TEST ring_has_its_closed_form(void) {
    const double row[RING] = {2.907822041291074, 2.617039837161966, 2.355335853445770,
                              2.119802268101193};
    const double d[RING] = {0.25, 0.25, 0.25, 0.25};
    double A[RING * RING], x[RING * RING];
    ref_outcome outcomes[RING];
    ref_mdp ring = make_cycle(RING, false, d, outcomes);
    for (int eta = 0; eta < 2; eta++) {
        ref_system(&ring, REF_ALL, eta, A, x);
        ASSERT(ref_solve(RING, RING, A, x));
        for (int s = 0; s < RING; s++) {
            double mass = 0.0;
            for (int f = 0; f < RING; f++) {
                ASSERT_IN_RANGE(row[(f - s + RING) % RING], x[s * RING + f], 1e-12);
                mass += x[s * RING + f];
            }
            ASSERT_IN_RANGE(10.0, mass, 1e-12); // T11
        }
    }
    PASS();
}

// Errors after given numbers of sweeps from zero, each to 1e-3 of itself, and sweeps until 1e-3.
static greatest_test_res check_speed(double eta, double weight, double alpha, int count,
                                     const int *sweeps, const double *errors, int until) {
    const double d[RING] = {weight, weight, weight, weight};
    double A[RING * RING], b[RING * RING], x[RING * RING] = {0}, exact[RING * RING];
    double copy[RING * RING];
    ref_outcome outcomes[RING];
    ref_mdp ring = make_cycle(RING, false, d, outcomes);
    ref_system(&ring, REF_ALL, eta, A, b);
    memcpy(copy, A, sizeof A);
    memcpy(exact, b, sizeof b);
    ASSERT(ref_solve(RING, RING, copy, exact));
    for (int i = 0, done = 0; i < count; done = sweeps[i++]) {
        ref_iterate(RING, RING, A, b, alpha, sweeps[i] - done, x);
        // at 1e-12 the rounding of 5000 sweeps shows in the third digit
        double tolerance = (errors[i] < 1e-10 ? 1e-2 : 1e-3) * errors[i];
        ASSERT_IN_RANGE(errors[i], ref_max_difference(RING * RING, x, exact), tolerance);
    }
    ASSERT_EQ(until, sweeps_until(A, b, alpha, RING, exact, 1e-3));
    PASS();
}

TEST full_gradient_is_slower_on_the_ring(void) {
    const int full_sweeps[] = {100, 1000, 2000, 3000, 5000}, semi_sweeps[] = {10, 100, 200};
    const double full[] = {1.512, 0.010331101717, 4.056e-5, 1.5922e-7, 2.453e-12};
    const double semi[] = {1.01389, 7.72e-5, 2.05e-9};
    CHECK_CALL(check_speed(1.0, 0.25, 2.0 / 0.905, 5, full_sweeps, full, 1422));
    CHECK_CALL(check_speed(0.0, 1.0, 1.0, 3, semi_sweeps, semi, 76));
    PASS();
}

TEST chain_has_its_closed_form(void) {
    const double exact[9] = {1.0, 0.9, 0.81, 0.0, 1.0, 0.9, 0.0, 0.0, 1.0};
    const double d[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    double A[9], b[9], x[9] = {0};
    ref_outcome outcomes[3];
    ref_mdp chain = make_cycle(3, true, d, outcomes);
    ref_system(&chain, REF_ALL, 1.0, A, b);
    // the eigenvalues times 3, roots of the characteristic polynomial
    const double lowest = 0.235697176184695, highest = 2.942348457916610;
    ASSERT_IN_RANGE(12.4835966, highest / lowest, 1e-6);
    for (int i = 0; i < 2; i++) {
        double e = (i ? highest : lowest) / 3.0;
        double det = (A[0] - e) * ((A[4] - e) * (A[8] - e) - A[5] * A[7]) -
                     A[1] * (A[3] * (A[8] - e) - A[5] * A[6]) +
                     A[2] * (A[3] * A[7] - (A[4] - e) * A[6]);
        ASSERT_IN_RANGE(0.0, det, 1e-13);
    }
    double alpha = 6.0 / (lowest + highest);
    ref_iterate(3, 3, A, b, alpha, 500, x);
    ASSERT_IN_RANGE(0.0, ref_max_difference(9, x, exact), 1e-8);
    ASSERT_EQ(44, sweeps_until(A, b, alpha, 3, exact, 1e-3));
    PASS();
}

TEST error_falls_unless_the_step_is_too_large(void) {
    const double d[RING] = {0.25, 0.25, 0.25, 0.25}, alphas[] = {2.0 / 0.905, 2.216, 2.3};
    double A[RING * RING], b[RING * RING];
    ref_outcome outcomes[RING];
    ref_mdp ring = make_cycle(RING, false, d, outcomes);
    ref_system(&ring, REF_ALL, 1.0, A, b);
    for (int i = 0; i < 3; i++) {
        double x[RING * RING] = {0}, error = ref_error(&ring, REF_ALL, x), rise = 0.0;
        for (int k = 0; k < (i < 2 ? 3000 : 200); k++) {
            ref_iterate(RING, RING, A, b, alphas[i], 1, x);
            double next = ref_error(&ring, REF_ALL, x);
            rise = worse(rise, next - error);
            if (i == 2 && k == 1) ASSERT_IN_RANGE(1.0778518530, next / error, 1e-6);
            error = next;
        }
        if (i < 2) ASSERT(rise <= 1e-15);
        if (i == 2) ASSERT(rise > 1e-3);
    }
    PASS();
}

TEST loss_jumps_at_a_tie(void) {
    double loss[2], scalar[2];
    for (int i = 0; i < 2; i++) {
        double second = 2.0 + (i ? 1e-9 : -1e-9);
        bool other = second > 2.0; // both actions score 2 up to that
        double delta[2] = {1.0 + 0.9 * (other ? 0.0 : 2.0) - 2.8, 0.9 * (other ? second : 0.0)};
        loss[i] = delta[0] * delta[0] + delta[1] * delta[1];
        scalar[i] = pow(1.0 + 0.9 * fmax(2.0, second) - 2.8, 2.0);
    }
    ASSERT_IN_RANGE(0.0, loss[0], 1e-12);
    ASSERT_IN_RANGE(6.48, loss[1] - loss[0], 1e-6);
    ASSERT_IN_RANGE(0.0, scalar[1] - scalar[0], 1e-8);
    PASS();
}

// T4's two problems: 0 branches to 1 and 2; 1 gives 1 and ends or repeats; 2 ends.
static void solve_branching(bool repeats, double n, double x[3]) {
    double gamma = repeats ? 0.9 : 1.0, third = 1.0 / 3, A[9];
    const double d[2][3] = {{0.5, 0.25, 0.25}, {third, third, third}};
    ref_outcome outcomes[] = {{0, 1, 0.5, gamma, {0.0}},
                              {0, 2, 0.5, gamma, {0.0}},
                              {1, repeats ? 1 : -1, 1.0, repeats ? gamma : 0.0, {1.0}},
                              {2, -1, 1.0, 0.0, {0.0}}};
    ref_mdp mdp = {3, 1, d[repeats], 4, outcomes};
    ref_system(&mdp, n, 1.0, A, x);
    ref_solve(3, 1, A, x);
}

TEST bias_falls_like_one_over_n(void) {
    const int sizes[] = {1, 2, 5, 10, 20, 100, 1000};
    const double table[][3] = {{0.294721, 0.560541, 0.094395}, {0.482018, 0.980960, 0.090190},
                               {0.955604, 2.044004, 0.079560}, {1.537558, 3.350300, 0.066497},
                               {2.269884, 4.994129, 0.050059}, {3.751043, 8.318839, 0.016812},
                               {4.411594, 9.801559, 0.001984}};
    double x[3], bias[3][2];
    for (int i = 0; i < 7; i++) {
        double n = sizes[i];
        solve_branching(false, n, x);
        ASSERT_IN_RANGE(0.5, x[0], 1e-10);
        ASSERT_IN_RANGE(1.0 - 0.5 / (n + 1.0), x[1], 1e-10);
        ASSERT_IN_RANGE(0.5 / (n + 1.0), x[2], 1e-10);
        solve_branching(true, n, x);
        for (int s = 0; s < 3; s++) ASSERT_IN_RANGE(table[i][s], x[s], 1e-6);
    }
    solve_branching(true, 1, x);
    ASSERT_IN_RANGE(0.2947208950, x[0], 1e-8);
    ASSERT_IN_RANGE(0.5605407295, x[1], 1e-8);
    solve_branching(true, 20, x);
    ASSERT_IN_RANGE(4.9941289166, x[1], 1e-8);
    for (int i = 0; i < 3; i++) {
        solve_branching(true, pow(10.0, 3 + i), x);
        bias[i][0] = x[0] - 4.5;
        bias[i][1] = x[1] - 10.0;
    }
    ASSERT_IN_RANGE(-0.00900296, bias[1][0], 1e-8);
    ASSERT_IN_RANGE(-0.02020867, bias[1][1], 1e-8);
    ASSERT_IN_RANGE(9.82, bias[0][1] / bias[1][1], 0.05);
    ASSERT_IN_RANGE(9.98, bias[1][1] / bias[2][1], 0.05);
    solve_branching(true, REF_ALL, x); // what split minimises in expectation
    ASSERT_IN_RANGE(4.5, x[0], 1e-12);
    ASSERT_IN_RANGE(10.0, x[1], 1e-12);
    PASS();
}

// Baird's problem: the update of the values, seen from the weights, A_w = X^T A X.
static void make_baird(double eta, double Aw[64], ref_mdp *mdp, ref_outcome outcomes[7],
                       const double *d) {
    double X[7][8] = {{0}}, A[49], b[7];
    for (int s = 0; s < 7; s++) {
        X[s][s] = s < 6 ? 2.0 : 1.0;
        X[s][7] = s < 6 ? 1.0 : 2.0;
        outcomes[s] = (ref_outcome){.pair = s, .next = 6, .probability = 1.0, .gamma = 0.99};
    }
    *mdp = (ref_mdp){7, 1, d, 7, outcomes};
    ref_system(mdp, REF_ALL, eta, A, b);
    memset(Aw, 0, 64 * sizeof *Aw);
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 49; k++) Aw[i] += X[k / 7][i / 8] * A[k] * X[k % 7][i % 8];
    }
}

static double weights_norm(const double w[8]) {
    double sum = 0.0;
    for (int i = 0; i < 8; i++) sum += w[i] * w[i];
    return sqrt(sum);
}

static double mean_square(const ref_mdp *mdp, const double w[8]) {
    double v[7];
    for (int s = 0; s < 7; s++) v[s] = s < 6 ? 2.0 * w[s] + w[7] : w[6] + 2.0 * w[7];
    return 2.0 * ref_error(mdp, REF_ALL, v);
}

typedef struct baird_row {
    int sweeps;
    double norm, square, tolerance;
} baird_row;

static greatest_test_res check_baird(double eta, double alpha, int count, const baird_row *rows) {
    const double seventh = 1.0 / 7;
    const double d[7] = {seventh, seventh, seventh, seventh, seventh, seventh, seventh};
    const double zero[8] = {0};
    double A[64], w[8] = {1, 1, 1, 1, 1, 1, 10, 1};
    ref_outcome outcomes[7];
    ref_mdp mdp;
    make_baird(eta, A, &mdp, outcomes, d);
    for (int i = 0, done = 0; i < count; done = rows[i++].sweeps) {
        ref_iterate(8, 1, A, zero, alpha, rows[i].sweeps - done, w);
        double norm = weights_norm(w), square = mean_square(&mdp, w);
        if (rows[i].norm > 0.0) {
            ASSERT_IN_RANGE(rows[i].norm, norm, rows[i].tolerance * rows[i].norm);
        }
        ASSERT_IN_RANGE(rows[i].square, square, rows[i].tolerance * rows[i].square);
    }
    if (eta == 0.0) {
        double before = weights_norm(w);
        ref_iterate(8, 1, A, zero, alpha, 1, w);
        ASSERT_IN_RANGE(1.0023925046, weights_norm(w) / before, 1e-8);
    }
    PASS();
}

TEST baird_follows_the_table(void) {
    const baird_row semi[] = {{0, 10.344080, 67.591543, 1e-5},  {1, 10.366396, 67.947416, 1e-5},
                              {10, 10.609470, 71.232196, 1e-5}, {100, 16.826342, 113.68950, 1e-5},
                              {1000, 436.856, 9676.56, 1e-5},   {10000, 1.0727e12, 4.744e22, 1e-3}};
    const baird_row full[] = {
        {0, 10.344080, 67.591543, 1e-5},       {1, 10.279264, 64.604281, 1e-5},
        {10, 9.798006, 43.011224, 1e-5},       {100, 8.779730, 0.7358961613, 1e-5},
        {1000, 8.7609025523, 5.4417e-5, 1e-5}, {10000, 8.760345, 5.4185e-5, 1e-3}};
    const baird_row half[] = {{100, 9.989374296, 9.291530376, 1e-8},
                              {1000, 10.67455752, 1.183461651e-3, 1e-8},
                              {10000, 9.932170598, 7.330637416e-4, 1e-8}};
    const baird_row low = {1000, 0.0, 5.2204830807e-5, 1e-8},
                    high = {1000, 0.0, 3.78170478e11, 1e-6};
    const baird_row slow = {100000, 0.0, 3.39e-5, 2e-3};
    CHECK_CALL(check_baird(0.0, 0.01, 6, semi));
    CHECK_CALL(check_baird(1.0, 0.01, 6, full));
    CHECK_CALL(check_baird(0.5, 0.01, 3, half));
    CHECK_CALL(check_baird(1.0, 0.89, 1, &low));
    CHECK_CALL(check_baird(1.0, 0.9, 1, &high));
    CHECK_CALL(check_baird(1.0, 0.1, 1, &slow));
    PASS();
}

// The same weights with an error network, by the formulas: h first fails to keep up, or not.
static void sweep_with_error(bool gtd2, double h_rate, int sweeps, double w[8], double u[8]) {
    double X[7][8] = {{0}};
    for (int s = 0; s < 7; s++) {
        X[s][s] = s < 6 ? 2.0 : 1.0;
        X[s][7] = s < 6 ? 1.0 : 2.0;
    }
    for (int k = 0; k < sweeps; k++) {
        double move[2][8] = {{0}};
        for (int s = 0; s < 7; s++) {
            double v[2] = {0}, h = 0.0;
            for (int i = 0; i < 8; i++) {
                v[0] += X[s][i] * w[i];
                v[1] += X[6][i] * w[i];
                h += X[s][i] * u[i];
            }
            double delta = 0.99 * v[1] - v[0];
            for (int i = 0; i < 8; i++) {
                move[0][i] += ((gtd2 ? h : delta) * X[s][i] - 0.99 * h * X[6][i]) / 7;
                move[1][i] += (delta - h) * X[s][i] / 7;
            }
        }
        for (int i = 0; i < 8; i++) {
            w[i] += 0.01 * move[0][i];
            u[i] += 0.01 * h_rate * move[1][i];
        }
    }
}

TEST baird_settles_with_an_error_that_keeps_up(void) {
    const struct {
        bool gtd2;
        double h_rate;
        baird_row rows[3];
    } cases[] = {
        {false,
         1.0,
         {{10, 10.537708, 68.6794884, 1e-8},
          {1000, 8.763260671, 7.63877648e-5, 1e-8},
          {10000, 8.760654342, 5.431403173e-5, 1e-8}}},
        {true,
         1.0,
         {{10, 10.30446565, 65.76272643, 1e-8},
          {1000, 8.760960349, 1.721717503e-4, 1e-8},
          {10000, 8.760361148, 5.419205957e-5, 1e-8}}},
        {false,
         0.1,
         {{10, 10.60191498, 70.96294283, 1e-8},
          {1000, 11.76671028, 140.7248502, 1e-8},
          {10000, 777.5977853, 15342.2524, 1e-8}}},
    };
    const double seventh = 1.0 / 7;
    const double d[7] = {seventh, seventh, seventh, seventh, seventh, seventh, seventh};
    for (int c = 0; c < 3; c++) {
        double A[64], w[8] = {1, 1, 1, 1, 1, 1, 10, 1}, u[8] = {0};
        ref_outcome outcomes[7];
        ref_mdp mdp;
        make_baird(1.0, A, &mdp, outcomes, d);
        for (int i = 0, done = 0; i < 3; done = cases[c].rows[i++].sweeps) {
            const baird_row *row = &cases[c].rows[i];
            sweep_with_error(cases[c].gtd2, cases[c].h_rate, row->sweeps - done, w, u);
            ASSERT_IN_RANGE(row->norm, weights_norm(w), row->tolerance * row->norm);
            ASSERT_IN_RANGE(row->square, mean_square(&mdp, w), row->tolerance * row->square);
        }
    }
    PASS();
}

// T6 in double: policy improvement on one random problem, policies from value iteration.
static void evaluate_policy(int states, int actions, const double *P, const double *reward,
                            const int *policy, double *q) {
    double *A = calloc((size_t)(states * actions * states * actions), sizeof *A);
    int n = states * actions;
    if (!A) abort();
    for (int i = 0; i < n; i++) {
        A[i * n + i] = 1.0;
        for (int t = 0; t < states; t++) {
            A[i * n + t * actions + policy[t]] -= 0.9 * P[i * states + t];
        }
        q[i] = reward[i];
    }
    ref_solve(n, 1, A, q);
    free(A);
}

static void greedy(const double *q, int states, int actions, int *policy) {
    for (int s = 0; s < states; s++) {
        policy[s] = 0;
        for (int a = 1; a < actions; a++) {
            if (q[s * actions + a] > q[s * actions + policy[s]]) policy[s] = a;
        }
    }
}

TEST improvement_holds_in_double(void) {
    enum { S = 6, N = 18, BASES = 3 };
    const double query[BASES] = {0.5, 0.3, -0.4};
    fgsf_rng rng = fgsf_rng_make(60, FGSF_STREAM_ENV);
    double worst = INFINITY, gain = 0.0;
    for (int problem = 0; problem < 20; problem++) {
        double P[N * S], phi[BASES][N], reward[N] = {0}, best[N], q[N], top[N];
        int policy[S];
        for (int i = 0; i < N; i++) {
            double sum = 0.0;
            top[i] = -INFINITY;
            for (int t = 0; t < S; t++) {
                sum += P[i * S + t] = -log(1.0 - fgsf_rng_uniform(&rng));
            }
            for (int t = 0; t < S; t++) P[i * S + t] /= sum;
            for (int f = 0; f < BASES; f++) {
                reward[i] += query[f] * (phi[f][i] = fgsf_rng_uniform(&rng));
            }
        }
        for (int j = 0; j < BASES; j++) {
            ref_value_iteration(S, 3, P, phi[j], 0.9, best);
            greedy(best, S, 3, policy);
            evaluate_policy(S, 3, P, reward, policy, q);
            for (int i = 0; i < N; i++) top[i] = fmax(top[i], q[i]);
        }
        greedy(top, S, 3, policy);
        evaluate_policy(S, 3, P, reward, policy, q);
        for (int i = 0; i < N; i++) {
            worst = fmin(worst, q[i] - top[i]);
            gain = worse(gain, q[i] - top[i]);
        }
    }
    ASSERT(worst >= -1e-10);
    ASSERT(gain > 0.1);
    PASS();
}

// The policy's outcomes on Four Rooms as a reference problem; goal cells keep a zero row.
static int list_outcomes(const fgsf_four_rooms *model, const int *policy, ref_outcome *outcomes) {
    int count = 0;
    for (int cell = 0; cell < model->num_cells; cell++) {
        fgsf_four_rooms_outcome o[FGSF_FOUR_ROOMS_ACTIONS];
        if (model->kind[cell] == model->num_types + 1) continue;
        int n = fgsf_four_rooms_outcomes(model, cell, 0, policy[cell], o);
        for (int i = 0; i < n; i++) {
            outcomes[count] = (ref_outcome){.pair = cell,
                                            .next = o[i].terminal ? -1 : o[i].cell,
                                            .probability = o[i].probability,
                                            .gamma = o[i].terminal ? 0.0 : 0.95};
            if (o[i].kind > 0) outcomes[count].y[o[i].kind - 1] = 1.0;
            count++;
        }
    }
    return count;
}

static greatest_test_res check_distance(const double *x, const double *y, int size, int rows,
                                        const theory_distance *expected) {
    double square = 0.0;
    for (int i = 0; i < size; i++) square += (x[i] - y[i]) * (x[i] - y[i]);
    ASSERT_IN_RANGE(expected->largest, ref_max_difference(size, x, y), 1e-8);
    ASSERT_IN_RANGE(expected->rms, sqrt(square / rows), 1e-8);
    PASS();
}

// x and h together, solved: rows of x where its expected update stops, rows of h where h is the mean
// of delta. Returns false where there is no single solution.
static bool solve_with_error(const ref_mdp *m, bool gtd2, const bool *goal, double *x) {
    int n = m->pairs, both = 2 * n, width = m->features;
    double *A = calloc((size_t)(both * both), sizeof *A);
    double *b = calloc((size_t)(both * width), sizeof *b);
    if (!A || !b) abort();
    for (int i = 0; i < m->num_outcomes; i++) {
        const ref_outcome *o = &m->outcomes[i];
        double p = o->probability;
        int s = o->pair, rows[2] = {gtd2 ? -1 : s, n + s}; // delta stands in these
        for (int r = 0; r < 2; r++) {
            if (rows[r] < 0) continue;
            A[rows[r] * both + s] += p;
            if (o->next >= 0) A[rows[r] * both + o->next] -= p * o->gamma;
            for (int f = 0; f < width; f++) b[rows[r] * width + f] += p * o->y[f];
        }
        A[(n + s) * both + n + s] += p;
        if (gtd2) A[s * both + n + s] -= p;
        if (o->next >= 0) A[o->next * both + n + s] += p * o->gamma;
    }
    for (int c = 0; c < n; c++) {
        if (!goal[c]) continue; // nothing is learnt there
        A[c * both + c] = A[(n + c) * both + n + c] = 1.0;
    }
    bool solved = ref_solve(both, width, A, b);
    memcpy(x, b, (size_t)(n * width) * sizeof *x);
    free(A);
    free(b);
    return solved;
}

TEST four_rooms_distances_are_the_solved_ones(void) {
    enum { MAX = 160 };
    static double A[MAX * MAX], psi[MAX * REF_MAX_FEATURES], x[MAX * REF_MAX_FEATURES], d[MAX];
    static const double zero[MAX * REF_MAX_FEATURES];
    static ref_outcome outcomes[MAX * FGSF_FOUR_ROOMS_ACTIONS];
    int policy[MAX];
    fgsf_four_rooms model = {0};
    ASSERT_EQ(FGSF_OK, fgsf_four_rooms_load("", &model));
    ASSERT_EQ(152, model.num_cells);
    model.slip = 0.1;
    theory_shortest_way(&model, policy);
    for (int c = 0; c < MAX; c++) d[c] = 1.0;
    int n = model.num_cells, width = model.num_features, size = n * width, updated = n;
    ref_mdp mdp = {n, width, d, list_outcomes(&model, policy, outcomes), outcomes};
    bool goal[MAX] = {false};
    for (int c = 0; c < n; c++) {
        goal[c] = model.kind[c] == model.num_types + 1;
        updated -= goal[c];
    }
    for (int i = -1; i < THEORY_DISTANCES; i++) { // -1: psi itself, the zero of the semi-gradient
        const theory_distance *m = i < 0 ? &theory_psi_size : &theory_distances[i];
        bool solved, h = m->kind == FGSF_CORRECTED || m->kind == FGSF_GTD2;
        if (h) {
            solved = solve_with_error(&mdp, m->kind == FGSF_GTD2, goal, x);
        } else {
            ref_system(&mdp, m->n, m->kind == FGSF_SEMI ? 0.0 : 1.0, A, x);
            for (int c = 0; c < n; c++) {
                if (goal[c]) A[c * n + c] = 1.0;
            }
            solved = ref_solve(n, width, A, x);
        }
        ASSERT(solved);
        if (i < 0) memcpy(psi, x, sizeof psi);
        CHECK_CALL(check_distance(x, i < 0 ? zero : psi, size, updated * width, m));
    }
    fgsf_four_rooms_unload(&model);
    PASS();
}

// A row that fails is counted and written as it was measured.
TEST failing_rows_are_reported(void) {
    static const theory_study study = {.name = "none"};
    char text[512] = {0};
    FILE *file = tmpfile();
    ASSERT(file);
    theory_report report = {.csv = file, .study = &study};
    theory_equal(&report, 1.0, 1.5, 0.25, "one, %d", 2);
    theory_at_most(&report, 1.0, 1.0, "bounded");
    theory_at_least(&report, 1.0, NAN, "not a number");
    ASSERT_EQ(3, report.rows);
    ASSERT_EQ(2, report.failed);
    rewind(file);
    ASSERT(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    ASSERT_STR_EQ("none,\"one, 2\",1,1.5,0.25,false\nnone,\"bounded (at most)\",1,1,0,true\n"
                  "none,\"not a number (at least)\",1,nan,0,false\n",
                  text);
    PASS();
}

// The library's half. The long runs (Adam on a network, 100,000 episodes) are left to the driver.
TEST studies_pass(void) {
    theory_report report = {.out = stdout, .quick = true};
    ASSERT_EQ(FGSF_OK, fgsf_device_open("auto", &report.device));
    for (int i = 0; i < theory_num_studies; i++) theory_run(&report, &theory_studies[i]);
    fgsf_device_free(report.device);
    ASSERT_EQ_FMT(FGSF_OK, report.status, "%d");
    ASSERT_EQ_FMT(0, report.failed, "%d rows failed");
    ASSERT(report.rows > 200);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(ring_has_its_closed_form);
    RUN_TEST(full_gradient_is_slower_on_the_ring);
    RUN_TEST(chain_has_its_closed_form);
    RUN_TEST(error_falls_unless_the_step_is_too_large);
    RUN_TEST(loss_jumps_at_a_tie);
    RUN_TEST(bias_falls_like_one_over_n);
    RUN_TEST(baird_follows_the_table);
    RUN_TEST(baird_settles_with_an_error_that_keeps_up);
    RUN_TEST(improvement_holds_in_double);
    RUN_TEST(four_rooms_distances_are_the_solved_ones);
    RUN_TEST(failing_rows_are_reported);
    RUN_TEST(studies_pass);
    GREATEST_MAIN_END();
}
