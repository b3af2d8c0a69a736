// Picks the widest vectors that the CPU has, and shares large products between threads. The products
// themselves are in product_tiles.c.
#include "product.h"

#include "pool.h"

#define PART 2e6       // multiply-adds of a part: some 40 us, ten times what handing it over takes
#define PARTS 4        // per thread, so that one that starts late does less
#define MIN_COLUMNS 32 // of a part: the widest tile
#define MIN_ROWS 12    // the same

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

// A panel of b that has to be copied serves all rows, so such products are cut between columns; and
// those with few rows.
static bool is_cut_by_columns(const fgsf_product *p, int parts) {
    return (p->b_col != 1 || p->m < parts * MIN_ROWS) && p->n >= parts * MIN_COLUMNS;
}

static void run_part(const void *what, int part, int parts) {
    fgsf_product p = *(const fgsf_product *)what;
    bool columns = is_cut_by_columns(&p, parts);
    int size = columns ? p.n / MIN_COLUMNS : p.m, unit = columns ? MIN_COLUMNS : 1;
    size_t from = (size_t)((long long)size * part / parts * unit);
    size_t end = (size_t)((long long)size * (part + 1) / parts * unit);
    if (columns) {
        p.n = part + 1 < parts ? (int)(end - from) : p.n - (int)from;
        p.b += from * p.b_col;
        p.c += from;
        p.bias = p.bias ? p.bias + from : NULL;
        p.gate = p.gate ? p.gate + from : NULL;
    } else {
        p.m = (int)(end - from);
        p.a += from * p.a_row;
        p.c += from * p.c_row;
        p.gate = p.gate ? p.gate + from * p.gate_row : NULL;
    }
    fgsf_product_run(&p);
}

void fgsf_product_share(const fgsf_product *product, struct fgsf_pool *pool) {
    double size = (double)product->m * product->n * product->k / PART;
    int parts = PARTS * fgsf_pool_threads(pool);
    parts = size < parts ? (int)size : parts;
    if (parts > product->m / MIN_ROWS && !is_cut_by_columns(product, parts)) {
        parts = product->m / MIN_ROWS;
    }
    if (!pool || parts < 2) {
        fgsf_product_run(product);
    } else {
        fgsf_pool_run(pool, run_part, product, parts);
    }
}
