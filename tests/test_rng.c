// Random streams: the generator's published numbers, moments, bounds, and independence of streams.
#include "fgsf/rng.h"

#include <math.h>

#include "support_assert.h"

// xoshiro256** from the state {1, 2, 3, 4}, by its authors' reference code.
TEST gives_the_published_numbers(void) {
    static const uint64_t expected[] = {11520u, 0u, 1509978240u, 1215971899390074240u,
                                        1216172134540287360u};
    fgsf_rng rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ASSERT_EQ_FMT(expected[i], fgsf_rng_bits(&rng), "%lu");
    }
    PASS();
}

TEST repeats_and_separates_streams(void) {
    fgsf_rng a = fgsf_rng_make(7, FGSF_STREAM_ENV), b = fgsf_rng_make(7, FGSF_STREAM_ENV);
    fgsf_rng others[] = {fgsf_rng_make(7, FGSF_STREAM_EXPLORE), fgsf_rng_make(8, FGSF_STREAM_ENV),
                         fgsf_rng_make(0, 0)};
    for (int i = 0; i < 1000; i++) {
        uint64_t bits = fgsf_rng_bits(&a);
        ASSERT_EQ(bits, fgsf_rng_bits(&b));
        for (int k = 0; k < 3; k++) {
            ASSERT(bits != fgsf_rng_bits(&others[k]));
        }
    }
    fgsf_rng saved = a; // the struct is the whole state
    ASSERT_EQ(fgsf_rng_bits(&a), fgsf_rng_bits(&saved));
    PASS();
}

TEST draws_uniform_numbers(void) {
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_EVAL);
    double sum = 0.0, squares = 0.0;
    int count = 200000;
    for (int i = 0; i < count; i++) {
        double u = fgsf_rng_uniform(&rng);
        ASSERT(u >= 0.0 && u < 1.0);
        sum += u;
        squares += u * u;
    }
    ASSERT_BELOW("mean", fabs(sum / count - 0.5), 4 * 0.2887 / sqrt(count));
    ASSERT_BELOW("second moment", fabs(squares / count - 1.0 / 3.0), 4 * 0.2981 / sqrt(count));
    PASS();
}

TEST draws_normal_numbers(void) {
    fgsf_rng rng = fgsf_rng_make(2, FGSF_STREAM_INIT);
    double moments[5] = {0};
    int count = 200000;
    for (int i = 0; i < count; i++) {
        double z = fgsf_rng_normal(&rng), power = 1.0;
        ASSERT(isfinite(z));
        for (int k = 0; k < 5; k++, power *= z) {
            moments[k] += power / count;
        }
    }
    ASSERT_BELOW("mean", fabs(moments[1]), 4 / sqrt(count));
    ASSERT_BELOW("variance", fabs(moments[2] - 1.0), 4 * sqrt(2.0 / count));
    ASSERT_BELOW("skewness", fabs(moments[3]), 4 * sqrt(15.0 / count));
    ASSERT_BELOW("kurtosis", fabs(moments[4] - 3.0), 4 * sqrt(96.0 / count));
    PASS();
}

TEST draws_integers_below(void) {
    fgsf_rng rng = fgsf_rng_make(3, FGSF_STREAM_REPLAY);
    int counts[7] = {0}, count = 70000;
    double chi = 0.0;
    for (int i = 0; i < count; i++) {
        uint64_t k = fgsf_rng_below(&rng, 7);
        ASSERT(k < 7);
        counts[k]++;
    }
    for (int k = 0; k < 7; k++) {
        chi += (counts[k] - count / 7.0) * (counts[k] - count / 7.0) / (count / 7.0);
    }
    ASSERT_BELOW("chi-square, 6 degrees", chi, 22.46); // p = 0.001
    ASSERT_EQ(0u, fgsf_rng_below(&rng, 1));
    for (int i = 0; i < 1000; i++) { // where a plain modulo would favour the lower half
        ASSERT(fgsf_rng_below(&rng, (3ull << 62) + 1) <= 3ull << 62);
    }
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(gives_the_published_numbers);
    RUN_TEST(repeats_and_separates_streams);
    RUN_TEST(draws_uniform_numbers);
    RUN_TEST(draws_normal_numbers);
    RUN_TEST(draws_integers_below);
    GREATEST_MAIN_END();
}
