// Matrix products: right for every shape, layout and finish, and the same bits at every vector width.
#include "product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fgsf/rng.h"
#include "pool.h"
#include "support_assert.h"

#define GAP 3           // unused numbers between rows
#define CANARY 12345.0f // in what must not be written

typedef void run_function(const fgsf_product *);

static const struct {
    const char *name;
    run_function *run;
    bool fused; // multiplies and adds in one rounding
} kinds[] = {
    {"plain", fgsf_product_run_plain, false},
#ifdef FGSF_PRODUCT_AVX2
    {"avx2", fgsf_product_run_avx2, true},
#endif
#ifdef FGSF_PRODUCT_AVX512
    {"avx512", fgsf_product_run_avx512, true},
#endif
};
#define NUM_KINDS (int)(sizeof kinds / sizeof *kinds)

static bool is_supported(int kind) {
#ifdef __x86_64__
    if (kind == 1) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    if (kind == 2) {
        return __builtin_cpu_supports("avx512f");
    }
#endif
    return kind == 0;
}

// A product with its own memory. Layouts: a and b by rows or by columns; finishes as bits.
typedef struct sample {
    fgsf_product product;
    float *a, *b, *c, *bias, *gate;
    size_t c_size;
} sample;

static float *draw(size_t size, fgsf_rng *rng) {
    float *x = malloc(size * sizeof *x);
    for (size_t i = 0; i < size; i++) {
        x[i] = (float)fgsf_rng_normal(rng);
    }
    return x;
}

// Rows with NaN between them and nothing after the last.
static float *draw_rows(int rows, int columns, fgsf_rng *rng) {
    size_t row = (size_t)columns + GAP;
    float *x = draw((size_t)(rows - 1) * row + (size_t)columns, rng);
    for (int i = 0; i + 1 < rows; i++) {
        for (int j = 0; j < GAP; j++) {
            x[(size_t)i * row + (size_t)(columns + j)] = NAN;
        }
    }
    return x;
}

static sample create(int m, int n, int k, int layout, int finish, fgsf_rng *rng) {
    bool a_down = layout & 1, b_down = layout & 2;
    size_t a_gap = (size_t)(a_down ? m : k) + GAP, b_gap = (size_t)(b_down ? k : n) + GAP;
    size_t c_row = (size_t)n + GAP;
    sample s = {.a = a_down ? draw_rows(k, m, rng) : draw_rows(m, k, rng),
                .b = b_down ? draw_rows(n, k, rng) : draw_rows(k, n, rng),
                .bias = draw((size_t)n, rng),
                .gate = draw_rows(m, n, rng),
                .c_size = c_row * (size_t)(m - 1) + (size_t)n};
    s.c = malloc(s.c_size * sizeof(float));
    s.product = (fgsf_product){.m = m,
                               .n = n,
                               .k = k,
                               .a = s.a,
                               .a_row = a_down ? 1 : a_gap,
                               .a_col = a_down ? a_gap : 1,
                               .b = s.b,
                               .b_row = b_down ? 1 : b_gap,
                               .b_col = b_down ? b_gap : 1,
                               .c = s.c,
                               .c_row = c_row,
                               .bias = finish & 1 ? s.bias : NULL,
                               .relu = finish & 2,
                               .gate = finish & 4 ? s.gate : NULL,
                               .gate_row = c_row};
    return s;
}

static void destroy(sample *s) {
    free(s->a);
    free(s->b);
    free(s->c);
    free(s->bias);
    free(s->gate);
}

static void run(sample *s, run_function *function) {
    for (size_t i = 0; i < s->c_size; i++) {
        s->c[i] = CANARY;
    }
    function(&s->product);
}

// The largest error of an entry in units of what rounding allows; infinite where memory between the
// rows was written.
static double error_of(const sample *s) {
    const fgsf_product *p = &s->product;
    double worst = 0.0;
    for (int i = 0; i < p->m; i++) {
        for (int j = 0; j < p->n; j++) {
            double sum = 0.0, size = 0.0;
            for (int q = 0; q < p->k; q++) {
                double term = (double)p->a[(size_t)i * p->a_row + (size_t)q * p->a_col] *
                              p->b[(size_t)q * p->b_row + (size_t)j * p->b_col];
                sum += term;
                size += fabs(term);
            }
            sum += p->bias ? p->bias[j] : 0.0;
            size += p->bias ? fabs(p->bias[j]) : 0.0;
            sum = p->relu && sum < 0.0 ? 0.0 : sum;
            if (p->gate && p->gate[(size_t)i * p->gate_row + (size_t)j] <= 0.0f) {
                sum = 0.0;
            }
            double error = fabs(p->c[(size_t)i * p->c_row + (size_t)j] - sum);
            error /= size * 6e-8 * (p->k + 2);
            worst = worse(worst, error);
        }
        for (int j = p->n; j < (int)p->c_row && i + 1 < p->m; j++) {
            worst = p->c[(size_t)i * p->c_row + (size_t)j] == CANARY ? worst : INFINITY;
        }
    }
    return worst;
}

static const int shapes[][3] = {
    {1, 1, 1},     {1, 1, 40},    {1, 16, 256},   {1, 300, 38},  {1, 7, 15},    {2, 4, 256},
    {5, 17, 3},    {8, 256, 256}, {12, 32, 16},   {13, 33, 31},  {26, 38, 257}, {64, 16, 38},
    {64, 5, 600},  {40, 40, 513}, {256, 38, 70},  {300, 15, 20}, {513, 48, 9},  {16, 128, 4},
    {128, 4, 300}, {4, 128, 64},  {257, 100, 33}, {31, 1, 31},   {3, 31, 300},  {7, 64, 512},
};
#define NUM_SHAPES (int)(sizeof shapes / sizeof *shapes)

TEST is_right_for_every_shape(int kind) {
    fgsf_rng rng = fgsf_rng_make(1, 0);
    for (int i = 0; i < NUM_SHAPES; i++) {
        for (int layout = 0; layout < 4; layout++) {
            sample s =
                create(shapes[i][0], shapes[i][1], shapes[i][2], layout, (i + layout) % 8, &rng);
            run(&s, kinds[kind].run);
            ASSERT_BELOW(kinds[kind].name, error_of(&s), 1.0);
            destroy(&s);
        }
    }
    PASS();
}

// What is fused gives the same bits whatever the vectors' width.
TEST does_not_depend_on_the_width(int kind) {
    fgsf_rng rng = fgsf_rng_make(2, 0);
    for (int i = 0; i < NUM_SHAPES; i++) {
        for (int layout = 0; layout < 4; layout++) {
            sample s =
                create(shapes[i][0], shapes[i][1], shapes[i][2], layout, (i + layout) % 8, &rng);
            run(&s, kinds[kind].run);
            float *first = malloc(s.c_size * sizeof(float));
            memcpy(first, s.c, s.c_size * sizeof(float));
            run(&s, kinds[kind + 1].run);
            ASSERT_MEM_EQ(first, s.c, s.c_size * sizeof(float));
            free(first);
            destroy(&s);
        }
    }
    PASS();
}

// A row's numbers do not depend on how many rows are computed with it.
TEST does_not_depend_on_other_rows(int kind) {
    fgsf_rng rng = fgsf_rng_make(3, 0);
    for (int layout = 0; layout < 4; layout++) {
        sample s = create(600, 70, 300, layout, 3, &rng);
        run(&s, kinds[kind].run);
        float *all = malloc(s.c_size * sizeof(float));
        memcpy(all, s.c, s.c_size * sizeof(float));
        for (int rows = 2; rows <= 30; rows++) {
            s.product.m = rows;
            run(&s, kinds[kind].run);
            ASSERT_MEM_EQ(all, s.c, ((size_t)rows * s.product.c_row - GAP) * sizeof(float));
        }
        free(all);
        destroy(&s);
    }
    PASS();
}

// An infinite factor gives an infinite sum, also where some columns are counted apart.
TEST keeps_infinity(int kind) {
    fgsf_rng rng = fgsf_rng_make(6, 0);
    for (int rows = 1; rows <= 2; rows++) {
        for (int at = 0; at < 20; at++) {
            sample s = create(rows, 17, 20, 2, 0, &rng);
            for (int q = 0; q < 20; q++) {
                s.a[q] = 1.0f;
            }
            s.b[at] = INFINITY;
            run(&s, kinds[kind].run);
            ASSERT(isinf(s.c[0]));
            ASSERT(isfinite(s.c[1]));
            destroy(&s);
        }
    }
    PASS();
}

// The one that is used is one of them.
TEST picks_one(void) {
    fgsf_rng rng = fgsf_rng_make(4, 0);
    sample s = create(20, 40, 100, 2, 3, &rng);
    run(&s, fgsf_product_run);
    ASSERT_BELOW("picked", error_of(&s), 1.0);
    destroy(&s);
    PASS();
}

// Shared by threads a product has the same bits: cut by rows, by columns, or not at all.
TEST does_not_depend_on_the_threads(int threads) {
    static const int sizes[][3] = {{1024, 256, 256}, {256, 256, 1024}, {1000, 16, 300},
                                   {37, 1000, 129},  {25, 30, 9000},   {16, 8, 8}};
    fgsf_rng rng = fgsf_rng_make(5, 0);
    fgsf_pool *pool = NULL;
    ASSERT_OK(fgsf_pool_create(threads, &pool));
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int layout = 0; layout < 4; layout++) {
            sample s = create(sizes[i][0], sizes[i][1], sizes[i][2], layout, 7 - layout, &rng);
            run(&s, fgsf_product_run);
            float *alone = malloc(s.c_size * sizeof(float));
            memcpy(alone, s.c, s.c_size * sizeof(float));
            for (size_t j = 0; j < s.c_size; j++) s.c[j] = CANARY;
            fgsf_product_share(&s.product, pool);
            ASSERT_MEM_EQ(alone, s.c, s.c_size * sizeof(float));
            free(alone);
            destroy(&s);
        }
    }
    fgsf_pool_free(pool);
    PASS();
}

enum { PARTS = 13 };
static int done[PARTS];

static void count_part(const void *what, int part, int parts) {
    done[part] += *(const int *)what + parts - PARTS;
}

// Every part of every piece of work is done once, whether the helpers are awake or asleep.
TEST does_every_part_once(int threads) {
    fgsf_pool *pool = NULL;
    ASSERT_OK(fgsf_pool_create(threads, &pool));
    ASSERT_EQ(threads, fgsf_pool_threads(pool));
    int sum = 0;
    for (int piece = 0; piece < 5000; piece++) {
        struct timespec nap = {0, piece % 100 == 0 ? 500000 : 0};
        if (nap.tv_nsec) nanosleep(&nap, NULL);
        fgsf_pool_run(pool, count_part, &piece, PARTS);
        sum += piece;
    }
    for (int part = 0; part < PARTS; part++) {
        ASSERT_EQ(sum, done[part]);
        done[part] = 0;
    }
    fgsf_pool_free(pool);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        if (!is_supported(kind)) {
            printf("%s: not on this CPU\n", kinds[kind].name);
            continue;
        }
        RUN_TEST1(is_right_for_every_shape, kind);
        RUN_TEST1(does_not_depend_on_other_rows, kind);
        RUN_TEST1(keeps_infinity, kind);
        if (kind + 1 < NUM_KINDS && kinds[kind].fused && is_supported(kind + 1)) {
            RUN_TEST1(does_not_depend_on_the_width, kind);
        }
    }
    RUN_TEST(picks_one);
    for (int threads = 2; threads <= 3; threads++) {
        RUN_TEST1(does_not_depend_on_the_threads, threads);
        RUN_TEST1(does_every_part_once, threads);
    }
    GREATEST_MAIN_END();
}
