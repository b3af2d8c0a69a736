// Internal: treats denormal numbers as zero while numbers are crunched.
//
// Adam's moments of weights that get no gradient decay into denormals, on which vector units run tens
// of times slower. They are below 1e-38, where nothing that is computed here can tell them from zero.
#ifndef FGSF_DENORMALS_H
#define FGSF_DENORMALS_H

#if defined(__SSE2__)
#include <immintrin.h>

// Starts flushing and returns what fgsf_denormals_restore needs.
static inline unsigned fgsf_denormals_flush(void) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u); // flush to zero, denormals are zero
    return before;
}

static inline void fgsf_denormals_restore(unsigned before) {
    _mm_setcsr(before);
}

#else

static inline unsigned fgsf_denormals_flush(void) {
    return 0;
}

static inline void fgsf_denormals_restore(unsigned before) {
    (void)before;
}

#endif

#endif
