// Feature sets: members and indices of the three kinds, and that no feature is lost silently.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/agent.h"
#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "fgsf/feature_set.h"
#include "support_assert.h"

static const double EXACT[] = {0, 0, 0, 0.1, 1, 0, -0.5, 1}; // 4 members of 2 features

// What a learner of the preset `clean` would ask for, of a given kind.
static fgsf_feature_set_params params_of(enum fgsf_xi_set kind, int features) {
    fgsf_feature_set_params params = fgsf_agent_default_params().xi;
    params.kind = kind;
    params.num_features = features;
    return params;
}

TEST exact_sets_know_their_members_only(void) {
    fgsf_feature_set_params params = params_of(FGSF_XI_EXACT, 2);
    fgsf_feature_set *set = NULL;
    params.members = EXACT;
    params.num_members = 4;
    ASSERT_OK(fgsf_feature_set_create(&params, &set));
    ASSERT_EQ(4, fgsf_feature_set_size(set));
    ASSERT_EQ(4, fgsf_feature_set_count(set));
    for (int f = 0; f < 4; f++) {
        float phi[2] = {(float)EXACT[2 * f], (float)EXACT[2 * f + 1]};
        int index = -1;
        ASSERT_EQ(FGSF_OK, fgsf_feature_set_index(set, phi, &index));
        ASSERT_EQ(f, index);
        const float *member = &fgsf_feature_set_members(set)[2 * f];
        ASSERT_MEM_EQ(phi, member, sizeof phi);
    }
    int index = 77;
    const float near[2] = {1e-20f, 0.0f}, nan[2] = {NAN, 0.0f}, minus[2] = {-0.0f, 0.0f};
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_feature_set_index(set, nan, &index));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_feature_set_index(set, near, &index)); // never the nearest
    ASSERT_EQ(77, index);
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_index(set, minus, &index));
    ASSERT_EQ(0, index);
    float members[8];
    memcpy(members, fgsf_feature_set_members(set), sizeof members);
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_restore(set, members, 4));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_feature_set_restore(set, members, 3));
    members[5] = 2.0f;
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_feature_set_restore(set, members, 4));
    fgsf_feature_set_free(set);
    fgsf_feature_set_free(NULL);
    PASS();
}

TEST there_is_no_exact_set_without_members(void) {
    fgsf_feature_set_params params = params_of(FGSF_XI_EXACT, 2);
    fgsf_feature_set *set = NULL;
    ASSERT_REFUSED(fgsf_feature_set_create(&params, &set), "sf.xi_set=exact: the environment has");
    params.members = EXACT;
    ASSERT_REFUSED(fgsf_feature_set_create(&params, &set), "sf.xi_set=exact: the environment has");
    ASSERT_EQ(NULL, set);
    PASS();
}

TEST refuses_bad_parameters(void) {
    fgsf_feature_set_params params = params_of(FGSF_XI_BINS, 0);
    fgsf_feature_set *set = NULL;
    ASSERT_REFUSED(fgsf_feature_set_create(&params, &set), "feature set");
    params = params_of((enum fgsf_xi_set)3, 2);
    ASSERT_REFUSED(fgsf_feature_set_create(&params, &set), "feature set");
    params = params_of(FGSF_XI_BINS, 2);
    params.bins = 0;
    ASSERT_REFUSED(fgsf_feature_set_create(&params, &set), "sf.xi_bins");
    params = params_of(FGSF_XI_PROTOTYPES, 2);
    params.max_centers = 0;
    ASSERT_REFUSED(fgsf_feature_set_create(&params, &set), "sf.xi_max_centers");
    ASSERT_EQ(NULL, set);
    PASS();
}

TEST four_rooms_has_five_members(void) {
    fgsf_config cfg;
    fgsf_env *env = NULL;
    fgsf_feature_set *set = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg));
    ASSERT_EQ(FGSF_OK, fgsf_env_create(&cfg, &env));
    ASSERT_EQ(FGSF_XI_EXACT, cfg.learner.agent.xi.kind);
    fgsf_feature_set_params params = cfg.learner.agent.xi;
    params.num_features = fgsf_env_get_spec(env)->num_features;
    params.members = env->def->feature_set(env, &params.num_members);
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_create(&params, &set));
    ASSERT_EQ(5, fgsf_feature_set_size(set));
    int seen[5] = {0};
    for (int f = 0; f < 5; f++) { // nothing, three objects, the goal: zero and the unit vectors
        float phi[4] = {0};
        if (f > 0) phi[f - 1] = 1.0f;
        int index = -1;
        ASSERT_EQ(FGSF_OK, fgsf_feature_set_index(set, phi, &index));
        ASSERT(index >= 0 && index < 5);
        seen[index]++;
    }
    for (int f = 0; f < 5; f++) ASSERT_EQ(1, seen[f]);
    fgsf_feature_set_free(set);
    fgsf_env_free(env);
    PASS();
}

TEST bins_cover_the_cube(void) {
    fgsf_feature_set_params params = params_of(FGSF_XI_BINS, 3);
    fgsf_feature_set *set = NULL;
    params.bins = 4;
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_create(&params, &set));
    ASSERT_EQ(64, fgsf_feature_set_size(set));
    ASSERT_EQ(64, fgsf_feature_set_count(set));
    const float *members = fgsf_feature_set_members(set);
    int index = -1;
    for (int f = 0; f < 64; f++) { // each centre is in its own bin
        ASSERT_EQ(FGSF_OK, fgsf_feature_set_index(set, members + 3 * f, &index));
        ASSERT_EQ(f, index);
    }
    // Bins of width 0.5 with centres -0.75, -0.25, 0.25, 0.75; the first feature counts fastest.
    const struct {
        float phi[3];
        int index;
    } cases[] = {
        {{-1.0f, -1.0f, -1.0f}, 0},        {{-0.51f, -1.0f, -1.0f}, 0},
        {{-0.5f, -1.0f, -1.0f}, 1},        {{0.0f, -0.6f, -0.9f}, 2},
        {{-0.75f, 0.25f, -0.25f}, 8 + 16}, {{1.0f, 1.0f, 1.0f}, 63},
        {{5.0f, -7.0f, 1e30f}, 3 + 48}, // outside: the outermost bins
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ASSERT_EQ(FGSF_OK, fgsf_feature_set_index(set, cases[i].phi, &index));
        ASSERT_EQ_FMT(cases[i].index, index, "%d");
    }
    ASSERT_EQ(-0.75f, members[0]);
    ASSERT_EQ(0.75f, members[63 * 3 + 2]);
    fgsf_feature_set_free(set);
    params.bins = 41; // 41^3 > 65536
    set = NULL;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_feature_set_create(&params, &set));
    ASSERT(strstr(fgsf_last_error(), "sf.xi_bins"));
    ASSERT_EQ(NULL, set);
    PASS();
}

static int index_of(fgsf_feature_set *set, float x, float y) {
    const float phi[2] = {x, y};
    int index = -1;
    return fgsf_feature_set_index(set, phi, &index) == FGSF_OK ? index : -2;
}

TEST prototypes_grow_until_full(void) {
    fgsf_feature_set_params params = params_of(FGSF_XI_PROTOTYPES, 2);
    fgsf_feature_set *set = NULL, *copy = NULL;
    params.max_centers = 3;
    params.center_threshold = 0.5;
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_create(&params, &set));
    ASSERT_EQ(3, fgsf_feature_set_size(set));
    ASSERT_EQ(0, fgsf_feature_set_count(set));
    ASSERT_EQ(0, index_of(set, 0.0f, 0.0f));     // the first is always new
    ASSERT_EQ(0, index_of(set, 0.5f, 0.0f));     // as far as the threshold is not beyond it
    ASSERT_EQ(1, index_of(set, 0.5f, 0.125f));   // beyond: new
    ASSERT_EQ(0, index_of(set, 0.25f, 0.0f));    // nearest
    ASSERT_EQ(0, index_of(set, 0.25f, 0.0625f)); // equally near: the older
    ASSERT_EQ(2, fgsf_feature_set_count(set));
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_create(&params, &copy)); // a checkpoint half-way
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_restore(copy, fgsf_feature_set_members(set), 2));
    ASSERT_EQ(2, index_of(set, -3.0f, 1.0f));
    ASSERT_EQ(2, index_of(set, -9.0f, 1.0f)); // full: the nearest, however far
    ASSERT_EQ(3, fgsf_feature_set_count(set));
    ASSERT_EQ(2, fgsf_feature_set_count(copy));
    ASSERT_EQ(2, index_of(copy, -3.0f, 1.0f));
    ASSERT_EQ(2, index_of(copy, -9.0f, 1.0f));
    ASSERT_MEM_EQ(fgsf_feature_set_members(set), fgsf_feature_set_members(copy), 6 * sizeof(float));
    ASSERT_EQ(-2, index_of(set, INFINITY, 0.0f));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_feature_set_restore(copy, fgsf_feature_set_members(set), 4));
    ASSERT_EQ(FGSF_OK, fgsf_feature_set_restore(copy, NULL, 0));
    ASSERT_EQ(0, fgsf_feature_set_count(copy));
    fgsf_feature_set_free(set);
    fgsf_feature_set_free(copy);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(exact_sets_know_their_members_only);
    RUN_TEST(there_is_no_exact_set_without_members);
    RUN_TEST(refuses_bad_parameters);
    RUN_TEST(four_rooms_has_five_members);
    RUN_TEST(bins_cover_the_cube);
    RUN_TEST(prototypes_grow_until_full);
    GREATEST_MAIN_END();
}
