// The test macros fail where they should: on numbers out of range, and on every NaN.
#include "support_assert.h"

static enum greatest_test_res in_range(double expected, double got, double tolerance) {
    ASSERT_IN_RANGE(expected, got, tolerance);
    PASS();
}

static enum greatest_test_res below(double value, double limit) {
    ASSERT_BELOW("value", value, limit);
    PASS();
}

TEST in_range_fails_on_nan(void) {
    static const double good[][3] = {{1, 1, 0}, {1, 1.5, 0.5}, {1, 0.5, 0.5}, {-1, -1.25, 0.25}};
    static const double bad[][3] = {{1, 2, 0.5},
                                    {2, 1, 0.5},
                                    {NAN, 1, 0.5},
                                    {1, NAN, 0.5},
                                    {1, 1, NAN},
                                    {NAN, NAN, 0.5},
                                    {1, 1, -1},
                                    {INFINITY, 1, 0.5},
                                    {1, -INFINITY, 0.5},
                                    {1, NAN, 1e300},
                                    {1, INFINITY, INFINITY}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ASSERT_EQ(GREATEST_TEST_RES_PASS, in_range(good[i][0], good[i][1], good[i][2]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQ(GREATEST_TEST_RES_FAIL, in_range(bad[i][0], bad[i][1], bad[i][2]));
    }
    PASS();
}

TEST below_fails_on_nan(void) {
    ASSERT_EQ(GREATEST_TEST_RES_PASS, below(1.0, 2.0));
    ASSERT_EQ(GREATEST_TEST_RES_FAIL, below(2.0, 2.0));
    ASSERT_EQ(GREATEST_TEST_RES_FAIL, below(NAN, 2.0));
    ASSERT_EQ(GREATEST_TEST_RES_FAIL, below(1.0, NAN));
    PASS();
}

TEST worse_keeps_nan(void) {
    ASSERT_EQ(2.0, worse(1.0, 2.0));
    ASSERT_EQ(2.0, worse(2.0, 1.0));
    ASSERT_EQ(INFINITY, worse(NAN, 1.0));
    ASSERT_EQ(INFINITY, worse(1.0, NAN));
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(in_range_fails_on_nan);
    RUN_TEST(below_fails_on_nan);
    RUN_TEST(worse_keeps_nan);
    GREATEST_MAIN_END();
}
