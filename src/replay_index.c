// The conditional index of a replay: O(1) insertion, removal and draws among equal (s, a).
//
// A hash table with open addressing leads from the key of (s, a) to a group; a group's slots stand
// in one block, so that a random one is found by its position; each slot knows its group and its
// position there, so that it is removed by moving the last one into its place. Blocks hold powers
// of two of slots and come from one pool per power. Each pool is as large as it can ever be needed,
// in address space only, so nothing is allocated after creation and nothing can fail.
#include "replay_index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NUM_CLASSES 32
#define NONE (-1)

typedef struct group {
    uint64_t hash;
    int32_t count; // 0: the group is free, and `block` is the next free group
    int32_t size_class;
    int32_t block; // its block in the pool of its class
} group;

// Blocks of 2^k slots. A free block starts with the number of the next free one.
typedef struct pool {
    int32_t *memory;
    int32_t used; // blocks ever taken
    int32_t free; // first of the free ones, or NONE
} pool;

struct fgsf_replay_index {
    fgsf_replay_index_params params;
    void *memory;
    size_t memory_size;
    uint32_t mask;        // size of the table - 1
    uint32_t *table;      // 1 + group, or 0
    group *groups;        // (capacity)
    int32_t *group_of;    // (capacity)
    int32_t *position_of; // (capacity)
    int32_t used_groups, free_group;
    pool pools[NUM_CLASSES];
};

void *fgsf_reserve(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void fgsf_reserve_forget(void *memory, size_t size) {
    if (madvise(memory, size, MADV_DONTNEED) != 0) memset(memory, 0, size);
}

void fgsf_reserve_free(void *memory, size_t size) {
    if (memory) munmap(memory, size);
}

// ---- Keys ---------------------------------------------------------------------------------------

// One number of a key. Adding zero turns -0 into 0, so that both are one key.
static uint64_t key_part(const fgsf_replay_index *index, float x) {
    double value = x;
    if (index->params.key == FGSF_KEY_GRID) value = rint(value / index->params.grid_pitch);
    value += 0.0;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static const float *state_of(const fgsf_replay_index *index, int32_t slot) {
    return index->params.states + (size_t)slot * (size_t)index->params.state_size;
}

static uint64_t mix(uint64_t hash, uint64_t part) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

static uint64_t hash_of(const fgsf_replay_index *index, int32_t slot) {
    const float *s = state_of(index, slot);
    uint64_t hash = mix(0, (uint64_t)(uint32_t)index->params.actions[slot]);
    for (int i = 0; i < index->params.state_size; i++) hash = mix(hash, key_part(index, s[i]));
    return mix(hash, 0);
}

static bool same_key(const fgsf_replay_index *index, int32_t a, int32_t b) {
    const float *sa = state_of(index, a), *sb = state_of(index, b);
    if (index->params.actions[a] != index->params.actions[b]) return false;
    if (memcmp(sa, sb, (size_t)index->params.state_size * sizeof *sa) == 0) return true;
    for (int i = 0; i < index->params.state_size; i++) {
        if (key_part(index, sa[i]) != key_part(index, sb[i])) return false;
    }
    return true;
}

// ---- Blocks -------------------------------------------------------------------------------------

// A group shrinks its block when a quarter is left, so a class has at most this many blocks.
static int64_t max_blocks(int64_t capacity, int size_class) {
    int64_t fewest = (int64_t)1 << (size_class > 2 ? size_class - 2 : 0);
    return capacity / fewest;
}

static int32_t *block_at(const fgsf_replay_index *index, int size_class, int32_t block) {
    return index->pools[size_class].memory + ((size_t)block << size_class);
}

static int32_t *slots_of(const fgsf_replay_index *index, const group *g) {
    return block_at(index, g->size_class, g->block);
}

static int32_t take_block(fgsf_replay_index *index, int size_class) {
    pool *p = &index->pools[size_class];
    if (p->free == NONE) return p->used++;
    int32_t block = p->free;
    p->free = *block_at(index, size_class, block);
    return block;
}

static void give_block(fgsf_replay_index *index, int size_class, int32_t block) {
    pool *p = &index->pools[size_class];
    *block_at(index, size_class, block) = p->free;
    p->free = block;
}

static void move_to_class(fgsf_replay_index *index, group *g, int size_class) {
    int32_t block = take_block(index, size_class);
    memcpy(block_at(index, size_class, block), slots_of(index, g),
           (size_t)g->count * sizeof(int32_t));
    give_block(index, g->size_class, g->block);
    g->size_class = size_class;
    g->block = block;
}

// ---- The table ----------------------------------------------------------------------------------

// Returns the place of the slot's group in the table, or the empty place where it belongs.
static uint32_t find(const fgsf_replay_index *index, uint64_t hash, int32_t slot) {
    uint32_t at = (uint32_t)hash & index->mask;
    for (; index->table[at]; at = (at + 1) & index->mask) {
        const group *g = &index->groups[index->table[at] - 1];
        if (g->hash == hash && same_key(index, *slots_of(index, g), slot)) break;
    }
    return at;
}

// Empties a place and moves what follows it back, so that no search meets a gap before its group.
static void erase(fgsf_replay_index *index, uint32_t gap) {
    for (uint32_t at = (gap + 1) & index->mask; index->table[at]; at = (at + 1) & index->mask) {
        uint32_t home = (uint32_t)index->groups[index->table[at] - 1].hash & index->mask;
        if (((at - home) & index->mask) >= ((at - gap) & index->mask)) {
            index->table[gap] = index->table[at];
            gap = at;
        }
    }
    index->table[gap] = 0;
}

static int32_t take_group(fgsf_replay_index *index) {
    int32_t id = index->free_group;
    if (id == NONE) return index->used_groups++;
    index->free_group = index->groups[id].block;
    return id;
}

static void append(fgsf_replay_index *index, int32_t id, int32_t slot) {
    group *g = &index->groups[id];
    if (g->count == 1 << g->size_class) move_to_class(index, g, g->size_class + 1);
    slots_of(index, g)[g->count] = slot;
    index->group_of[slot] = id;
    index->position_of[slot] = g->count++;
}

void fgsf_replay_index_insert(fgsf_replay_index *index, int32_t slot) {
    uint64_t hash = hash_of(index, slot);
    uint32_t at = find(index, hash, slot);
    if (!index->table[at]) {
        int32_t id = take_group(index);
        index->groups[id] = (group){.hash = hash, .block = take_block(index, 0)};
        index->table[at] = (uint32_t)id + 1;
    }
    append(index, (int32_t)(index->table[at] - 1), slot);
}

void fgsf_replay_index_remove(fgsf_replay_index *index, int32_t slot) {
    int32_t id = index->group_of[slot], position = index->position_of[slot];
    group *g = &index->groups[id];
    int32_t *slots = slots_of(index, g);
    if (g->count == 1) {
        uint32_t at = (uint32_t)g->hash & index->mask;
        while (index->table[at] != (uint32_t)id + 1) at = (at + 1) & index->mask;
        erase(index, at);
        give_block(index, g->size_class, g->block);
        *g = (group){.block = index->free_group};
        index->free_group = id;
        return;
    }
    int32_t last = slots[--g->count];
    slots[position] = last;
    index->position_of[last] = position;
    if (g->count <= 1 << g->size_class >> 2) move_to_class(index, g, g->size_class - 1);
}

int32_t fgsf_replay_index_count(const fgsf_replay_index *index, int32_t slot) {
    return index->groups[index->group_of[slot]].count;
}

int fgsf_replay_index_draw(fgsf_replay_index *index, fgsf_rng *rng, int32_t slot, int n,
                           bool with_replacement, int64_t *slots) {
    const group *g = &index->groups[index->group_of[slot]];
    int32_t *members = slots_of(index, g);
    if (with_replacement) {
        for (int i = 0; i < n; i++) slots[i] = members[fgsf_rng_below(rng, (uint64_t)g->count)];
        return n;
    }
    if (n > g->count) n = g->count;
    for (int i = 0; i < n; i++) { // the first n steps of a Fisher-Yates shuffle, in place
        int32_t j = i + (int32_t)fgsf_rng_below(rng, (uint64_t)(g->count - i));
        int32_t drawn = members[j];
        members[j] = members[i];
        members[i] = drawn;
        index->position_of[members[j]] = j;
        index->position_of[drawn] = i;
        slots[i] = drawn;
    }
    return n;
}

// ---- Life ---------------------------------------------------------------------------------------

// Gives out `count` items of `size` bytes from `*offset` on, aligned to cache lines.
static size_t lay_out(size_t *offset, int64_t count, size_t size) {
    size_t at = *offset;
    *offset = (at + (size_t)count * size + 63) / 64 * 64;
    return at;
}

fgsf_status fgsf_replay_index_create(const fgsf_replay_index_params *params,
                                     fgsf_replay_index **out) {
    if (params->key == FGSF_KEY_GRID && !(params->grid_pitch > 0.0)) {
        return fgsf_fail(FGSF_ERR_INVALID, "avg.grid_pitch: %g is not positive",
                         params->grid_pitch);
    }
    int64_t capacity = params->capacity;
    fgsf_replay_index *index = calloc(1, sizeof *index);
    if (!index) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a replay's index");
    index->params = *params;
    int64_t table_size = 16;
    while (table_size < 2 * capacity) table_size *= 2;
    index->mask = (uint32_t)(table_size - 1);

    size_t size = 0, pools[NUM_CLASSES] = {0};
    size_t table = lay_out(&size, table_size, sizeof *index->table);
    size_t groups = lay_out(&size, capacity, sizeof *index->groups);
    size_t group_of = lay_out(&size, capacity, sizeof(int32_t));
    size_t position_of = lay_out(&size, capacity, sizeof(int32_t));
    for (int k = 0; k < NUM_CLASSES; k++) {
        pools[k] = lay_out(&size, max_blocks(capacity, k), sizeof(int32_t) << k);
    }
    char *memory = fgsf_reserve(size);
    if (!memory) {
        free(index);
        return fgsf_fail(FGSF_ERR_MEMORY,
                         "train.buffer_capacity: no %zu bytes for the index of "
                         "%lld transitions",
                         size, (long long)capacity);
    }
    index->memory = memory;
    index->memory_size = size;
    index->table = (uint32_t *)(void *)(memory + table);
    index->groups = (group *)(void *)(memory + groups);
    index->group_of = (int32_t *)(void *)(memory + group_of);
    index->position_of = (int32_t *)(void *)(memory + position_of);
    for (int k = 0; k < NUM_CLASSES; k++) {
        index->pools[k] = (pool){.memory = (int32_t *)(void *)(memory + pools[k]), .free = NONE};
    }
    index->free_group = NONE;
    *out = index;
    return FGSF_OK;
}

void fgsf_replay_index_free(fgsf_replay_index *index) {
    if (!index) return;
    fgsf_reserve_free(index->memory, index->memory_size);
    free(index);
}

void fgsf_replay_index_clear(fgsf_replay_index *index) {
    fgsf_reserve_forget(index->memory, index->memory_size);
    for (int k = 0; k < NUM_CLASSES; k++) {
        index->pools[k].used = 0;
        index->pools[k].free = NONE;
    }
    index->used_groups = 0;
    index->free_group = NONE;
}

size_t fgsf_replay_index_bytes(const fgsf_replay_index *index) {
    size_t table = ((size_t)index->mask + 1) * sizeof *index->table;
    size_t capacity = (size_t)index->params.capacity;
    // At worst every slot is a group of its own: a group, a block of one, its two back references.
    return (table + capacity - 1) / capacity + sizeof(group) + 3 * sizeof(int32_t);
}

const int32_t *fgsf_replay_index_groups(const fgsf_replay_index *index) {
    return index->group_of;
}

const int32_t *fgsf_replay_index_positions(const fgsf_replay_index *index) {
    return index->position_of;
}

// ---- Restoring ----------------------------------------------------------------------------------

static int class_for(int32_t count) {
    int size_class = 0;
    while (count > (int64_t)1 << size_class) size_class++;
    return size_class;
}

static bool place_slots(fgsf_replay_index *index, const int32_t *groups, const int32_t *positions,
                        int32_t count) {
    int64_t capacity = index->params.capacity;
    for (int32_t i = 0; i < count; i++) {
        if (groups[i] < 0 || groups[i] >= capacity) return false;
        index->groups[groups[i]].count++;
        if (groups[i] >= index->used_groups) index->used_groups = groups[i] + 1;
    }
    for (int32_t id = 0; id < index->used_groups; id++) {
        group *g = &index->groups[id];
        if (g->count == 0) {
            g->block = index->free_group;
            index->free_group = id;
            continue;
        }
        g->size_class = class_for(g->count);
        g->block = take_block(index, g->size_class);
        memset(slots_of(index, g), 0xff, (size_t)g->count * sizeof(int32_t)); // NONE
    }
    for (int32_t i = 0; i < count; i++) {
        const group *g = &index->groups[groups[i]];
        int32_t *slots = slots_of(index, g);
        if (positions[i] < 0 || positions[i] >= g->count || slots[positions[i]] != NONE) {
            return false;
        }
        slots[positions[i]] = i;
        index->group_of[i] = groups[i];
        index->position_of[i] = positions[i];
    }
    return true;
}

static bool enter_groups(fgsf_replay_index *index) {
    for (int32_t id = 0; id < index->used_groups; id++) {
        group *g = &index->groups[id];
        if (g->count == 0) continue;
        const int32_t *slots = slots_of(index, g);
        for (int32_t i = 1; i < g->count; i++) {
            if (!same_key(index, slots[0], slots[i])) return false;
        }
        g->hash = hash_of(index, slots[0]);
        uint32_t at = find(index, g->hash, slots[0]);
        if (index->table[at]) return false; // two groups of one key
        index->table[at] = (uint32_t)id + 1;
    }
    return true;
}

fgsf_status fgsf_replay_index_restore(fgsf_replay_index *index, const int32_t *groups,
                                      const int32_t *positions, int32_t count) {
    fgsf_replay_index_clear(index);
    if (place_slots(index, groups, positions, count) && enter_groups(index)) return FGSF_OK;
    fgsf_replay_index_clear(index);
    return fgsf_fail(FGSF_ERR_FORMAT, "the index does not belong to the stored transitions");
}
