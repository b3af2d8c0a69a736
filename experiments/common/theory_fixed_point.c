// The study `fixed-point`: where the methods end on Four Rooms, relative to the exact psi.
//
// A table over the 152 cells with the inventory frozen: psi of walking the shortest way to the
// goal, every cell updated equally often. Updates are expected ones: all outcomes of a cell's step
// enter the graph with their probabilities. Since the full gradient's problem is badly conditioned,
// conjugate gradients on the graph's own gradient find where it stops.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "four_rooms.h"
#include "theory.h"

#define ACTIONS FGSF_FOUR_ROOMS_ACTIONS
#define GAMMA 0.95

typedef struct rooms {
    fgsf_four_rooms model;
    int cells, features;
    int size;    // parameters: cells * features
    int *policy; // (cells)
    double *psi; // (cells, 4, features), exact
} rooms;

static bool is_goal(const fgsf_four_rooms *m, int cell) {
    return m->kind[cell] == m->num_types + 1;
}

#define MAX_CELLS 1024

const theory_distance theory_distances[THEORY_DISTANCES] = {
    {"semi", FGSF_SEMI, 1.0, 0.0, 0.0},
    {"full, N = 1", FGSF_FULL, 1.0, 0.501069772386, 0.144903486037},
    {"full, N = 5", FGSF_FULL, 5.0, 0.220613677297, 0.070378535001},
    {"full, N = 20", FGSF_FULL, 20.0, 0.0800113814851, 0.0253489728084},
    {"split", FGSF_FULL, INFINITY, 0.0, 0.0},
    {"corrected, exact h", FGSF_CORRECTED, 1.0, 0.0, 0.0},
    {"gtd2, exact h", FGSF_GTD2, 1.0, 0.0, 0.0},
};
const theory_distance theory_psi_size = {"psi", FGSF_SEMI, INFINITY, 1.06426725191, 0.452695895739};

void theory_shortest_way(const fgsf_four_rooms *m, int *policy) {
    bool changed = true;
    int distance[MAX_CELLS];
    for (int c = 0; c < m->num_cells; c++) distance[c] = is_goal(m, c) ? 0 : 1 << 20;
    while (changed) {
        changed = false;
        for (int i = 0; i < m->num_cells * ACTIONS; i++) {
            int cell = i / ACTIONS, next = m->next[i];
            if (distance[next] + 1 < distance[cell]) {
                distance[cell] = distance[next] + 1;
                changed = true;
            }
        }
    }
    for (int c = 0; c < m->num_cells; c++) {
        policy[c] = 0;
        for (int a = ACTIONS - 1; a >= 0; a--) {
            if (distance[m->next[c * ACTIONS + a]] < distance[c]) policy[c] = a;
        }
    }
}

static void solve_exactly(theory_report *report, rooms *r) {
    size_t pairs = (size_t)r->cells * ACTIONS;
    double *P = theory_zeros(report, pairs * (size_t)r->cells, sizeof *P);
    double *y = theory_zeros(report, pairs * (size_t)r->features, sizeof *y);
    double *policy = theory_zeros(report, pairs, sizeof *policy);
    if (report->status == FGSF_OK) {
        for (int c = 0; c < r->cells; c++) policy[c * ACTIONS + r->policy[c]] = 1.0;
        fgsf_four_rooms_tabular(&r->model, 0, P, y);
        report->status =
            fgsf_four_rooms_evaluate(r->cells, P, y, r->features, policy, GAMMA, r->psi);
    }
    free(P);
    free(y);
    free(policy);
}

static void open_rooms(theory_report *report, double slip, rooms *r) {
    *r = (rooms){0};
    THEORY_TRY(report, fgsf_four_rooms_load("", &r->model));
    if (report->status != FGSF_OK) return;
    r->model.slip = slip;
    r->cells = r->model.num_cells;
    r->features = r->model.num_features;
    r->size = r->cells * r->features;
    r->policy = theory_zeros(report, MAX_CELLS, sizeof *r->policy);
    r->psi = theory_zeros(report, (size_t)r->size * ACTIONS, sizeof *r->psi);
    if (report->status != FGSF_OK) return;
    theory_shortest_way(&r->model, r->policy);
    solve_exactly(report, r);
}

static void close_rooms(rooms *r) {
    fgsf_four_rooms_unload(&r->model);
    free(r->policy);
    free(r->psi);
}

// The outcomes of the policy's step from a cell; none at the goal.
static int policy_outcomes(const rooms *r, int cell, fgsf_four_rooms_outcome o[ACTIONS]) {
    if (is_goal(&r->model, cell)) return 0;
    return fgsf_four_rooms_outcomes(&r->model, cell, 0, r->policy[cell], o);
}

// Writes outcome `o` as sample i of a pair.
static void set_outcome(theory_problem *p, int pair, int i, const fgsf_four_rooms_outcome *o) {
    double y[THEORY_MAX_FEATURES] = {0};
    if (o->kind > 0) y[o->kind - 1] = 1.0;
    theory_set_sample(p, pair, i, o->cell, 0, o->terminal ? 0.0 : GAMMA, y);
}

// The expected update of N samples that serve error and gradient alike needs no more than pairs of
// outcomes: the error's sample and the gradient's are the same one with probability 1/N, else
// independent. N = INFINITY is the expectation of `split`. The graph is the split one with 1 + 1, or,
// for N = 1, that of a single sample.
static void open_law(theory_report *report, const rooms *r, enum fgsf_gradient_kind kind, double n,
                     theory_problem *p) {
    fgsf_bellman_params params =
        theory_table(r->cells, 1, r->features, r->cells * ACTIONS * ACTIONS);
    params.kind = kind;
    params.samples = n == 1.0 ? 1 : 2;
    params.estimator = n == 1.0 ? FGSF_SHARED : FGSF_SPLIT;
    params.split = 1;
    theory_problem_open(report, &params, p);
    for (int cell = 0; cell < r->cells; cell++) {
        fgsf_four_rooms_outcome o[ACTIONS];
        int count = policy_outcomes(r, cell, o);
        for (int i = 0; i < count * count; i++) {
            const fgsf_four_rooms_outcome *e = &o[i / count], *g = &o[i % count];
            double law = (1.0 - 1.0 / n) * e->probability * g->probability;
            if (e == g) law += e->probability / n;
            if (law == 0.0) continue;
            int pair = theory_add_pair(p, cell, 0, law);
            set_outcome(p, pair, 0, e);
            if (p->params.samples > 1) set_outcome(p, pair, 1, g);
        }
    }
}

// The same expectation the long way: every multiset of n outcomes with its multinomial probability,
// for the shared estimator. The counts of the first `fixed` outcomes are chosen, `left` remain.
static void add_multisets(theory_problem *p, const rooms *r, int cell, int fixed, int left,
                          int counts[ACTIONS]) {
    fgsf_four_rooms_outcome o[ACTIONS];
    int count = policy_outcomes(r, cell, o);
    if (count == 0) return;
    if (fixed < count - 1) {
        for (counts[fixed] = 0; counts[fixed] <= left; counts[fixed]++) {
            add_multisets(p, r, cell, fixed + 1, left - counts[fixed], counts);
        }
        return;
    }
    counts[fixed] = left;
    double law = tgamma(p->params.samples + 1.0);
    for (int i = 0; i < count; i++) {
        law *= pow(o[i].probability, counts[i]) / tgamma(counts[i] + 1.0);
    }
    int pair = theory_add_pair(p, cell, 0, law);
    for (int i = 0, sample = 0; i < count; i++) {
        for (int k = 0; k < counts[i]; k++) set_outcome(p, pair, sample++, &o[i]);
    }
}

// Compares the two ways to write the expectation, at random parameters.
static void check_law(theory_report *report, const rooms *r, int n) {
    // 56 multisets of 5 out of 4
    fgsf_bellman_params params = theory_table(r->cells, 1, r->features, r->cells * 56);
    theory_problem two, many;
    params.samples = n;
    open_law(report, r, FGSF_FULL, n, &two);
    theory_problem_open(report, &params, &many);
    for (int cell = 0; cell < r->cells && report->status == FGSF_OK; cell++) {
        int counts[ACTIONS] = {0};
        add_multisets(&many, r, cell, 0, n, counts);
    }
    double largest = 0.0, difference = 0.0;
    if (report->status == FGSF_OK) {
        fgsf_rng rng = fgsf_rng_make(5, FGSF_STREAM_INIT), same = rng;
        fgsf_network_init(two.nets[0], FGSF_UNIFORM_FAN_IN, &rng);
        fgsf_network_init(many.nets[0], FGSF_UNIFORM_FAN_IN, &same);
        theory_loss(&two);
        theory_loss(&many);
    }
    for (int i = 0; i < r->size && report->status == FGSF_OK; i++) {
        double a = fgsf_bellman_gradient(two.bellman)[i],
               b = fgsf_bellman_gradient(many.bellman)[i];
        largest = fmax(largest, fabs(b));
        difference = fmax(difference, fabs(a - b));
    }
    theory_equal(report, 0.0, difference / largest, 1e-5,
                 "shared N = %d, every multiset against the law of two", n);
    theory_problem_close(&two);
    theory_problem_close(&many);
}

// Distances over all cells that are updated.
typedef struct distance {
    double largest, rms;
} distance;

// How far the table is from the exact psi; without a table, how large psi is.
static distance measure(const theory_problem *p, const rooms *r) {
    distance d = {0};
    int count = 0;
    for (int cell = 0; cell < r->cells; cell++) {
        const double *exact = r->psi + (cell * ACTIONS + r->policy[cell]) * r->features;
        for (int f = 0; f < r->features && !is_goal(&r->model, cell); f++) {
            double e = (p ? theory_get(p, cell, 0, f) : 0.0) - exact[f];
            d.largest = fmax(d.largest, fabs(e));
            d.rms += e * e;
            count++;
        }
    }
    d.rms = sqrt(d.rms / count);
    return d;
}

// Makes h the exact mean of delta in every cell: the weights of a cell add up to 1, so one step of
// rate 1 on h's own loss, which the graph gives, ends at its minimum.
static void solve_error(theory_problem *p) {
    if (p->num_nets < 2) return;
    theory_loss(p);
    float *h = fgsf_network_edit(p->nets[1]);
    const float *gradient = fgsf_bellman_error_gradient(p->bellman);
    size_t size = fgsf_network_num_parameters(&p->params.shape);
    for (size_t i = 0; i < size && p->report->status == FGSF_OK; i++) h[i] -= gradient[i];
}

// The graph's gradient at x, in double.
static void gradient_at(theory_problem *p, const double *x, double *g, int size) {
    if (p->report->status != FGSF_OK) return;
    float *theta = fgsf_network_edit(p->nets[0]);
    for (int i = 0; i < size; i++) theta[i] = (float)x[i];
    solve_error(p);
    theory_loss(p);
    for (int i = 0; i < size; i++) g[i] = fgsf_bellman_gradient(p->bellman)[i];
}

static double dot(const double *a, const double *b, int size) {
    double sum = 0.0;
    for (int i = 0; i < size; i++) sum += a[i] * b[i];
    return sum;
}

// Conjugate gradients from x, `steps` long: the gradient is affine, so without y it is the Hessian
// times its argument.
static void descend(theory_problem *p, const float *no_y, double *x, int steps, int size) {
    double *work = theory_zeros(p->report, 3 * (size_t)size, sizeof *work);
    double *g = work, *direction = work + size, *product = work + 2 * size;
    if (work) gradient_at(p, x, g, size);
    for (int i = 0; i < size && work; i++) direction[i] = -g[i];
    p->batch.y = no_y;
    for (int k = 0; k < steps && p->report->status == FGSF_OK; k++) {
        double square = dot(g, g, size);
        gradient_at(p, direction, product, size);
        double step = square / dot(direction, product, size);
        for (int i = 0; i < size; i++) {
            x[i] += step * direction[i];
            g[i] += step * product[i];
        }
        double keep = dot(g, g, size) / square;
        for (int i = 0; i < size; i++) direction[i] = keep * direction[i] - g[i];
    }
    p->batch.y = p->y;
    free(work);
}

// Where a method ends: by conjugate gradients, for these gradients are of a quadratic function; the
// semi-gradient is not and takes its steps.
static void find_end(theory_report *report, const rooms *r, const theory_distance *m) {
    theory_problem p;
    open_law(report, r, m->kind, m->n, &p);
    double *x = theory_zeros(report, 2 * (size_t)r->size, sizeof *x);
    float *no_y = theory_zeros(
        report, (size_t)(p.params.max_pairs * p.params.samples * r->features), sizeof *no_y);
    if (m->kind == FGSF_SEMI) {
        for (int k = 0; k < 400; k++) theory_step(&p, 1.0); // 0.95^400 = 1e-9
    } else if (report->status == FGSF_OK) {
        // A restart removes the rounding that the recursion of the gradient has gathered.
        for (int restart = 0; restart < 2; restart++) descend(&p, no_y, x, 120, r->size);
        gradient_at(&p, x, x + r->size, r->size); // leaves x in the network
    }
    if (report->status == FGSF_OK) {
        distance d = measure(&p, r);
        bool slips = r->model.slip > 0.0; // without slip, one outcome: every method is exact
        theory_equal(report, slips ? m->largest : 0.0, d.largest, 1e-4,
                     "%s, slip %g, largest distance from psi", m->name, r->model.slip);
        theory_equal(report, slips ? m->rms : 0.0, d.rms, 1e-4,
                     "%s, slip %g, root mean square distance", m->name, r->model.slip);
    }
    free(x);
    free(no_y);
    theory_problem_close(&p);
}

void theory_fixed_point(theory_report *report) {
    for (int slips = 0; slips < 2; slips++) {
        rooms r;
        open_rooms(report, slips ? 0.1 : 0.0, &r);
        if (slips && report->status == FGSF_OK) {
            distance size = measure(NULL, &r);
            theory_equal(report, theory_psi_size.largest, size.largest, 1e-9,
                         "psi itself, slip 0.1, largest entry");
            theory_equal(report, theory_psi_size.rms, size.rms, 1e-9,
                         "psi itself, slip 0.1, root mean square");
            check_law(report, &r, 2);
            check_law(report, &r, 5);
        }
        for (int i = 0; i < THEORY_DISTANCES; i++) find_end(report, &r, &theory_distances[i]);
        close_rooms(&r);
    }
}
