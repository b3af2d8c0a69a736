// xoshiro256** streams (Blackman and Vigna's generator, written from its definition).
#include "fgsf/rng.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static uint64_t splitmix64(uint64_t *x) {
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

fgsf_rng fgsf_rng_make(uint64_t seed, uint64_t stream) {
    uint64_t x = seed;
    x = splitmix64(&x) ^ (stream * 0xd1342543de82ef95u);
    fgsf_rng rng;
    for (int i = 0; i < 4; i++) rng.s[i] = splitmix64(&x);
    return rng;
}

static inline uint64_t next(uint64_t *s) {
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t fgsf_rng_bits(fgsf_rng *rng) {
    return rng ? next(rng->s) : 0;
}

double fgsf_rng_uniform(fgsf_rng *rng) {
    return (double)(fgsf_rng_bits(rng) >> 11) * 0x1p-53;
}

uint64_t fgsf_rng_below(fgsf_rng *rng, uint64_t n) {
    if (!rng || n == 0) return 0;
    uint64_t threshold = -n % n; // the 2^64 mod n lowest values would be drawn once too often
    uint64_t x;
    do {
        x = next(rng->s);
    } while (x < threshold);
    return x % n;
}

double fgsf_rng_normal(fgsf_rng *rng) {
    double radius = sqrt(-2.0 * log(1.0 - fgsf_rng_uniform(rng)));
    return radius * cos(6.283185307179586476925 * fgsf_rng_uniform(rng));
}
