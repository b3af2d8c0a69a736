// Generalised policy improvement over a small table of values.
#include "fgsf/gpi.h"

#include <math.h>

static int first_maximum(const float *q, int n) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (q[i] > q[best]) best = i;
    }
    return best;
}

// The least value that counts as a maximum.
static float tie_bar(const float *q, int n) {
    float top = q[first_maximum(q, n)];
    return top - 1e-6f * fabsf(top);
}

int fgsf_gpi_maximisers(const float *q, int num_policies, int num_actions, int max,
                        fgsf_choice *out) {
    if (!q || !out || num_policies < 1 || num_actions < 1) return 0;
    int n = num_policies * num_actions, count = 0;
    float bar = tie_bar(q, n);
    for (int i = 0; i < n && count < max; i++) {
        if (q[i] >= bar) out[count++] = (fgsf_choice){i / num_actions, i % num_actions};
    }
    return count;
}

fgsf_choice fgsf_gpi_choose(const float *q, int num_policies, int num_actions, enum fgsf_tie tie,
                            fgsf_rng *rng) {
    if (!q || num_policies < 1 || num_actions < 1) return (fgsf_choice){0};
    // Over (policy, action) in this order, the first maximum is the lexicographic choice.
    int n = num_policies * num_actions, i = first_maximum(q, n);
    if (tie == FGSF_TIE_RANDOM) {
        float bar = tie_bar(q, n);
        uint64_t count = 0;
        for (int j = 0; j < n; j++) count += q[j] >= bar;
        uint64_t drawn = count > 1 ? fgsf_rng_below(rng, count) : count;
        for (int j = 0; j < n && drawn < count; j++) {
            if (q[j] >= bar && drawn-- == 0) i = j;
        }
    }
    return (fgsf_choice){i / num_actions, i % num_actions};
}

double fgsf_gpi_gap(const float *q, int num_policies, int num_actions) {
    if (!q || num_policies < 1 || num_actions < 2) return 0.0;
    float best = -INFINITY, second = -INFINITY;
    for (int a = 0; a < num_actions; a++) {
        float value = q[a];
        for (int k = 1; k < num_policies; k++) value = fmaxf(value, q[k * num_actions + a]);
        second = fmaxf(second, fminf(best, value));
        best = fmaxf(best, value);
    }
    return (double)best - (double)second;
}
