// Internal: the conditional index of a replay, from the key of (s, a) to the slots that share it.
#ifndef FGSF_REPLAY_INDEX_H
#define FGSF_REPLAY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "fgsf/replay.h"
#include "fgsf/rng.h"
#include "fgsf/status.h"

typedef struct fgsf_replay_index fgsf_replay_index;

typedef struct fgsf_replay_index_params {
    int64_t capacity; // slots
    int state_size;
    enum fgsf_key_mode key;
    double grid_pitch;
    // The replay's own arrays, read for keys: a slot's numbers must stand until it is removed.
    const float *states;    // (capacity, state_size)
    const int32_t *actions; // (capacity)
} fgsf_replay_index_params;

fgsf_status fgsf_replay_index_create(const fgsf_replay_index_params *params,
                                     fgsf_replay_index **out);
void fgsf_replay_index_free(fgsf_replay_index *index);
void fgsf_replay_index_clear(fgsf_replay_index *index);

// Adds a slot that is not in the index, or takes out one that is. Neither can fail.
void fgsf_replay_index_insert(fgsf_replay_index *index, int32_t slot);
void fgsf_replay_index_remove(fgsf_replay_index *index, int32_t slot);

// Returns the size of the slot's group.
int32_t fgsf_replay_index_count(const fgsf_replay_index *index, int32_t slot);

// Draws from the slot's group; see fgsf_replay_matching.
int fgsf_replay_index_draw(fgsf_replay_index *index, fgsf_rng *rng, int32_t slot, int n,
                           bool with_replacement, int64_t *slots);

// Returns the bytes of the index that one slot takes at most.
size_t fgsf_replay_index_bytes(const fgsf_replay_index *index);

// The content as two numbers per slot: its group, any number in [0, capacity), and its position in
// it. Restore checks that they describe a possible index of slots 0..count-1; the index is empty
// when it fails.
const int32_t *fgsf_replay_index_groups(const fgsf_replay_index *index);
const int32_t *fgsf_replay_index_positions(const fgsf_replay_index *index);
fgsf_status fgsf_replay_index_restore(fgsf_replay_index *index, const int32_t *groups,
                                      const int32_t *positions, int32_t count);

// Address space of `size` bytes, zeros, which takes memory only where it is written; NULL when
// there is none. Forgetting makes it zeros again and gives the memory back.
void *fgsf_reserve(size_t size);
void fgsf_reserve_forget(void *memory, size_t size);
void fgsf_reserve_free(void *memory, size_t size);

#endif
