// Internal: single-precision matrix products at the shapes of small networks.
#ifndef FGSF_PRODUCT_H
#define FGSF_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

struct fgsf_pool;

// c (m, n) = a (m, k) b (k, n), then bias, relu and gate in that order; no size is zero. Element (i, j)
// of a is a[i * a_row + j * a_col], and one of the two strides is 1; so for b. c overlaps no other.
typedef struct fgsf_product {
    int m, n, k;
    const float *a;
    size_t a_row, a_col;
    const float *b;
    size_t b_row, b_col;
    float *c;
    size_t c_row;
    const float *bias; // (n) added to every row, or NULL
    bool relu;         // entries that are not positive become zero
    const float *gate; // (m, n): entries of c become zero where it is not positive; or NULL
    size_t gate_row;
} fgsf_product;

// Each entry is one chain of multiply-adds over k, in order: it does not depend on the other rows and
// columns, and with AVX2 and AVX-512, where the multiply-adds are fused, it has the same bits. With
// m = 1, k >= 16 and a_col = b_row = 1 it is sixteen chains, added pairwise.
void fgsf_product_run(const fgsf_product *product);

// The same bits, with the threads of a pool where the product is large enough; `pool` may be NULL.
void fgsf_product_share(const fgsf_product *product, struct fgsf_pool *pool);

// The same for one kind of vectors; fgsf_product_run calls the widest that the CPU has.
void fgsf_product_run_plain(const fgsf_product *product);
#ifdef FGSF_PRODUCT_AVX2
void fgsf_product_run_avx2(const fgsf_product *product);
#endif
#ifdef FGSF_PRODUCT_AVX512
void fgsf_product_run_avx512(const fgsf_product *product);
#endif

#endif
