// Generalised policy improvement over a small table of values.
#include "fgsf/gpi.h"

#include <math.h>

static int first_maximum(const float *q, int n) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (q[i] > q[best]) {
            best = i;
        }
    }
    return best;
}

int fgsf_gpi_maximisers(const float *q, int num_policies, int num_actions, int max,
                        fgsf_choice *out) {
    int n = num_policies * num_actions, count = 0;
    float top = q[first_maximum(q, n)];
    float bar = top - 1e-6f * fabsf(top);
    for (int i = 0; i < n && count < max; i++) {
        if (q[i] >= bar) {
            out[count++] = (fgsf_choice){i / num_actions, i % num_actions};
        }
    }
    return count;
}

fgsf_choice fgsf_gpi_choose(const float *q, int num_policies, int num_actions, enum fgsf_tie tie,
                            fgsf_rng *rng) {
    // Over (policy, action) in this order, the first maximum is the lexicographic choice.
    int i = first_maximum(q, num_policies * num_actions);
    if (tie == FGSF_TIE_RANDOM) {
        fgsf_choice ties[256];
        int count = fgsf_gpi_maximisers(q, num_policies, num_actions, 256, ties);
        if (count > 1) {
            return ties[fgsf_rng_below(rng, (uint64_t)count)];
        }
    }
    return (fgsf_choice){i / num_actions, i % num_actions};
}
