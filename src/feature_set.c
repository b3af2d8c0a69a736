// Finite feature sets: exact ones are searched, bins are computed, prototypes grow.
#include "fgsf/feature_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "require.h"

#define MAX_MEMBERS 65536

struct fgsf_feature_set {
    enum fgsf_xi_set kind;
    int num_features;
    int size, count;
    int bins;         // per feature
    double threshold; // squared distance beyond which a feature becomes a prototype of its own
    float *members;   // (size, num_features)
};

static float *member(const fgsf_feature_set *set, int f) {
    return set->members + (size_t)f * (size_t)set->num_features;
}

static fgsf_status allocate(fgsf_feature_set *set, int size) {
    set->size = size;
    set->members = calloc((size_t)size * (size_t)set->num_features, sizeof *set->members);
    if (set->members) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a feature set of %d members", size);
}

static fgsf_status create_exact(fgsf_feature_set *set, const fgsf_feature_set_params *p) {
    if (!p->members || p->num_members < 1) {
        return fgsf_fail(FGSF_ERR_INVALID, "sf.xi_set=exact: the environment has no finite feature "
                                           "set; use prototypes or bins");
    }
    FGSF_TRY(allocate(set, p->num_members));
    for (size_t i = 0; i < (size_t)p->num_members * (size_t)set->num_features; i++) {
        set->members[i] = (float)p->members[i];
    }
    set->count = p->num_members;
    return FGSF_OK;
}

static fgsf_status create_bins(fgsf_feature_set *set, const fgsf_feature_set_params *p) {
    set->bins = (int)p->bins;
    int64_t count = p->bins < 1 ? 0 : 1;
    for (int k = 0; k < set->num_features && count <= MAX_MEMBERS; k++) count *= p->bins;
    if (count < 1 || count > MAX_MEMBERS) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "sf.xi_bins: %lld bins in each of %d features are more than %d members",
                         (long long)p->bins, set->num_features, MAX_MEMBERS);
    }
    FGSF_TRY(allocate(set, (int)count));
    for (int f = 0; f < count; f++) {
        int rest = f;
        for (int k = 0; k < set->num_features; k++) { // the first feature counts fastest
            member(set, f)[k] = (float)((2.0 * (rest % set->bins) + 1.0) / set->bins - 1.0);
            rest /= set->bins;
        }
    }
    set->count = (int)count;
    return FGSF_OK;
}

static fgsf_status create_prototypes(fgsf_feature_set *set, const fgsf_feature_set_params *p) {
    if (p->max_centers < 1 || p->max_centers > MAX_MEMBERS) {
        return fgsf_fail(FGSF_ERR_INVALID, "sf.xi_max_centers: %lld is not in [1, %d]",
                         (long long)p->max_centers, MAX_MEMBERS);
    }
    if (!(p->center_threshold >= 0.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "sf.xi_center_threshold: %g is negative",
                         p->center_threshold);
    }
    set->threshold = p->center_threshold * p->center_threshold;
    return allocate(set, (int)p->max_centers);
}

fgsf_status fgsf_feature_set_create(const fgsf_feature_set_params *params, fgsf_feature_set **out) {
    FGSF_REQUIRE(params && out);
    static fgsf_status (*const create[])(fgsf_feature_set *, const fgsf_feature_set_params *) = {
        [FGSF_XI_EXACT] = create_exact,
        [FGSF_XI_BINS] = create_bins,
        [FGSF_XI_PROTOTYPES] = create_prototypes,
    };
    if (params->num_features < 1 || params->num_features > 1 << 20 ||
        (unsigned)params->kind > FGSF_XI_PROTOTYPES) {
        return fgsf_fail(FGSF_ERR_INVALID, "feature set: kind %d of %d features does not exist",
                         (int)params->kind, params->num_features);
    }
    fgsf_feature_set *set = calloc(1, sizeof *set);
    if (!set) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a feature set");
    set->kind = params->kind;
    set->num_features = params->num_features;
    fgsf_status status = create[set->kind](set, params);
    if (status == FGSF_OK) *out = set;
    if (status != FGSF_OK) fgsf_feature_set_free(set);
    return status;
}

void fgsf_feature_set_free(fgsf_feature_set *set) {
    if (!set) return;
    free(set->members);
    free(set);
}

int fgsf_feature_set_size(const fgsf_feature_set *set) {
    return set ? set->size : 0;
}

int fgsf_feature_set_count(const fgsf_feature_set *set) {
    return set ? set->count : 0;
}

int fgsf_feature_set_width(const fgsf_feature_set *set) {
    return set->num_features;
}

const float *fgsf_feature_set_members(const fgsf_feature_set *set) {
    return set ? set->members : NULL;
}

// Returns the first nearest member and its squared distance, or -1 while there is none.
static int nearest(const fgsf_feature_set *set, const float *phi, double *distance) {
    int best = -1;
    *distance = INFINITY;
    for (int f = 0; f < set->count; f++) {
        const float *m = member(set, f);
        double sum = 0.0;
        for (int k = 0; k < set->num_features; k++) {
            double difference = (double)phi[k] - m[k];
            sum += difference * difference;
        }
        if (sum < *distance) {
            *distance = sum;
            best = f;
        }
    }
    return best;
}

int fgsf_feature_set_nearest(const fgsf_feature_set *set, const float *phi) {
    if (!(set && phi)) return 0;
    double distance;
    return nearest(set, phi, &distance);
}

static int bin_of(const fgsf_feature_set *set, const float *phi) {
    int index = 0;
    for (int k = set->num_features - 1; k >= 0; k--) {
        double at = floor((phi[k] + 1.0) * 0.5 * set->bins);
        int bin = at < 0.0 ? 0 : at >= set->bins ? set->bins - 1 : (int)at;
        index = index * set->bins + bin;
    }
    return index;
}

fgsf_status fgsf_feature_set_index(fgsf_feature_set *set, const float *phi, int *index) {
    FGSF_REQUIRE(set && phi && index);
    for (int k = 0; k < set->num_features; k++) {
        if (!isfinite(phi[k])) {
            return fgsf_fail(FGSF_ERR_INVALID, "feature set: phi[%d] is %g, not a finite number", k,
                             (double)phi[k]);
        }
    }
    if (set->kind == FGSF_XI_BINS) {
        *index = bin_of(set, phi);
        return FGSF_OK;
    }
    double distance = 0.0;
    int found = nearest(set, phi, &distance);
    if (set->kind == FGSF_XI_EXACT && !(distance == 0.0)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "sf.xi_set=exact: phi = (%g, ...) is none of the %d members of the set",
                         (double)phi[0], set->count);
    }
    if (set->kind == FGSF_XI_PROTOTYPES && set->count < set->size &&
        (found < 0 || distance > set->threshold)) {
        found = set->count++;
        memcpy(member(set, found), phi, (size_t)set->num_features * sizeof *phi);
    }
    *index = found;
    return FGSF_OK;
}

fgsf_status fgsf_feature_set_restore(fgsf_feature_set *set, const float *members, int count) {
    FGSF_REQUIRE(set && (members || count == 0));
    size_t bytes = (size_t)set->num_features * sizeof *members;
    if (set->kind == FGSF_XI_PROTOTYPES) {
        if (count < 0 || count > set->size) {
            return fgsf_fail(FGSF_ERR_FORMAT, "feature set: %d prototypes in %d slots", count,
                             set->size);
        }
        memset(set->members, 0, (size_t)set->size * bytes);
        if (count > 0) memcpy(set->members, members, (size_t)count * bytes);
        set->count = count;
        return FGSF_OK;
    }
    if (count != set->count || memcmp(set->members, members, (size_t)count * bytes) != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT,
                         "feature set: the %d stored members are not the %d of this environment",
                         count, set->count);
    }
    return FGSF_OK;
}
