// The ring of transitions: one array per field, slot by slot, so that a batch gathers from few
// places and a checkpoint writes each array as it stands.
#include "fgsf/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "replay_index.h"
#include "require.h"

#define MAX_CAPACITY ((int64_t)1 << 30) // slots are 32-bit numbers in the index
#define NUM_FIELDS 8

struct fgsf_replay {
    fgsf_replay_params params;
    int64_t count;
    int64_t next; // the slot that the next transition takes
    void *memory;
    size_t memory_size;
    float *s, *s_next;        // (capacity, state_size)
    float *phi;               // (capacity, num_features)
    float *reward;            // (capacity)
    float *discount;          // (capacity)
    int32_t *action;          // (capacity)
    int32_t *event, *task;    // (capacity)
    fgsf_replay_index *index; // NULL without one
};

// One array of the ring: its name in archives, where its pointer is, and its numbers per slot.
typedef struct field {
    const char *name;
    float **floats; // either this
    int32_t **ints; // or that
    size_t width;
} field;

static void list_fields(fgsf_replay *r, field out[NUM_FIELDS]) {
    size_t states = (size_t)r->params.state_size, features = (size_t)r->params.num_features;
    const field fields[NUM_FIELDS] = {
        {"s", &r->s, NULL, states},          {"s_next", &r->s_next, NULL, states},
        {"phi", &r->phi, NULL, features},    {"reward", &r->reward, NULL, 1},
        {"discount", &r->discount, NULL, 1}, {"action", NULL, &r->action, 1},
        {"event", NULL, &r->event, 1},       {"task", NULL, &r->task, 1},
    };
    memcpy(out, fields, sizeof fields);
}

static size_t transition_bytes(const fgsf_replay_params *p) {
    return (2 * (size_t)p->state_size + (size_t)p->num_features + 5) * sizeof(float);
}

static fgsf_status check_params(const fgsf_replay_params *p) {
    if (p->capacity < 1 || p->capacity > MAX_CAPACITY) {
        return fgsf_fail(FGSF_ERR_INVALID, "train.buffer_capacity: %lld is not in [1, %lld]",
                         (long long)p->capacity, (long long)MAX_CAPACITY);
    }
    if (p->state_size < 1 || p->state_size > 1 << 20) {
        return fgsf_fail(FGSF_ERR_INVALID, "replay.state_size: %d is not in [1, 1048576]",
                         p->state_size);
    }
    if ((unsigned)p->key > FGSF_KEY_GRID) {
        return fgsf_fail(FGSF_ERR_INVALID, "replay.key: %d does not exist", (int)p->key);
    }
    if (p->num_features < 0 || p->num_features > 1 << 20) {
        return fgsf_fail(FGSF_ERR_INVALID, "replay.num_features: %d is not in [0, 1048576]",
                         p->num_features);
    }
    return FGSF_OK;
}

static size_t padded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static fgsf_status reserve_fields(fgsf_replay *r) {
    field fields[NUM_FIELDS];
    list_fields(r, fields);
    size_t capacity = (size_t)r->params.capacity;
    for (int i = 0; i < NUM_FIELDS; i++) {
        r->memory_size += padded(capacity * fields[i].width * sizeof(float));
    }
    char *place = r->memory = fgsf_reserve(r->memory_size);
    if (!place) {
        return fgsf_fail(FGSF_ERR_MEMORY,
                         "train.buffer_capacity: no %zu bytes for %lld transitions", r->memory_size,
                         (long long)r->params.capacity);
    }
    for (int i = 0; i < NUM_FIELDS; i++) {
        if (fields[i].floats) {
            *fields[i].floats = (float *)(void *)place;
        } else {
            *fields[i].ints = (int32_t *)(void *)place;
        }
        place += padded(capacity * fields[i].width * sizeof(float));
    }
    return FGSF_OK;
}

fgsf_status fgsf_replay_create(const fgsf_replay_params *params, fgsf_replay **out) {
    FGSF_REQUIRE(params && out);
    FGSF_TRY(check_params(params));
    fgsf_replay *r = calloc(1, sizeof *r);
    if (!r) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a replay");
    r->params = *params;
    fgsf_status status = reserve_fields(r);
    if (status == FGSF_OK && params->indexed) {
        fgsf_replay_index_params index = {.capacity = params->capacity,
                                          .state_size = params->state_size,
                                          .key = params->key,
                                          .grid_pitch = params->grid_pitch,
                                          .states = r->s,
                                          .actions = r->action};
        status = fgsf_replay_index_create(&index, &r->index);
    }
    if (status == FGSF_OK) *out = r;
    if (status != FGSF_OK) fgsf_replay_free(r);
    return status;
}

void fgsf_replay_free(fgsf_replay *replay) {
    if (!replay) return;
    fgsf_replay_index_free(replay->index);
    fgsf_reserve_free(replay->memory, replay->memory_size);
    free(replay);
}

void fgsf_replay_clear(fgsf_replay *replay) {
    if (!replay) return;
    fgsf_reserve_forget(replay->memory, replay->memory_size);
    if (replay->index) fgsf_replay_index_clear(replay->index);
    replay->count = replay->next = 0;
}

fgsf_status fgsf_replay_add(fgsf_replay *r, const fgsf_transition *t) {
    FGSF_REQUIRE(r && t && t->s && t->s_next && (t->phi || r->params.num_features == 0));
    size_t slot = (size_t)r->next;
    size_t states = (size_t)r->params.state_size, features = (size_t)r->params.num_features;
    if (!fgsf_all_finite(t->s, states) || !fgsf_all_finite(t->s_next, states) ||
        !fgsf_all_finite(t->phi, features) || !isfinite(t->reward) || !isfinite(t->discount)) {
        return fgsf_fail(FGSF_ERR_INVALID, "replay: a transition of task %d is not finite",
                         (int)t->task);
    }
    bool full = r->count == r->params.capacity;
    if (full && r->index) fgsf_replay_index_remove(r->index, (int32_t)slot);
    memcpy(r->s + slot * states, t->s, states * sizeof(float));
    memcpy(r->s_next + slot * states, t->s_next, states * sizeof(float));
    if (features > 0) memcpy(r->phi + slot * features, t->phi, features * sizeof(float));
    r->reward[slot] = t->reward;
    r->discount[slot] = t->discount;
    r->action[slot] = t->action;
    r->event[slot] = t->event;
    r->task[slot] = t->task;
    if (r->index) fgsf_replay_index_insert(r->index, (int32_t)slot);
    if (!full) r->count++;
    r->next = r->next + 1 == r->params.capacity ? 0 : r->next + 1;
    return FGSF_OK;
}

int64_t fgsf_replay_count(const fgsf_replay *replay) {
    return replay ? replay->count : 0;
}

int64_t fgsf_replay_last(const fgsf_replay *replay) {
    if (!replay) return 0;
    if (replay->count == 0) return -1;
    return replay->next == 0 ? replay->params.capacity - 1 : replay->next - 1;
}

fgsf_transition fgsf_replay_at(const fgsf_replay *r, int64_t slot) {
    if (!r || slot < 0 || slot >= r->count) return (fgsf_transition){0};
    size_t i = (size_t)slot;
    size_t states = (size_t)r->params.state_size, features = (size_t)r->params.num_features;
    return (fgsf_transition){.s = r->s + i * states,
                             .s_next = r->s_next + i * states,
                             .phi = r->phi + i * features,
                             .reward = r->reward[i],
                             .discount = r->discount[i],
                             .action = r->action[i],
                             .event = r->event[i],
                             .task = r->task[i]};
}

static void prefetch(const void *data, size_t size) {
    for (size_t at = 0; at < size + 63; at += 64) __builtin_prefetch((const char *)data + at);
}

void fgsf_replay_prefetch(const fgsf_replay *r, int64_t slot) {
    if (!r) return;
    size_t i = (size_t)slot;
    size_t states = (size_t)r->params.state_size, features = (size_t)r->params.num_features;
    prefetch(r->s + i * states, states * sizeof(float));
    prefetch(r->s_next + i * states, states * sizeof(float));
    prefetch(r->phi + i * features, features * sizeof(float));
    const void *const scalars[] = {&r->reward[i], &r->discount[i], &r->action[i], &r->event[i],
                                   &r->task[i]};
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++) __builtin_prefetch(scalars[k]);
}

void fgsf_replay_sample(const fgsf_replay *replay, fgsf_rng *rng, int n, int64_t *slots) {
    if (!(replay && slots)) return;
    for (int i = 0; i < n; i++) slots[i] = (int64_t)fgsf_rng_below(rng, (uint64_t)replay->count);
}

int64_t fgsf_replay_matching_count(const fgsf_replay *replay, int64_t slot) {
    if (!replay || slot < 0 || slot >= fgsf_replay_count(replay)) return 0;
    return replay->index ? fgsf_replay_index_count(replay->index, (int32_t)slot) : 0;
}

int fgsf_replay_matching(fgsf_replay *replay, fgsf_rng *rng, int64_t slot, int n,
                         bool with_replacement, int64_t *slots) {
    if (!replay || !rng || !slots || n < 0 || slot < 0 || slot >= fgsf_replay_count(replay))
        return 0;
    if (!replay->index) return 0;
    return fgsf_replay_index_draw(replay->index, rng, (int32_t)slot, n, with_replacement, slots);
}

size_t fgsf_replay_bytes_per_transition(const fgsf_replay *replay) {
    if (!replay) return 0;
    size_t index = replay->index ? fgsf_replay_index_bytes(replay->index) : 0;
    return transition_bytes(&replay->params) + index;
}

// ---- Checkpoints --------------------------------------------------------------------------------

#define NAME_SIZE 128

static const char *entry(char name[NAME_SIZE], const char *prefix, const char *what) {
    snprintf(name, NAME_SIZE, "%s.%s", prefix, what);
    return name;
}

static fgsf_status check_counts(const fgsf_replay *replay, const char *prefix, int64_t capacity,
                                int64_t count, int64_t next) {
    if (capacity != replay->params.capacity) {
        return fgsf_fail(FGSF_ERR_FORMAT,
                         "%s: stored with a capacity of %lld transitions, but this one holds %lld",
                         prefix, (long long)capacity, (long long)replay->params.capacity);
    }
    bool full = count == capacity;
    if (count < 0 || count > capacity || next < 0 || next >= capacity || (!full && next != count)) {
        return fgsf_fail(FGSF_ERR_FORMAT,
                         "%s: %lld transitions with the next at %lld is not a ring buffer", prefix,
                         (long long)count, (long long)next);
    }
    return FGSF_OK;
}

static void load_index(fgsf_replay *replay, fgsf_walk *w, const char *prefix, size_t count) {
    char name[NAME_SIZE];
    int32_t *groups = malloc((2 * count + 1) * sizeof *groups);
    if (!groups) {
        w->status = fgsf_fail(FGSF_ERR_MEMORY, "no memory to load %zu transitions", count);
        return;
    }
    w->array(w, entry(name, prefix, "group"), FGSF_I32, groups, count);
    w->array(w, entry(name, prefix, "position"), FGSF_I32, groups + count, count);
    if (w->status == FGSF_OK) {
        w->status =
            fgsf_replay_index_restore(replay->index, groups, groups + count, (int32_t)count);
    }
    free(groups);
}

static void walk_arrays(fgsf_replay *replay, fgsf_walk *w, const char *prefix, size_t count) {
    char name[NAME_SIZE];
    field fields[NUM_FIELDS];
    list_fields(replay, fields);
    for (int i = 0; i < NUM_FIELDS; i++) {
        const field *f = &fields[i];
        void *data = f->floats ? (void *)*f->floats : (void *)*f->ints;
        w->array(w, entry(name, prefix, f->name), f->floats ? FGSF_F32 : FGSF_I32, data,
                 count * f->width);
    }
    if (replay->index && w->loading && w->status == FGSF_OK) {
        load_index(replay, w, prefix, count);
    } else if (replay->index && !w->loading) {
        w->array(w, entry(name, prefix, "group"), FGSF_I32,
                 (int32_t *)fgsf_replay_index_groups(replay->index), count);
        w->array(w, entry(name, prefix, "position"), FGSF_I32,
                 (int32_t *)fgsf_replay_index_positions(replay->index), count);
    }
}

void fgsf_replay_walk(fgsf_replay *replay, fgsf_walk *w, const char *prefix) {
    char name[NAME_SIZE];
    int64_t capacity = replay->params.capacity, count = replay->count, next = replay->next;
    w->integer(w, entry(name, prefix, "capacity"), &capacity);
    w->integer(w, entry(name, prefix, "count"), &count);
    w->integer(w, entry(name, prefix, "next"), &next);
    if (w->loading) {
        fgsf_replay_clear(replay);
        if (w->status == FGSF_OK) w->status = check_counts(replay, prefix, capacity, count, next);
    }
    if (w->status == FGSF_OK) walk_arrays(replay, w, prefix, (size_t)count);
    if (w->loading && w->status != FGSF_OK) {
        fgsf_replay_clear(replay);
    } else if (w->loading) {
        replay->count = count;
        replay->next = next;
    }
}
