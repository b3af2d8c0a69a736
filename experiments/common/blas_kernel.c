// Which of OpenBLAS's kernels run, and a second start with better ones.
#include "blas_kernel.h"

#include <cblas.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define CHOICE "OPENBLAS_CORETYPE"
#define GUARD "FGSF_BLAS_RESTARTED" // set by the first start, so that there is no third

const char *fgsf_driver_blas_kernel(void) {
    return openblas_get_corename();
}

static bool uses_avx2(const char *kernel) {
    static const char *const modern[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake",
                                         "SapphireRapids"};
    for (size_t i = 0; i < sizeof modern / sizeof *modern; i++) {
        if (strcasecmp(kernel, modern[i]) == 0) return true;
    }
    return false;
}

// The best kernels that this CPU runs, or NULL where those in use cannot be bettered.
static const char *better_kernel(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return "SkylakeX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return NULL;
}

void fgsf_driver_best_blas(char **argv) {
    if (getenv(CHOICE) || getenv(GUARD) || uses_avx2(openblas_get_corename())) return;
    const char *kernel = better_kernel();
    if (!kernel || setenv(GUARD, "1", 1) != 0 || setenv(CHOICE, kernel, 1) != 0) return;
    execv("/proc/self/exe", argv);
    unsetenv(CHOICE); // no second start: leave the environment as it was for our own children
    unsetenv(GUARD);
}
