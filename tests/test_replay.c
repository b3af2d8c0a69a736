// The replay: ring and index against a model that searches everything, draws against their
// distribution, checkpoints bit for bit.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/archive.h"
#include "fgsf/replay.h"
#include "support_assert.h"

#define S 3 // numbers of a state
#define D 2 // features

static fgsf_replay *make(int64_t capacity, bool indexed, enum fgsf_key_mode key) {
    fgsf_replay_params params = {.capacity = capacity,
                                 .state_size = S,
                                 .num_features = D,
                                 .indexed = indexed,
                                 .key = key,
                                 .grid_pitch = 0.25};
    fgsf_replay *replay = NULL;
    if (fgsf_replay_create(&params, &replay) != FGSF_OK) {
        fprintf(stderr, "%s\n", fgsf_last_error());
        abort();
    }
    return replay;
}

typedef struct item {
    float s[S], s_next[S], phi[D];
    fgsf_transition t;
} item;

// A transition whose every number tells which one it is.
static void fill(item *out, int id, float x, int action) {
    *out =
        (item){.s = {x, 0.5f, -1.0f}, .s_next = {(float)id, 1.0f, 2.0f}, .phi = {(float)id, 7.0f}};
    out->t = (fgsf_transition){.s = out->s,
                               .s_next = out->s_next,
                               .phi = out->phi,
                               .reward = (float)id + 0.25f,
                               .discount = id % 3 ? 0.95f : 0.0f,
                               .action = action,
                               .event = id % 5 - 1,
                               .task = id % 7};
}

static void add(fgsf_replay *replay, int id, float x, int action) {
    item it;
    fill(&it, id, x, action);
    if (fgsf_replay_add(replay, &it.t) != FGSF_OK) abort();
}

static bool holds(const fgsf_replay *replay, int64_t slot, int id, float x, int action) {
    item it;
    fill(&it, id, x, action);
    fgsf_transition t = fgsf_replay_at(replay, slot);
    return memcmp(t.s, it.s, sizeof it.s) == 0 &&
           memcmp(t.s_next, it.s_next, sizeof it.s_next) == 0 &&
           memcmp(t.phi, it.phi, sizeof it.phi) == 0 && t.reward == it.t.reward &&
           t.discount == it.t.discount && t.action == action && t.event == it.t.event &&
           t.task == it.t.task;
}

TEST ring_keeps_the_newest(void) {
    fgsf_replay *replay = make(5, false, FGSF_KEY_EXACT);
    ASSERT_EQ(0, fgsf_replay_count(replay));
    ASSERT_EQ(-1, fgsf_replay_last(replay));
    for (int id = 0; id < 12; id++) {
        add(replay, id, (float)id, id % 4);
        ASSERT_EQ(id < 5 ? id + 1 : 5, fgsf_replay_count(replay));
        ASSERT_EQ(id % 5, fgsf_replay_last(replay));
    }
    for (int id = 7; id < 12; id++) ASSERT(holds(replay, id % 5, id, (float)id, id % 4));
    ASSERT_EQ(0, fgsf_replay_matching_count(replay, 0)); // no index
    int64_t slot = 0;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_REPLAY);
    ASSERT_EQ(0, fgsf_replay_matching(replay, &rng, 0, 1, false, &slot));
    fgsf_replay_clear(replay);
    ASSERT_EQ(0, fgsf_replay_count(replay));
    ASSERT_EQ(-1, fgsf_replay_last(replay));
    add(replay, 3, 3.0f, 1);
    ASSERT(holds(replay, 0, 3, 3.0f, 1));
    fgsf_replay_free(replay);
    fgsf_replay_free(NULL);
    PASS();
}

TEST bad_input_is_refused(void) {
    fgsf_replay_params good = {.capacity = 4, .state_size = S, .num_features = D};
    fgsf_replay *replay = NULL;
    const fgsf_replay_params bad[] = {
        {.capacity = 0, .state_size = S, .num_features = D},
        {.capacity = (int64_t)1 << 40, .state_size = S, .num_features = D},
        {.capacity = 4, .state_size = 0, .num_features = D},
        {.capacity = 4, .state_size = S, .num_features = -1},
        {.capacity = 4, .state_size = S, .num_features = D, .indexed = true, .key = FGSF_KEY_GRID},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_replay_create(&bad[i], &replay));
        ASSERT_EQ(NULL, replay);
    }
    fgsf_replay_params huge = good; // 2^30 transitions of 8 MiB: no address space
    huge.capacity = (int64_t)1 << 30;
    huge.state_size = 1 << 20;
    ASSERT_EQ(FGSF_ERR_MEMORY, fgsf_replay_create(&huge, &replay));
    ASSERT_EQ(FGSF_OK, fgsf_replay_create(&good, &replay));
    item it;
    fill(&it, 1, NAN, 0);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_replay_add(replay, &it.t));
    fill(&it, 1, 0.0f, 0);
    it.t.reward = INFINITY;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_replay_add(replay, &it.t));
    ASSERT_EQ(0, fgsf_replay_count(replay));
    fgsf_replay_free(replay);
    PASS();
}

// Bytes of this process that are in memory.
static size_t resident(void) {
    size_t total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu %zu", &total, &pages) != 2) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

TEST memory_comes_with_the_transitions(void) {
    fgsf_replay_params params = {
        .capacity = 2000000, .state_size = 38, .num_features = 4, .indexed = true};
    fgsf_replay *plain = NULL, *indexed = NULL;
    size_t before = resident();
    ASSERT_EQ(FGSF_OK, fgsf_replay_create(&params, &indexed));
    params.indexed = false;
    ASSERT_EQ(FGSF_OK, fgsf_replay_create(&params, &plain));
    ASSERT(resident() < before + (4u << 20)); // of 1.4 GB
    ASSERT_EQ((2 * 38 + 4 + 5) * sizeof(float), fgsf_replay_bytes_per_transition(plain));
    ASSERT(fgsf_replay_bytes_per_transition(indexed) <
           fgsf_replay_bytes_per_transition(plain) + 64);
    fgsf_replay_free(plain);
    fgsf_replay_free(indexed);
    PASS();
}

// ---- The index against a search over everything -------------------------------------------------

#define CAPACITY 97
#define MAX_STEPS 20000

typedef struct model {
    float x[CAPACITY];
    int action[CAPACITY];
    int64_t count, next;
    enum fgsf_key_mode key;
} model;

static bool model_same(const model *m, int64_t i, int64_t j) {
    bool same = m->key == FGSF_KEY_EXACT
                    ? m->x[i] == m->x[j]
                    : rint((double)m->x[i] / 0.25) == rint((double)m->x[j] / 0.25);
    return same && m->action[i] == m->action[j];
}

static int64_t model_matching(const model *m, int64_t slot) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->count; i++) n += model_same(m, i, slot);
    return n;
}

// Draws `n` and checks that they are distinct (without replacement) and share the slot's key.
static bool draw_is_right(fgsf_replay *replay, fgsf_rng *rng, const model *m, int64_t slot, int n,
                          bool replace) {
    int64_t slots[2 * CAPACITY];
    bool taken[CAPACITY] = {false};
    int64_t matching = model_matching(m, slot);
    int expected = replace || n < matching ? n : (int)matching;
    if (fgsf_replay_matching_count(replay, slot) != matching) return false;
    if (fgsf_replay_matching(replay, rng, slot, n, replace, slots) != expected) return false;
    for (int i = 0; i < expected; i++) {
        if (slots[i] < 0 || slots[i] >= m->count || !model_same(m, slots[i], slot)) return false;
        if (!replace && taken[slots[i]]) return false;
        taken[slots[i]] = true;
    }
    return true;
}

// `spread` is how many states there are: few make large groups, many make groups of one.
static enum greatest_test_res compare_with_search(enum fgsf_key_mode key, int spread) {
    fgsf_replay *replay = make(CAPACITY, true, key);
    fgsf_rng rng = fgsf_rng_make((uint64_t)spread, FGSF_STREAM_REPLAY);
    model m = {.key = key};
    for (int step = 0; step < MAX_STEPS; step++) {
        float x = (float)fgsf_rng_below(&rng, (uint64_t)spread) * 0.1f;
        if (fgsf_rng_below(&rng, 2)) x = -x; // -0 too
        int action = (int)fgsf_rng_below(&rng, 2);
        add(replay, step, x, action);
        m.x[m.next] = x;
        m.action[m.next] = action;
        m.next = (m.next + 1) % CAPACITY;
        if (m.count < CAPACITY) m.count++;
        int64_t slot = (int64_t)fgsf_rng_below(&rng, (uint64_t)m.count);
        int n = 1 + (int)fgsf_rng_below(&rng, 2 * CAPACITY);
        ASSERT(draw_is_right(replay, &rng, &m, slot, n, fgsf_rng_below(&rng, 2)));
        if (step % 500 == 0) {
            for (int64_t i = 0; i < m.count; i++) {
                ASSERT_EQ(model_matching(&m, i), fgsf_replay_matching_count(replay, i));
            }
        }
        if (step % 7001 == 7000) {
            fgsf_replay_clear(replay);
            m.count = m.next = 0;
        }
    }
    fgsf_replay_free(replay);
    PASS();
}

TEST exact_index_equals_a_search(void) {
    const int spreads[] = {1, 2, 5, 40, 100000};
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        CHECK_CALL(compare_with_search(FGSF_KEY_EXACT, spreads[i]));
    }
    PASS();
}

TEST grid_index_equals_a_search(void) {
    const int spreads[] = {1, 2, 20, 300};
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        CHECK_CALL(compare_with_search(FGSF_KEY_GRID, spreads[i]));
    }
    PASS();
}

// ---- Distributions ------------------------------------------------------------------------------

// Chi-square of counts that should be equal; its standard deviation is sqrt(2 (n - 1)).
static double chi_square(const int *counts, int n, double expected) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += pow(counts[i] - expected, 2) / expected;
    return sum;
}

TEST batches_are_uniform(void) {
    enum { N = 50, DRAWS = 200000 };
    fgsf_replay *replay = make(64, false, FGSF_KEY_EXACT);
    for (int id = 0; id < N; id++) add(replay, id, 0.0f, 0);
    fgsf_rng rng = fgsf_rng_make(3, FGSF_STREAM_REPLAY);
    int counts[N] = {0}, pairs[N * N] = {0};
    int64_t slots[64];
    for (int i = 0; i < DRAWS / 64; i++) {
        fgsf_replay_sample(replay, &rng, 64, slots);
        for (int k = 0; k < 64; k++) counts[slots[k]]++;
        for (int k = 0; k < 64; k += 2) pairs[slots[k] * N + slots[k + 1]]++;
    }
    double total = DRAWS / 64 * 64;
    ASSERT_IN_RANGE(N - 1, chi_square(counts, N, total / N), 4.0 * sqrt(2.0 * (N - 1)));
    // Independent: every pair as often as any other, the pair of one slot twice included.
    ASSERT_IN_RANGE(N * N - 1, chi_square(pairs, N * N, total / 2 / (N * N)),
                    4.0 * sqrt(2.0 * (N * N - 1)));
    fgsf_replay_free(replay);
    PASS();
}

TEST distinct_draws_are_uniform_in_every_place(void) {
    enum { N = 6, DRAWS = 60000 };
    fgsf_replay *replay = make(64, true, FGSF_KEY_EXACT);
    for (int id = 0; id < N; id++) add(replay, id, 1.0f, 2);
    for (int id = N; id < 40; id++) add(replay, id, 2.0f, id % 3);
    fgsf_rng rng = fgsf_rng_make(4, FGSF_STREAM_REPLAY);
    int counts[N * N] = {0};
    int64_t slots[3];
    for (int i = 0; i < DRAWS; i++) {
        ASSERT_EQ(3, fgsf_replay_matching(replay, &rng, 2, 3, false, slots));
        counts[slots[0] * N + slots[1]]++;
    }
    for (int i = 0; i < N; i++) {
        ASSERT_EQ(0, counts[i * N + i]);
        counts[i * N + i] = DRAWS / (N * (N - 1)); // leave the diagonal out
    }
    double pairs = N * (N - 1);
    ASSERT_IN_RANGE(pairs - 1, chi_square(counts, N * N, DRAWS / pairs),
                    4.0 * sqrt(2.0 * (pairs - 1)));
    fgsf_replay_free(replay);
    PASS();
}

// T8: the variance of a mean of N draws with replacement from n stored fair coin flips, over both
// the flips and the draws, relative to that of one flip.
static double variance_factor(int n, int draws, uint64_t seed) {
    enum { REPEATS = 60000 };
    fgsf_rng rng = fgsf_rng_make(seed, FGSF_STREAM_REPLAY);
    fgsf_replay *replay = make(n, true, FGSF_KEY_EXACT);
    double sum = 0.0, squares = 0.0;
    int64_t slots[16];
    for (int i = 0; i < REPEATS; i++) {
        for (int k = 0; k < n; k++) add(replay, (int)fgsf_rng_below(&rng, 2), 1.0f, 0);
        fgsf_replay_matching(replay, &rng, 0, draws, true, slots);
        double mean = 0.0;
        for (int k = 0; k < draws; k++) mean += fgsf_replay_at(replay, slots[k]).phi[0] / draws;
        sum += mean;
        squares += mean * mean;
    }
    fgsf_replay_free(replay);
    return (squares / REPEATS - pow(sum / REPEATS, 2)) / 0.25;
}

TEST averaging_reduces_variance_as_t8_says(void) {
    ASSERT_IN_RANGE(1.0, variance_factor(1, 5, 1), 0.01);
    ASSERT_IN_RANGE(0.6, variance_factor(2, 5, 2), 0.01);
    ASSERT_IN_RANGE(0.36, variance_factor(5, 5, 3), 0.01);
    ASSERT_IN_RANGE(0.24, variance_factor(20, 5, 4), 0.01);
    PASS();
}

// ---- Checkpoints --------------------------------------------------------------------------------

static const char *temporary(void) {
    static char path[64];
    snprintf(path, sizeof path, "test_replay.%ld.gguf", (long)getpid());
    return path;
}

static void random_adds(fgsf_replay *replay, fgsf_rng *rng, int n) {
    for (int i = 0; i < n; i++) {
        float x = (float)fgsf_rng_below(rng, 6) * 0.2f;
        add(replay, (int)fgsf_rng_below(rng, 1000), x, (int)fgsf_rng_below(rng, 2));
    }
}

static fgsf_status save(const fgsf_replay *replay, const char *path) {
    fgsf_archive *archive = NULL;
    fgsf_status status = fgsf_archive_create(&archive);
    if (status != FGSF_OK) return status;
    fgsf_replay_save(replay, archive, "replay");
    status = fgsf_archive_save(archive, path);
    fgsf_archive_free(archive);
    return status;
}

static fgsf_status load(fgsf_replay *replay, const char *path) {
    fgsf_archive *archive = NULL;
    fgsf_status status = fgsf_archive_open(path, &archive);
    if (status == FGSF_OK) status = fgsf_replay_load(replay, archive, "replay");
    fgsf_archive_free(archive);
    return status;
}

// The same adds and draws on both give the same slots and the same numbers.
static bool behave_alike(fgsf_replay *a, fgsf_replay *b, fgsf_rng rng, int steps) {
    fgsf_rng other = rng;
    int64_t x[20], y[20];
    for (int i = 0; i < steps; i++) {
        random_adds(a, &rng, 1);
        random_adds(b, &other, 1);
        if (fgsf_replay_count(a) != fgsf_replay_count(b)) return false;
        fgsf_replay_sample(a, &rng, 20, x);
        fgsf_replay_sample(b, &other, 20, y);
        if (memcmp(x, y, sizeof x) != 0) return false;
        int n = fgsf_replay_matching(a, &rng, x[0], 20, i % 2, x);
        if (n != fgsf_replay_matching(b, &other, y[0], 20, i % 2, y)) return false;
        for (int k = 0; k < n; k++) {
            fgsf_transition t = fgsf_replay_at(a, x[k]), u = fgsf_replay_at(b, y[k]);
            if (x[k] != y[k] || t.reward != u.reward || t.event != u.event) return false;
            if (memcmp(t.s, u.s, S * sizeof(float)) || memcmp(t.phi, u.phi, D * sizeof(float))) {
                return false;
            }
        }
    }
    return true;
}

TEST resumed_replays_draw_the_same(void) {
    const int sizes[] = {0, 1, 30, 64, 500}; // empty, partly filled, exactly full, wrapped
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int key = 0; key < 2; key++) {
            fgsf_rng rng = fgsf_rng_make(i, FGSF_STREAM_REPLAY);
            fgsf_replay *a = make(64, true, (enum fgsf_key_mode)key);
            fgsf_replay *b = make(64, true, (enum fgsf_key_mode)key);
            random_adds(a, &rng, sizes[i]);
            int64_t slots[64];
            for (int k = 0; k < sizes[i];
                 k++) { // so that the order in the groups is not that of adds
                fgsf_replay_matching(a, &rng, k % fgsf_replay_count(a), 64, false, slots);
            }
            random_adds(b, &rng, 10); // loading replaces
            ASSERT_EQ_FMT(FGSF_OK, save(a, temporary()), "%d");
            ASSERT_EQ_FMT(FGSF_OK, load(b, temporary()), "%d");
            ASSERT_EQ(fgsf_replay_count(a), fgsf_replay_count(b));
            ASSERT_EQ(fgsf_replay_last(a), fgsf_replay_last(b));
            ASSERT(behave_alike(a, b, rng, 300));
            fgsf_replay_free(a);
            fgsf_replay_free(b);
        }
    }
    unlink(temporary());
    PASS();
}

TEST foreign_checkpoints_leave_an_empty_replay(void) {
    fgsf_rng rng = fgsf_rng_make(9, FGSF_STREAM_REPLAY);
    fgsf_replay *a = make(64, true, FGSF_KEY_EXACT), *small = make(63, true, FGSF_KEY_EXACT);
    fgsf_replay *grid = make(64, true, FGSF_KEY_GRID), *plain = make(64, false, FGSF_KEY_EXACT);
    random_adds(a, &rng, 100);
    random_adds(small, &rng, 5);
    random_adds(grid, &rng, 5);
    ASSERT_EQ(FGSF_OK, save(a, temporary()));
    ASSERT_EQ(FGSF_ERR_FORMAT, load(small, temporary()));
    ASSERT_EQ(0, fgsf_replay_count(small));
    ASSERT_EQ(FGSF_ERR_FORMAT, load(grid, temporary())); // two groups of one key
    ASSERT_EQ(0, fgsf_replay_count(grid));
    random_adds(grid, &rng, 200); // and it still works
    ASSERT_EQ(FGSF_OK, save(plain, temporary()));
    ASSERT_EQ(FGSF_ERR_FORMAT, load(a, temporary())); // no index in the file
    ASSERT(strstr(fgsf_last_error(), "replay.group"));
    fgsf_replay_free(a);
    fgsf_replay_free(small);
    fgsf_replay_free(grid);
    fgsf_replay_free(plain);
    unlink(temporary());
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(ring_keeps_the_newest);
    RUN_TEST(bad_input_is_refused);
    RUN_TEST(memory_comes_with_the_transitions);
    RUN_TEST(exact_index_equals_a_search);
    RUN_TEST(grid_index_equals_a_search);
    RUN_TEST(batches_are_uniform);
    RUN_TEST(distinct_draws_are_uniform_in_every_place);
    RUN_TEST(averaging_reduces_variance_as_t8_says);
    RUN_TEST(resumed_replays_draw_the_same);
    RUN_TEST(foreign_checkpoints_leave_an_empty_replay);
    GREATEST_MAIN_END();
}
