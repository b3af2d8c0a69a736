// Matrix products in tiles that stay in registers, compiled once for every kind of vectors.
//
// A general BLAS copies both factors into a layout of its own first, which at 8 to 64 rows takes as
// long as the product. Here a stays where it is, and b is copied only if its rows do not lie along the
// vectors.
#include "product.h"

#include <stdint.h>
#include <string.h>

#ifdef FGSF_TILES_AVX512
#include <immintrin.h>
#define RUN fgsf_product_run_avx512
#define LANES 16
#define MAX_ROWS 12 // of a tile: 24 registers of sums
#define FUSED(x, y, sum) (vec) _mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(sum))
#elif defined(FGSF_TILES_AVX2)
#include <immintrin.h>
#define RUN fgsf_product_run_avx2
#define LANES 8
#define MAX_ROWS 6
#define FUSED(x, y, sum) (vec) _mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(sum))
#else
#define RUN fgsf_product_run_plain
#define LANES 4
#define MAX_ROWS 4
#define FUSED(x, y, sum) ((sum) + (x) * (y))
#endif
#define COLUMNS (2 * LANES) // of a tile
#define DEPTH 256           // of a panel, the part of b that tiles read: at most 32 KiB
#define HEIGHT 256          // of the part of a that is read again for every panel
#define WIDE (1 << 18)      // numbers of b above which it is not found in the second-level cache

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL // it does so by itself
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int mask __attribute__((vector_size(LANES * 4)));

INLINE vec load(const float *from) {
    return *(const vec *)from;
}

INLINE void store(float *to, vec v) {
    *(vec *)to = v;
}

INLINE vec zero_unless_positive(vec v, vec gate) {
    return (vec)((mask)v & (mask)(gate > (vec){0}));
}

// --- tiles --------------------------------------------------------------------------------------

// What follows the sum in row i and vector j of a tile.
INLINE vec finish(const fgsf_product *t, vec sum, int i, int j) {
    if (t->bias) {
        sum += load(t->bias + j * LANES);
    }
    if (t->relu) {
        sum = zero_unless_positive(sum, sum);
    }
    if (t->gate) {
        sum = zero_unless_positive(sum, load(t->gate + (size_t)i * t->gate_row + j * LANES));
    }
    return sum;
}

// What a tile does besides: `more` continues the sums that are in c, `last` finishes them. While one tile
// computes, the part of b that is needed next is brought into the second-level cache: `next`, or NULL,
// in stretches of COLUMNS numbers. Those of COLUMNS steps are `row` apart, then they go on `rows` behind.
typedef struct stage {
    bool more, last;
    const float *next;
    size_t row, rows;
} stage;

INLINE void ask_for(const stage *at, size_t p) {
    const float *next = at->next + p % COLUMNS * at->row + p / COLUMNS * at->rows;
    for (int i = 0; i < COLUMNS; i += 16) {
        __builtin_prefetch(next + i, 0, 2);
    }
}

// One tile: the product for `rows` rows and `vectors` vectors of columns, both constants where it is
// inlined, over a depth of k.
INLINE void tile(const fgsf_product *t, const stage *at, const int rows, const int vectors,
                 size_t a_row, size_t a_col) {
    vec sums[MAX_ROWS][2];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) {
            sums[i][j] = at->more ? load(t->c + (size_t)i * t->c_row + j * LANES) : (vec){0};
        }
    }
    const float *a = t->a, *b = t->b;
    for (size_t p = 0; p < (size_t)t->k; p++, a += a_col, b += t->b_row) {
        vec right[2];
        if (at->next) {
            ask_for(at, p);
        }
        UNROLL for (int j = 0; j < vectors; j++) {
            right[j] = load(b + j * LANES);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            float left = a[(size_t)i * a_row];
            UNROLL for (int j = 0; j < vectors; j++) {
                // Fused explicitly: a compiler on its own fuses some and, for some CPUs, not
                // others.
                // (left - 0 is left, even -0, so nothing is subtracted; left + 0 would be added.)
                sums[i][j] = FUSED(left - (vec){0}, right[j], sums[i][j]);
            }
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) {
            vec sum = at->last ? finish(t, sums[i][j], i, j) : sums[i][j];
            store(t->c + (size_t)i * t->c_row + j * LANES, sum);
        }
    }
}

typedef void tile_function(const fgsf_product *t, const stage *at);

#define TILE(rows, vectors)                                                                        \
    static void tile_##rows##_##vectors(const fgsf_product *t, const stage *at) {                  \
        const int used = rows < MAX_ROWS ? rows : MAX_ROWS;                                        \
        const stage own = *at;                                                                     \
        if (t->a_col == 1) {                                                                       \
            tile(t, &own, used, vectors, t->a_row, 1);                                             \
        } else {                                                                                   \
            tile(t, &own, used, vectors, 1, t->a_col);                                             \
        }                                                                                          \
    }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
TILES(7)
TILES(8)
TILES(9)
TILES(10)
TILES(11)
TILES(12)

// By rows - 1 and vectors - 1.
static tile_function *const tiles[12][2] = {
    {tile_1_1, tile_1_2}, {tile_2_1, tile_2_2},   {tile_3_1, tile_3_2},   {tile_4_1, tile_4_2},
    {tile_5_1, tile_5_2}, {tile_6_1, tile_6_2},   {tile_7_1, tile_7_2},   {tile_8_1, tile_8_2},
    {tile_9_1, tile_9_2}, {tile_10_1, tile_10_2}, {tile_11_1, tile_11_2}, {tile_12_1, tile_12_2},
};

// --- panels: b in rows along the vectors ----------------------------------------------------------

// Swaps blocks of s x s across the diagonals of blocks of 2 s x 2 s.
#define LOW(e, s) ((e) & (s) ? (e) - (s) + LANES : (e))
#define HIGH(e, s) ((e) & (s) ? (e) + LANES : (e) + (s))
#define FOUR(F, e, s) F(e, s), F(e + 1, s), F(e + 2, s), F(e + 3, s)
#if LANES == 16
#define ALL(F, s) FOUR(F, 0, s), FOUR(F, 4, s), FOUR(F, 8, s), FOUR(F, 12, s)
#elif LANES == 8
#define ALL(F, s) FOUR(F, 0, s), FOUR(F, 4, s)
#else
#define ALL(F, s) FOUR(F, 0, s)
#endif
#define EXCHANGE(v, s)                                                                             \
    UNROLL for (int i = 0; i < LANES; i++) {                                                       \
        if (!(i & s)) {                                                                            \
            vec low = __builtin_shufflevector(v[i], v[i + s], ALL(LOW, s));                        \
            v[i + s] = __builtin_shufflevector(v[i], v[i + s], ALL(HIGH, s));                      \
            v[i] = low;                                                                            \
        }                                                                                          \
    }

INLINE void swap_rows_and_lanes(vec v[LANES]) {
    EXCHANGE(v, 1)
    EXCHANGE(v, 2)
#if LANES > 4
    EXCHANGE(v, 4)
#endif
#if LANES > 8
    EXCHANGE(v, 8)
#endif
}

INLINE void transpose(const float *from, size_t from_row, float *to, size_t to_row) {
    vec v[LANES];
    UNROLL for (int i = 0; i < LANES; i++) {
        v[i] = load(from + (size_t)i * from_row);
    }
    swap_rows_and_lanes(v);
    UNROLL for (int i = 0; i < LANES; i++) {
        store(to + (size_t)i * to_row, v[i]);
    }
}

// Copies b (depth, width) into rows of `stride` numbers, zeros beyond the width.
static void pack(const float *b, size_t b_row, size_t b_col, int depth, int width, int stride,
                 float *panel) {
    for (int j = 0; j < stride; j += LANES) {
        int p = 0;
        if (j + LANES <= width && b_col == 1) {
            for (; p < depth; p++) {
                store(panel + p * stride + j, load(b + (size_t)p * b_row + j));
            }
        } else if (j + LANES <= width) {
            for (; p + LANES <= depth; p += LANES) {
                transpose(b + (size_t)j * b_col + p, b_col, panel + p * stride + j, (size_t)stride);
            }
        }
        for (; p < depth; p++) {
            for (int q = j; q < j + LANES; q++) {
                panel[p * stride + q] = q < width ? b[(size_t)p * b_row + (size_t)q * b_col] : 0.0f;
            }
        }
    }
}

// --- whole products -------------------------------------------------------------------------------

static void copy_rows(const float *from, size_t from_row, float *to, size_t to_row, int rows,
                      int width) {
    for (int i = 0; i < rows; i++) {
        memcpy(to + (size_t)i * to_row, from + (size_t)i * from_row, (size_t)width * sizeof *to);
    }
}

// A tile narrower than a vector, computed to a vector's width beside the matrix.
static void run_narrow(const fgsf_product *t, const stage *at) {
    float c[MAX_ROWS * LANES] = {0}, gate[MAX_ROWS * LANES] = {0}, bias[LANES] = {0};
    fgsf_product wide = *t;
    copy_rows(t->c, t->c_row, c, LANES, at->more ? t->m : 0, t->n);
    if (t->gate) {
        copy_rows(t->gate, t->gate_row, gate, LANES, t->m, t->n);
        wide.gate = gate;
        wide.gate_row = LANES;
    }
    if (t->bias) {
        copy_rows(t->bias, 0, bias, 0, 1, t->n);
        wide.bias = bias;
    }
    wide.c = c;
    wide.c_row = LANES;
    tiles[t->m - 1][0](&wide, at);
    copy_rows(c, LANES, t->c, t->c_row, t->m, t->n);
}

// The columns [j, j + width), one or two vectors or less, over the depth [p, p + DEPTH).
static void run_panel(const fgsf_product *product, int p, int j, int width, float *panel) {
    int vectors = width > LANES ? 2 : 1, stride = vectors * LANES;
    int blocks = (product->m + MAX_ROWS - 1) / MAX_ROWS;
    stage at = {.more = p > 0, .last = p + DEPTH >= product->k};
    fgsf_product t = *product;
    t.n = width;
    t.k = at.last ? product->k - p : DEPTH;
    t.b += (size_t)p * product->b_row + (size_t)j * product->b_col;
    t.bias = product->bias ? product->bias + j : NULL;
    if ((int64_t)product->n * product->k >= WIDE && j + COLUMNS + LANES <= product->n) {
        at.next = t.b + COLUMNS * product->b_col;
        at.row = product->b_col == 1 ? product->b_row : product->b_col;
        at.rows = product->b_col == 1 ? COLUMNS * product->b_row : COLUMNS;
    }
    if (product->b_col != 1 || width < stride) {
        pack(t.b, product->b_row, product->b_col, t.k, width, stride, panel);
        t.b = panel;
        t.b_row = (size_t)stride;
    }
    for (int block = 0, i = 0, end; block < blocks; block++, i = end) { // of almost equal size
        end = (int)((int64_t)product->m * (block + 1) / blocks);
        t.m = end - i;
        t.a = product->a + (size_t)i * product->a_row + (size_t)p * product->a_col;
        t.c = product->c + (size_t)i * product->c_row + j;
        t.gate = product->gate ? product->gate + (size_t)i * product->gate_row + j : NULL;
        if (width < stride) {
            run_narrow(&t, &at);
        } else {
            tiles[t.m - 1][vectors - 1](&t, &at);
        }
        at.next = NULL;
    }
}

// A row's last columns, less than a vector, are computed with some before them once more.
static void run_rows(const fgsf_product *product, float *panel) {
    int n = product->n, whole = n / LANES * LANES;
    for (int p = 0; p < product->k; p += DEPTH) {
        for (int j = 0; j < whole; j += COLUMNS) {
            run_panel(product, p, j, whole - j < COLUMNS ? LANES : COLUMNS, panel);
        }
    }
    for (int p = 0; p < product->k && whole < n; p += DEPTH) {
        run_panel(product, p, n < LANES ? 0 : n - LANES, n < LANES ? n : LANES, panel);
    }
}

// --- one row against rows of b: dot products -------------------------------------------------------

// Dot products of a and `count` rows of b, at most four, each in sixteen chains of which those of
// different vectors are added by halves.
INLINE void dots(const float *a, const float *a_end, const float *keep, const float *b,
                 size_t b_row, int count, int k, vec *out) {
    const float *rows[4];
    vec sums[4][16 / LANES] = {0};
    for (int q = 0; q < 4; q++) { // past the last one, the first again
        rows[q] = b + (q < count ? (size_t)q * b_row : 0);
    }
    for (int p = 0; p + 16 <= k; p += 16) {
        UNROLL for (int q = 0; q < 4; q++) {
            UNROLL for (int v = 0; v < 16 / LANES; v++) {
                sums[q][v] =
                    FUSED(load(a + p + v * LANES), load(rows[q] + p + v * LANES), sums[q][v]);
            }
            __builtin_prefetch(rows[q] + 4 * b_row + p); // for the next four
        }
    }
    UNROLL for (int q = 0; q < 4; q++) {
        for (int v = 0; v < 16 / LANES && k % 16; v++) {
            mask end = (mask)load(rows[q] + k - 16 + v * LANES) & (mask)load(keep + v * LANES);
            sums[q][v] = FUSED(load(a_end + v * LANES), (vec)end, sums[q][v]);
        }
        for (int half = 8 / LANES; half > 0; half /= 2) {
            for (int v = 0; v < half; v++) {
                sums[q][v] += sums[q][v + half];
            }
        }
        out[q] = sums[q][0];
    }
}

// One row of a against rows of b: as many dot products at a time as a vector has lanes.
static void run_dots(const fgsf_product *product) {
    int k = product->k, done = k / 16 * 16 - (k - 16);
    size_t bytes_left = (size_t)(16 - done) * sizeof(float);
    float a_end[16] = {0}, keep[16] = {0}; // the last sixteen, of which the first are done before
    memcpy(a_end + done, product->a + k - 16 + done, bytes_left);
    memset(keep + done, 0xff, bytes_left);
    for (int j = 0; j < product->n; j += LANES) {
        int count = product->n - j < LANES ? product->n - j : LANES;
        const float *b = product->b + (size_t)j * product->b_col;
        vec sums[LANES] = {0};
        for (int q = 0; q < count; q += 4) {
            dots(product->a, a_end, keep, b + (size_t)q * product->b_col, product->b_col, count - q,
                 k, sums + q);
        }
        swap_rows_and_lanes(sums);
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int e = 0; e < half; e++) {
                sums[e] += sums[e + half];
            }
        }
        float side[2][LANES] = {0}, c[LANES]; // bias and gate, to a vector's width
        size_t bytes = (size_t)count * sizeof *c;
        fgsf_product t = *product;
        if (product->bias) {
            t.bias = memcpy(side[0], product->bias + j, bytes);
        }
        if (product->gate) {
            t.gate = memcpy(side[1], product->gate + j, bytes);
        }
        store(c, finish(&t, sums[0], 0, 0));
        memcpy(product->c + j, c, bytes);
    }
}

void RUN(const fgsf_product *product) {
    float panel[DEPTH * COLUMNS] __attribute__((aligned(64)));
    if (product->m == 1 && product->k >= 16 && product->a_col == 1 && product->b_row == 1) {
        run_dots(product);
        return;
    }
    int rows = product->b_col == 1 ? HEIGHT : product->m; // a panel that is copied serves all rows
    for (int i = 0; i < product->m; i += rows) {
        fgsf_product part = *product;
        part.m = product->m - i < rows ? product->m - i : rows;
        part.a += (size_t)i * product->a_row;
        part.c += (size_t)i * product->c_row;
        part.gate = product->gate ? product->gate + (size_t)i * product->gate_row : NULL;
        run_rows(&part, panel);
    }
}
