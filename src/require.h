// Arguments that a public function cannot do without; the convention is in fgsf/status.h.
#ifndef FGSF_REQUIRE_H
#define FGSF_REQUIRE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "fgsf/status.h"

#define FGSF_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return fgsf_fail(FGSF_ERR_INVALID, "%s: an argument is wrong: %s is required",         \
                             __func__, #condition);                                                \
        }                                                                                          \
    } while (0)

// Whether all numbers are: ReLU, for one, makes a zero of NaN, so that results would not show it.
static inline bool fgsf_all_finite(const float *x, size_t count) {
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) bad += isfinite(x[i]) ? 0 : 1;
    return bad == 0;
}

// Returns the bytes of the character that a text starts with, or 0 where that is a control character, as
// one byte or as two, or no UTF-8.
size_t fgsf_text_character(const char *text);

// Returns true when a text is UTF-8 without control characters, which JSON and CSV files can carry.
bool fgsf_text_is_plain(const char *text);

// How often the calling thread has called fgsf_fail.
extern _Thread_local unsigned fgsf_failures;

// A field of a struct of parameters, and whether its value is right.
typedef struct fgsf_check {
    const char *name;
    double value;
    bool right;
} fgsf_check;

// Refuses the first that is not, as "WHAT.NAME: VALUE is out of range".
fgsf_status fgsf_check_all(const char *what, const fgsf_check *checks, size_t count);

#endif
