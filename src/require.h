// Arguments that a public function cannot do without; the convention is in fgsf/status.h.
#ifndef FGSF_REQUIRE_H
#define FGSF_REQUIRE_H

#include "fgsf/status.h"

#define FGSF_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return fgsf_fail(FGSF_ERR_INVALID, "%s: an argument is wrong: %s is required",         \
                             __func__, #condition);                                                \
        }                                                                                          \
    } while (0)

#endif
