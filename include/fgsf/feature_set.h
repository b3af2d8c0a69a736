// The finite set Phi that xi is a distribution over: exact, uniform bins, or growing prototypes.
//
//     fgsf_feature_set_create(&cfg, env, &set);
//     fgsf_feature_set_index(set, phi, &f);        // y is the one-hot of f
//
// exact: the environment's own set; a feature outside it is an error, never the nearest member.
// bins: a uniform grid over [-1, 1] per dimension, members are the centres of the bins, and what
// lies outside belongs to the outermost ones. prototypes: the nearest centre, or a new one when the
// distance exceeds sf.xi_center_threshold while fewer than sf.xi_max_centers exist.
#ifndef FGSF_FEATURE_SET_H
#define FGSF_FEATURE_SET_H

#include "fgsf/env.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_feature_set fgsf_feature_set;

FGSF_API fgsf_status fgsf_feature_set_create(const fgsf_config *cfg, const fgsf_env *env,
                                             fgsf_feature_set **out);
FGSF_API void fgsf_feature_set_free(fgsf_feature_set *set);

// Returns F, the number of slots (members plus, for prototypes, those not yet taken).
FGSF_API int fgsf_feature_set_size(const fgsf_feature_set *set);

// Returns how many slots hold a member.
FGSF_API int fgsf_feature_set_count(const fgsf_feature_set *set);

// Returns the members (count, num_features).
FGSF_API const float *fgsf_feature_set_members(const fgsf_feature_set *set);

// Finds the member of a feature vector; prototypes may add one.
FGSF_API fgsf_status fgsf_feature_set_index(fgsf_feature_set *set, const float *phi, int *index);

// Restores the members, for checkpoints. Those of exact sets and bins must be what they already
// are.
FGSF_API fgsf_status fgsf_feature_set_restore(fgsf_feature_set *set, const float *members,
                                              int count);

FGSF_END_DECLS
#endif
