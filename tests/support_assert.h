// greatest, with assertions that show the numbers and the messages they judge.
#ifndef FGSF_SUPPORT_ASSERT_H
#define FGSF_SUPPORT_ASSERT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Greatest's own macros convert; a test that loses a digit on the way compares wrongly and fails.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"

#define GREATEST_USE_LONGJMP 0 // nothing here jumps, and setjmp spoils loops over tests
#include "fgsf/status.h"
#include "greatest.h"

// The larger of two errors, and infinity if either is a NaN, which fmax would drop.
static inline double worse(double worst, double error) {
    return isnan(worst) || isnan(error) ? (double)INFINITY : fmax(worst, error);
}

// Whether the last error says this.
static inline bool says(const char *part) {
    if (strstr(fgsf_last_error(), part)) return true;
    fprintf(stderr, "expected '%s' in: %s\n", part, fgsf_last_error());
    return false;
}

// Fails unless |expected - got| <= tolerance. Greatest's own passes when one of the three is a NaN.
#undef ASSERT_IN_RANGE
#define ASSERT_IN_RANGE(expected, got, tolerance)                                                  \
    do {                                                                                           \
        double expected_ = (expected), got_ = (got), tolerance_ = (tolerance);                     \
        if (!(fabs(expected_ - got_) <= tolerance_ && isfinite(tolerance_))) {                     \
            printf("\n%s: %.17g is not within %.3g of %.17g\n", #got, got_, tolerance_,            \
                   expected_);                                                                     \
            FAILm(#got);                                                                           \
        }                                                                                          \
    } while (0)

// Fails unless value < limit (a NaN fails), and says what the value was.
#define ASSERT_BELOW(what, value, limit)                                                           \
    do {                                                                                           \
        double value_ = (value), limit_ = (limit);                                                 \
        if (!(value_ < limit_)) {                                                                  \
            printf("\n%s: %.3g is not below %.3g\n", (what), value_, limit_);                      \
            FAILm(what);                                                                           \
        }                                                                                          \
    } while (0)

// Fails unless the call returns FGSF_OK.
#define ASSERT_OK(call) ASSERT_EQ_FMTm(fgsf_last_error(), FGSF_OK, (call), "%d")

// Fails unless the call is refused as invalid with a message that begins with `field`.
#define ASSERT_REFUSED(call, field)                                                                \
    do {                                                                                           \
        ASSERT_EQ_FMTm(field, FGSF_ERR_INVALID, (call), "%d");                                     \
        ASSERT_STRN_EQm(fgsf_last_error(), field, fgsf_last_error(), strlen(field));               \
    } while (0)

#endif
