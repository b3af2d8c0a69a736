// greatest, with assertions that show the numbers and the messages they judge.
#ifndef FGSF_SUPPORT_ASSERT_H
#define FGSF_SUPPORT_ASSERT_H

#include <stdio.h>
#include <string.h>

#define GREATEST_USE_LONGJMP 0 // nothing here jumps, and setjmp spoils loops over tests
#include "fgsf/status.h"
#include "greatest.h"

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
