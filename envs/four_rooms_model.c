// The exact model of Four Rooms: outcomes with their probabilities, the tabular form with a frozen
// inventory, and policy evaluation in closed form. For tests and studies, not for training.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "four_rooms.h"

#define ACTIONS FGSF_FOUR_ROOMS_ACTIONS

int fgsf_four_rooms_outcomes(const fgsf_four_rooms *m, int cell, uint64_t inventory, int action,
                             fgsf_four_rooms_outcome out[ACTIONS]) {
    int count = 0;
    for (int a = 0; a < ACTIONS; a++) {
        double p = m->slip / ACTIONS + (a == action ? 1.0 - m->slip : 0.0);
        if (p <= 0.0) continue;
        fgsf_four_rooms_outcome o = fgsf_four_rooms_move(m, cell, inventory, a);
        int i = 0; // two actions that lead to the same cell (two bumps) are one outcome
        while (i < count && out[i].cell != o.cell) i++;
        if (i == count) {
            out[count] = o;
            out[count++].probability = p;
        } else {
            out[i].probability += p;
        }
    }
    return count;
}

static bool is_goal(const fgsf_four_rooms *m, int cell) {
    return m->kind[cell] == m->num_types + 1;
}

void fgsf_four_rooms_tabular(const fgsf_four_rooms *m, uint64_t inventory, double *P,
                             double *features) {
    size_t n = (size_t)m->num_cells, width = (size_t)m->num_features;
    memset(P, 0, n * ACTIONS * n * sizeof *P);
    memset(features, 0, n * ACTIONS * width * sizeof *features);
    for (int cell = 0; cell < m->num_cells; cell++) {
        if (is_goal(m, cell)) continue;
        for (int a = 0; a < ACTIONS; a++) {
            size_t at = (size_t)cell * ACTIONS + (size_t)a;
            fgsf_four_rooms_outcome out[ACTIONS];
            int count = fgsf_four_rooms_outcomes(m, cell, inventory, a, out);
            for (int i = 0; i < count; i++) {
                P[at * n + (size_t)out[i].cell] += out[i].probability;
                if (out[i].kind > 0) {
                    features[at * width + (size_t)out[i].kind - 1] += out[i].probability;
                }
            }
        }
    }
}

// Gauss elimination with partial pivoting of A (n, n), which it overwrites, on b (n, width).
static bool solve(double *A, double *b, size_t n, size_t width) {
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++) {
            if (fabs(A[i * n + k]) > fabs(A[pivot * n + k])) pivot = i;
        }
        if (!(fabs(A[pivot * n + k]) > 0.0)) return false;
        for (size_t j = k; j < n && pivot != k; j++) {
            double swap = A[k * n + j];
            A[k * n + j] = A[pivot * n + j];
            A[pivot * n + j] = swap;
        }
        for (size_t j = 0; j < width && pivot != k; j++) {
            double swap = b[k * width + j];
            b[k * width + j] = b[pivot * width + j];
            b[pivot * width + j] = swap;
        }
        for (size_t i = k + 1; i < n; i++) {
            double factor = A[i * n + k] / A[k * n + k];
            if (factor == 0.0) continue;
            for (size_t j = k; j < n; j++) A[i * n + j] -= factor * A[k * n + j];
            for (size_t j = 0; j < width; j++) b[i * width + j] -= factor * b[k * width + j];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t i = 0; i < k; i++) {
            double factor = A[i * n + k] / A[k * n + k];
            if (factor == 0.0) continue;
            for (size_t j = 0; j < width; j++) b[i * width + j] -= factor * b[k * width + j];
        }
        for (size_t j = 0; j < width; j++) b[k * width + j] /= A[k * n + k];
    }
    return true;
}

fgsf_status fgsf_four_rooms_evaluate(int num_cells, const double *P, const double *y, int width,
                                     const double *policy, double gamma, double *x) {
    size_t n = (size_t)num_cells, w = (size_t)width;
    if (!(gamma >= 0.0 && gamma < 1.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "four_rooms: gamma %g is not in [0, 1)", gamma);
    }
    double *A = calloc(n * n, sizeof *A);
    double *v = calloc(n * w, sizeof *v); // x under the policy's own action (num_cells, width)
    if (!A || !v) {
        free(A);
        free(v);
        return fgsf_fail(FGSF_ERR_MEMORY, "four_rooms: out of memory");
    }
    for (size_t s = 0; s < n; s++) {
        A[s * n + s] = 1.0;
        for (size_t a = 0; a < ACTIONS; a++) {
            double pi = policy[s * ACTIONS + a];
            const double *to = P + (s * ACTIONS + a) * n;
            for (size_t t = 0; t < n; t++) A[s * n + t] -= gamma * pi * to[t];
            for (size_t f = 0; f < w; f++) v[s * w + f] += pi * y[(s * ACTIONS + a) * w + f];
        }
    }
    bool solved = solve(A, v, n, w);
    for (size_t sa = 0; sa < n * ACTIONS && solved; sa++) {
        for (size_t f = 0; f < w; f++) x[sa * w + f] = y[sa * w + f];
        for (size_t t = 0; t < n; t++) {
            double p = gamma * P[sa * n + t];
            for (size_t f = 0; f < w && p != 0.0; f++) x[sa * w + f] += p * v[t * w + f];
        }
    }
    free(A);
    free(v);
    if (!solved) return fgsf_fail(FGSF_ERR_INVALID, "four_rooms: the policy's system is singular");
    return FGSF_OK;
}
