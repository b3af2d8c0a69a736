// Picks the widest vectors that the CPU has. The products themselves are in product_tiles.c.
#include "product.h"

void fgsf_product_run(const fgsf_product *product) {
#ifdef FGSF_PRODUCT_AVX512
    if (__builtin_cpu_supports("avx512f")) {
        fgsf_product_run_avx512(product);
        return;
    }
#endif
#ifdef FGSF_PRODUCT_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        fgsf_product_run_avx2(product);
        return;
    }
#endif
    fgsf_product_run_plain(product);
}
