// Random numbers from explicit streams: the same seed and stream give the same numbers everywhere.
//
//     fgsf_rng rng = fgsf_rng_make(seed, FGSF_STREAM_EXPLORE);
//     int action = (int)fgsf_rng_below(&rng, num_actions);
//
// The generator is xoshiro256**, seeded through splitmix64. Its whole state is the four words, so a
// stream is saved and restored by copying the struct.
#ifndef FGSF_RNG_H
#define FGSF_RNG_H

#include <stdint.h>

#include "fgsf/export.h"

FGSF_BEGIN_DECLS

typedef struct fgsf_rng {
    uint64_t s[4];
} fgsf_rng;

// The streams of a run. Each is independent, so that a change in how often one is drawn from
// (another exploration rate, say) leaves the others as they were.
enum fgsf_stream {
    FGSF_STREAM_INIT = 1, // network and reward-model initialisation
    FGSF_STREAM_ENV,      // resets, slips, goal noise
    FGSF_STREAM_EXPLORE,  // epsilon-greedy and random ties
    FGSF_STREAM_REPLAY,   // batches, pivots, conditional samples
    FGSF_STREAM_TASKS,    // random task schedules
    FGSF_STREAM_EVAL,     // evaluation episodes
    FGSF_STREAM_STATS,    // bootstrap resampling
};

// Returns the stream `stream` of `seed`.
FGSF_API fgsf_rng fgsf_rng_make(uint64_t seed, uint64_t stream);

// Returns 64 random bits.
FGSF_API uint64_t fgsf_rng_bits(fgsf_rng *rng);

// Returns a uniform number in [0, 1) with 53 random bits.
FGSF_API double fgsf_rng_uniform(fgsf_rng *rng);

// Returns a uniform integer in [0, n), without modulo bias; n must be positive.
FGSF_API uint64_t fgsf_rng_below(fgsf_rng *rng, uint64_t n);

// Returns a standard normal number (Box-Muller; two uniforms each, nothing cached).
FGSF_API double fgsf_rng_normal(fgsf_rng *rng);

FGSF_END_DECLS
#endif
