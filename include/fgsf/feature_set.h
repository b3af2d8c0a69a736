// The finite set Phi that xi is a distribution over: exact, uniform bins, or growing prototypes.
//
//     fgsf_feature_set_params params = {.kind = FGSF_XI_PROTOTYPES, .num_features = 4,
//                                       .max_centers = 64, .center_threshold = 0.05};
//     fgsf_feature_set_create(&params, &set);
//     fgsf_feature_set_index(set, phi, &f);        // y is the one-hot of f
//
// exact: a given set; a feature outside it is an error, never the nearest member. bins: a uniform
// grid over [-1, 1] per dimension; members are the centres of the bins, and values outside fall into
// the outermost bins. prototypes: the nearest centre, or a new one when the distance
// exceeds `center_threshold` while fewer than `max_centers` exist.
#ifndef FGSF_FEATURE_SET_H
#define FGSF_FEATURE_SET_H

#include <stdint.h>

#include "fgsf/status.h"

FGSF_BEGIN_DECLS

enum fgsf_xi_set { FGSF_XI_EXACT, FGSF_XI_BINS, FGSF_XI_PROTOTYPES };

typedef struct fgsf_feature_set_params {
    enum fgsf_xi_set kind;
    int num_features;        // length of phi
    int64_t bins;            // bins: per feature
    int64_t max_centers;     // prototypes
    double center_threshold; // prototypes
    const double *members;   // exact: (num_members, num_features), copied
    int num_members;
} fgsf_feature_set_params;

typedef struct fgsf_feature_set fgsf_feature_set;

FGSF_API fgsf_status fgsf_feature_set_create(const fgsf_feature_set_params *params,
                                             fgsf_feature_set **out);
FGSF_API void fgsf_feature_set_free(fgsf_feature_set *set);

// Returns F, the number of slots (members plus, for prototypes, those not yet taken).
FGSF_API int fgsf_feature_set_size(const fgsf_feature_set *set);

// Returns how many slots hold a member.
FGSF_API int fgsf_feature_set_count(const fgsf_feature_set *set);

// Returns the members (count, num_features).
FGSF_API const float *fgsf_feature_set_members(const fgsf_feature_set *set);

// Returns the member nearest to a feature vector, without adding one; -1 while there is none.
FGSF_API int fgsf_feature_set_nearest(const fgsf_feature_set *set, const float *phi);

// Finds the member of a feature vector; prototypes may add one.
FGSF_API fgsf_status fgsf_feature_set_index(fgsf_feature_set *set, const float *phi, int *index);

// Restores the members, for checkpoints. Those of exact sets and bins must be what they already
// are.
FGSF_API fgsf_status fgsf_feature_set_restore(fgsf_feature_set *set, const float *members,
                                              int count);

FGSF_END_DECLS
#endif
