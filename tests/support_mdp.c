// Linear algebra on lists of outcomes. Slow, short and exact up to rounding in double.
#include "support_mdp.h"

#include <stdlib.h>
#include <string.h>

#include "support_assert.h"

// Adds the update that takes its error from outcome i and its gradient from outcome j of one pair.
static void add_product(const ref_mdp *m, const ref_outcome *i, const ref_outcome *j, double weight,
                        double eta, double *A, double *b) {
    // delta_i = y_i + g_i x[next_i] - x[pair]; the gradient's factor is eta g_j e[next_j] - e[pair]
    int rows[2] = {j->pair, j->next}, columns[2] = {i->pair, i->next};
    double row_values[2] = {1.0, -eta * j->gamma}, column_values[2] = {1.0, -i->gamma};
    for (int r = 0; r < 2; r++) {
        if (rows[r] < 0) continue;
        for (int c = 0; c < 2; c++) {
            if (columns[c] < 0) continue;
            A[rows[r] * m->pairs + columns[c]] += weight * row_values[r] * column_values[c];
        }
        for (int f = 0; f < m->features; f++) {
            b[rows[r] * m->features + f] += weight * row_values[r] * i->y[f];
        }
    }
}

void ref_system(const ref_mdp *m, double n, double eta, double *A, double *b) {
    memset(A, 0, (size_t)(m->pairs * m->pairs) * sizeof *A);
    memset(b, 0, (size_t)(m->pairs * m->features) * sizeof *b);
    for (int first = 0, end; first < m->num_outcomes; first = end) {
        int pair = m->outcomes[first].pair;
        for (end = first; end < m->num_outcomes && m->outcomes[end].pair == pair;) end++;
        for (int i = first; i < end; i++) {
            for (int j = first; j < end; j++) {
                // Two of the n samples are the same one with probability 1/n, else independent.
                double p =
                    m->outcomes[i].probability * m->outcomes[j].probability * (1.0 - 1.0 / n);
                if (i == j) p += m->outcomes[i].probability / n;
                add_product(m, &m->outcomes[i], &m->outcomes[j], m->d[pair] * p, eta, A, b);
            }
        }
    }
}

double ref_error(const ref_mdp *m, double n, const double *x) {
    double error = 0.0;
    for (int first = 0, end; first < m->num_outcomes; first = end) {
        int pair = m->outcomes[first].pair;
        for (end = first; end < m->num_outcomes && m->outcomes[end].pair == pair;) end++;
        for (int f = 0; f < m->features; f++) {
            double mean = 0.0, square = 0.0;
            for (int i = first; i < end; i++) {
                const ref_outcome *o = &m->outcomes[i];
                double next = o->next < 0 ? 0.0 : x[o->next * m->features + f];
                double delta = o->y[f] + o->gamma * next - x[pair * m->features + f];
                mean += o->probability * delta;
                square += o->probability * delta * delta;
            }
            error += 0.5 * m->d[pair] * (mean * mean + (square - mean * mean) / n);
        }
    }
    return error;
}

static void swap_rows(double *M, int width, int i, int j) {
    for (int c = 0; c < width && i != j; c++) {
        double t = M[i * width + c];
        M[i * width + c] = M[j * width + c];
        M[j * width + c] = t;
    }
}

bool ref_solve(int n, int width, double *A, double *b) {
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++) {
            if (fabs(A[i * n + k]) > fabs(A[pivot * n + k])) pivot = i;
        }
        if (A[pivot * n + k] == 0.0) return false;
        swap_rows(A, n, k, pivot);
        swap_rows(b, width, k, pivot);
        for (int i = 0; i < n; i++) {
            double factor = i == k ? 0.0 : A[i * n + k] / A[k * n + k];
            if (factor == 0.0) continue;
            for (int c = k; c < n; c++) A[i * n + c] -= factor * A[k * n + c];
            for (int c = 0; c < width; c++) b[i * width + c] -= factor * b[k * width + c];
        }
    }
    for (int k = 0; k < n; k++) {
        for (int c = 0; c < width; c++) b[k * width + c] /= A[k * n + k];
    }
    return true;
}

void ref_iterate(int n, int width, const double *A, const double *b, double alpha, int steps,
                 double *x) {
    double *update = malloc((size_t)(n * width) * sizeof *update);
    if (!update) abort(); // a few numbers in a test
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n * width; i++) update[i] = -b[i];
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
                for (int c = 0; c < width; c++) {
                    update[i * width + c] += A[i * n + k] * x[k * width + c];
                }
            }
        }
        for (int i = 0; i < n * width; i++) x[i] -= alpha * update[i];
    }
    free(update);
}

double ref_max_difference(int count, const double *x, const double *y) {
    double largest = 0.0;
    for (int i = 0; i < count; i++) largest = worse(largest, fabs(x[i] - y[i]));
    return largest;
}

void ref_value_iteration(int states, int actions, const double *P, const double *reward,
                         double gamma, double *q) {
    int pairs = states * actions;
    memset(q, 0, (size_t)pairs * sizeof *q);
    double change = INFINITY;
    while (change > 1e-14) {
        change = 0.0;
        for (int sa = 0; sa < pairs; sa++) { // in place: Gauss-Seidel converges, too
            double value = reward[sa];
            for (int t = 0; t < states; t++) {
                double best = q[t * actions];
                for (int a = 1; a < actions; a++) best = fmax(best, q[t * actions + a]);
                value += gamma * P[sa * states + t] * best;
            }
            change = fmax(change, fabs(value - q[sa]));
            q[sa] = value;
        }
    }
}
