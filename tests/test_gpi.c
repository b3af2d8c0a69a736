// GPI over tables: the lexicographic choice, and ties by the first, a random or all maximisers.
#include <math.h>

#include "fgsf/gpi.h"
#include "support_assert.h"

static fgsf_choice first(const float *q, int policies, int actions) {
    return fgsf_gpi_choose(q, policies, actions, FGSF_TIE_FIRST, NULL);
}

TEST the_choice_is_the_largest_of_all(void) {
    const float q[] = {0.1f, 0.5f, 0.2f, 0.3f, 0.4f, 0.9f, -3.0f, 0.0f, 0.8f};
    fgsf_choice c = first(q, 3, 3);
    ASSERT_EQ_FMT(1, c.policy, "%d");
    ASSERT_EQ_FMT(2, c.action, "%d");
    PASS();
}

TEST values_may_all_be_negative(void) {
    const float q[] = {-5.0f, -2.0f, -4.0f, -3.0f};
    fgsf_choice c = first(q, 2, 2);
    ASSERT(c.policy == 0 && c.action == 1);
    PASS();
}

// Policies are compared first: the tie goes to the lower policy, whatever its action.
TEST ties_are_lexicographic(void) {
    const float q[] = {0.0f, 0.0f, 7.0f, 7.0f, 0.0f, 0.0f};
    fgsf_choice c = first(q, 2, 3);
    ASSERT(c.policy == 0 && c.action == 2);
    const float flat[6] = {0};
    c = first(flat, 2, 3);
    ASSERT(c.policy == 0 && c.action == 0);
    PASS();
}

// `first` takes the exact maximum, even where a lower index is within the tolerance of ties.
TEST first_is_exact(void) {
    const float q[] = {1.0f, nextafterf(1.0f, 2.0f)};
    ASSERT_EQ(1, first(q, 1, 2).action);
    fgsf_choice ties[2];
    ASSERT_EQ(2, fgsf_gpi_maximisers(q, 1, 2, 2, ties));
    PASS();
}

TEST the_tolerance_is_relative(void) {
    const float near[] = {1e4f, 1e4f - 0.005f, 1e4f - 0.02f};
    const float negative[] = {-1e4f, -1e4f - 0.005f, -1e4f - 0.02f};
    const float small[] = {1e-4f, 1e-4f - 1e-9f, 0.0f};
    fgsf_choice ties[3];
    ASSERT_EQ(2, fgsf_gpi_maximisers(near, 1, 3, 3, ties));
    ASSERT_EQ(2, fgsf_gpi_maximisers(negative, 3, 1, 3, ties));
    ASSERT(ties[1].policy == 1 && ties[1].action == 0);
    ASSERT_EQ(1, fgsf_gpi_maximisers(small, 1, 3, 3, ties));
    PASS();
}

TEST maximisers_come_in_order_and_stop_at_the_limit(void) {
    const float q[] = {2.0f, 1.0f, 2.0f, 2.0f, 0.0f, 2.0f};
    fgsf_choice ties[6];
    ASSERT_EQ(4, fgsf_gpi_maximisers(q, 3, 2, 6, ties));
    const int expected[4][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 1}};
    for (int i = 0; i < 4; i++) {
        ASSERT(ties[i].policy == expected[i][0] && ties[i].action == expected[i][1]);
    }
    ASSERT_EQ(3, fgsf_gpi_maximisers(q, 3, 2, 3, ties));
    PASS();
}

// Each maximiser as often as the others, and nothing else.
TEST random_ties_are_uniform(void) {
    const float q[] = {2.0f, 1.0f, 2.0f, 2.0f, 0.0f, 2.0f};
    int hits[6] = {0}, draws = 40000;
    fgsf_rng rng = fgsf_rng_make(3, FGSF_STREAM_EXPLORE);
    for (int i = 0; i < draws; i++) {
        fgsf_choice c = fgsf_gpi_choose(q, 3, 2, FGSF_TIE_RANDOM, &rng);
        hits[c.policy * 2 + c.action]++;
    }
    for (int i = 0; i < 6; i++) {
        double share = (double)hits[i] / draws;
        ASSERT_BELOW("share of one maximiser", fabs(share - (q[i] == 2.0f ? 0.25 : 0.0)), 0.01);
    }
    PASS();
}

TEST many_random_ties(void) {
    float q[1000] = {0};
    fgsf_rng rng = fgsf_rng_make(4, FGSF_STREAM_EXPLORE);
    double sum = 0.0;
    for (int i = 0; i < 20000; i++) {
        fgsf_choice c = fgsf_gpi_choose(q, 10, 100, FGSF_TIE_RANDOM, &rng);
        sum += c.policy * 100 + c.action;
    }
    ASSERT_BELOW("mean of 0..999", fabs(sum / 20000 - 499.5), 10.0);
    PASS();
}

TEST the_gap_is_between_actions(void) {
    const float q[] = {1.0f, 0.5f, -3.0f, 0.9f, 0.75f, 0.0f}; // policies x actions
    ASSERT_EQ(0.25, fgsf_gpi_gap(q, 2, 3));
    ASSERT_EQ(0.5, fgsf_gpi_gap(q, 1, 3));
    ASSERT_EQ(0.0, fgsf_gpi_gap(q, 6, 1));
    ASSERT_EQ(0.0, fgsf_gpi_gap(NULL, 2, 3));
    PASS();
}

// Without a tie nothing is drawn; `first` and `hull` never draw.
TEST only_random_ties_draw(void) {
    const float unique[] = {0.0f, 1.0f}, tied[] = {1.0f, 1.0f};
    fgsf_rng rng = fgsf_rng_make(5, FGSF_STREAM_EXPLORE), before = rng;
    fgsf_gpi_choose(unique, 1, 2, FGSF_TIE_RANDOM, &rng);
    ASSERT_EQ(0, fgsf_gpi_choose(tied, 1, 2, FGSF_TIE_FIRST, &rng).action);
    ASSERT_EQ(0, fgsf_gpi_choose(tied, 1, 2, FGSF_TIE_HULL, &rng).action);
    ASSERT_MEM_EQ(&before, &rng, sizeof rng);
    fgsf_gpi_choose(tied, 1, 2, FGSF_TIE_RANDOM, &rng);
    ASSERT(memcmp(&before, &rng, sizeof rng) != 0);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(the_choice_is_the_largest_of_all);
    RUN_TEST(values_may_all_be_negative);
    RUN_TEST(ties_are_lexicographic);
    RUN_TEST(first_is_exact);
    RUN_TEST(the_tolerance_is_relative);
    RUN_TEST(maximisers_come_in_order_and_stop_at_the_limit);
    RUN_TEST(random_ties_are_uniform);
    RUN_TEST(many_random_ties);
    RUN_TEST(the_gap_is_between_actions);
    RUN_TEST(only_random_ties_draw);
    GREATEST_MAIN_END();
}
