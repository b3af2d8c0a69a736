// Internal: marks a function whose loops gain from wide vectors. It is compiled for every width, and the
// CPU decides which one runs when the program is loaded. All give the same bits: nothing is contracted
// or reordered.
#ifndef FGSF_CLONES_H
#define FGSF_CLONES_H

// Sanitizers do not support the mechanism (ifunc), and it is not needed where all code is for AVX2.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&   \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__AVX2__)
#ifdef FGSF_PRODUCT_AVX512
#define FGSF_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FGSF_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#else
#define FGSF_CLONES
#endif

#endif
