// Prints a checksum of products of many shapes, computed by src/product_tiles.c with plain vectors and, where
// it was compiled for them, with fused ones. tests/optional/wasm_bits.sh runs it natively and as WASM.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "product.h"

static uint32_t state = 1;

static float draw(void) {
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state / 2147483648.0f;
}

int main(void) {
    enum { MOST = 96 };
    static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], bias[MOST];
    uint64_t sum = 0xcbf29ce484222325u;
    for (int round = 0; round < 200; round++) {
        int m = 1 + round % 37, n = 1 + round * 7 % 91, k = 1 + round * 5 % 93;
        for (int i = 0; i < m * k; i++) a[i] = draw();
        for (int i = 0; i < k * n; i++) b[i] = draw();
        for (int i = 0; i < n; i++) bias[i] = draw();
        fgsf_product p = {.m = m,
                          .n = n,
                          .k = k,
                          .a = a,
                          .a_row = (size_t)k,
                          .a_col = 1,
                          .b = b,
                          .b_row = (size_t)n,
                          .b_col = 1,
                          .c = c,
                          .c_row = (size_t)n,
                          .bias = round % 2 ? bias : NULL,
                          .relu = round % 3 == 0};
        RUN(&p);
        for (int i = 0; i < m * n; i++) {
            union {
                float f;
                uint32_t u;
            } bits = {c[i]};
            sum = (sum ^ bits.u) * 0x100000001b3u;
        }
    }
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
