// Replay: a ring of transitions, uniform sampling, and an index of what followed the same (s, a).
//
//     fgsf_replay_params params = {.capacity = 200000, .state_size = 38, .num_features = 4};
//     fgsf_replay_create(&params, &replay);
//     fgsf_replay_add(replay, &transition);
//     fgsf_replay_sample(replay, &rng, 64, slots);
//     fgsf_transition t = fgsf_replay_at(replay, slots[0]);
//
// States, features, rewards and discounts are stored as floats. Transitions carry their features,
// not only a reward, so they serve every task: rewards of another task are computed from phi.
#ifndef FGSF_REPLAY_H
#define FGSF_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fgsf/rng.h"
#include "fgsf/status.h"

FGSF_BEGIN_DECLS

enum fgsf_key_mode { FGSF_KEY_EXACT, FGSF_KEY_GRID };

typedef struct fgsf_transition {
    const float *s, *s_next; // (state_size)
    const float *phi;        // (num_features)
    float reward;
    float discount; // 0 when s_next is terminal, else gamma
    int32_t action;
    int32_t event; // index of phi in a finite feature set, for xi; -1 without one
    int32_t task;  // that was active
} fgsf_transition;

typedef struct fgsf_replay_params {
    int64_t capacity;
    int state_size, num_features;
    bool indexed;           // keep the conditional index on (s, a)
    enum fgsf_key_mode key; // of the index: exact bytes, or states rounded to a grid
    double grid_pitch;
} fgsf_replay_params;

typedef struct fgsf_replay fgsf_replay;

// What an array of a replay, and of everything else that is saved, holds.
typedef enum fgsf_number { FGSF_F32, FGSF_F64, FGSF_I32, FGSF_I64 } fgsf_number;

// Reserves address space for the whole ring; memory is taken as transitions come in.
FGSF_API fgsf_status fgsf_replay_create(const fgsf_replay_params *params, fgsf_replay **out);
FGSF_API void fgsf_replay_free(fgsf_replay *replay);

// Forgets everything.
FGSF_API void fgsf_replay_clear(fgsf_replay *replay);

// Copies a transition in, in place of the oldest when full. Numbers that are not finite are
// refused.
FGSF_API fgsf_status fgsf_replay_add(fgsf_replay *replay, const fgsf_transition *transition);

FGSF_API int64_t fgsf_replay_count(const fgsf_replay *replay);

// Returns the slot that the last fgsf_replay_add wrote, or -1.
FGSF_API int64_t fgsf_replay_last(const fgsf_replay *replay);

// Returns a transition; its pointers stay valid until the slot is overwritten.
FGSF_API fgsf_transition fgsf_replay_at(const fgsf_replay *replay, int64_t slot);

// Brings a transition into the cache ahead of fgsf_replay_at: a large replay lies in main memory.
FGSF_API void fgsf_replay_prefetch(const fgsf_replay *replay, int64_t slot);

// Draws n slots uniformly with replacement; the replay must not be empty.
FGSF_API void fgsf_replay_sample(const fgsf_replay *replay, fgsf_rng *rng, int n, int64_t *slots);

// Returns how many stored transitions share the key of `slot`'s (s, a), itself included; 0 without
// an index.
FGSF_API int64_t fgsf_replay_matching_count(const fgsf_replay *replay, int64_t slot);

// Draws up to n transitions that share the key of `slot`'s (s, a). Without replacement: min(n,
// matching) distinct ones in random order; with replacement: n independent draws. Returns how many
// were written; 0 without an index. Only the order inside the index changes.
FGSF_API int fgsf_replay_matching(fgsf_replay *replay, fgsf_rng *rng, int64_t slot, int n,
                                  bool with_replacement, int64_t *slots);

// Returns the bytes one stored transition takes; with an index, including the most its share can
// be.
FGSF_API size_t fgsf_replay_bytes_per_transition(const fgsf_replay *replay);

FGSF_END_DECLS
#endif
