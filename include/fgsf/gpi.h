// Generalised policy improvement: from Q of several policies to a policy and an action.
//
//     fgsf_choice choice = fgsf_gpi_choose(q, num_policies, num_actions, FGSF_TIE_FIRST, &rng);
//
//     c    = argmax_k max_a q[k][a]        the policy whose value is used
//     a    = argmax_a q[c][a]              the action
//
// Policies are compared first, then actions. Values within a relative 1e-6 of the largest count as
// ties for `random` and `hull`; `first` takes the lowest index of the exact maximum.
#ifndef FGSF_GPI_H
#define FGSF_GPI_H

#include "fgsf/rng.h"

FGSF_BEGIN_DECLS

enum fgsf_tie { FGSF_TIE_FIRST, FGSF_TIE_RANDOM, FGSF_TIE_HULL };

typedef struct fgsf_choice {
    int policy, action;
} fgsf_choice;

// Chooses from q (num_policies, num_actions). Only FGSF_TIE_RANDOM draws from `rng`.
FGSF_API fgsf_choice fgsf_gpi_choose(const float *q, int num_policies, int num_actions,
                                     enum fgsf_tie tie, fgsf_rng *rng);

// Writes every maximising (policy, action), at most `max` of them, and returns how many.
FGSF_API int fgsf_gpi_maximisers(const float *q, int num_policies, int num_actions, int max,
                                 fgsf_choice *out);

// Returns the value of the best action minus that of the second best, each under the policy that values
// it most; 0 with one action.
FGSF_API double fgsf_gpi_gap(const float *q, int num_policies, int num_actions);

FGSF_END_DECLS
#endif
