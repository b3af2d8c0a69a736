// Nothing is allocated per step: malloc and its relatives are counted while a trainer steps.
//
// Log rows and checkpoints are not steps and may allocate. The first steps after creation may too
// (graphs of batch sizes that have not occurred before), so the count starts after a warm-up. One
// exception is ggml's own: whenever it computes a graph it makes and frees an empty context (two
// blocks, 56 bytes) to see that its tables are filled. Those calls, from ggml_init, are counted apart.
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fgsf/envs.h"
#include "fgsf/trainer.h"
#include "ggml.h"
#include "support_assert.h"

GREATEST_MAIN_DEFS();

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define CAN_COUNT 0
#else
#define CAN_COUNT 1
#endif

#define WARMUP 300
#define GGML_INIT_SIZE 1024 // bytes of code, about

// volatile, because the compiler knows malloc and takes for granted that it changes no variable.
static volatile bool counting;
static volatile long count, count_ggml;

#if CAN_COUNT
// glibc's own functions under their internal names; ours stand before them in the program, and every
// library loaded with it, C++ included, calls ours.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

// Files an allocation under its caller.
static void record(const void *caller) {
    uintptr_t distance = (uintptr_t)caller - (uintptr_t)&ggml_init;
    if (counting && distance < GGML_INIT_SIZE) {
        count_ggml++;
    } else if (counting) {
        count++;
    }
}

void *malloc(size_t size) {
    record(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    record(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size) {
    record(__builtin_return_address(0));
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    record(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    record(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    record(__builtin_return_address(0));
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
#endif

// Counts the allocations of `steps` steps; negative when one fails.
static long allocations(int steps, const char *preset, const char *method, const char *key,
                        const char *value) {
    static fgsf_config cfg;
    fgsf_trainer *trainer = NULL;
    fgsf_status status = fgsf_config_resolve("four_rooms", preset, method, &cfg);
    if (status == FGSF_OK) status = fgsf_config_set(&cfg, "net.hidden", "32,32", "test");
    if (status == FGSF_OK && key) status = fgsf_config_set(&cfg, key, value, "test");
    cfg.learner.batch_size = 48;
    cfg.train.steps_per_task = 4 * (WARMUP + steps);
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &trainer);
    if (status == FGSF_OK) status = fgsf_trainer_prefill(trainer, 0, 500);
    for (int i = 0; i < WARMUP && status == FGSF_OK; i++) {
        status = fgsf_trainer_step(trainer);
    }
    count = 0;
    counting = true;
    for (int i = 0; i < steps && status == FGSF_OK; i++) {
        status = fgsf_trainer_step(trainer);
    }
    counting = false;
    if (status != FGSF_OK) {
        printf("%s %s: %s\n", preset, method, fgsf_last_error());
    }
    fgsf_trainer_free(trainer);
    return status == FGSF_OK ? count : -1;
}

TEST counter_counts(void) {
    count = 0;
    counting = true;
    void *volatile block = malloc(10);
    free(block);
    counting = false;
    ASSERT_EQ_FMT(1L, count, "%ld");
    PASS();
}

TEST steps_allocate_nothing(int steps, const char *preset, const char *method, const char *key,
                            const char *value) {
    ASSERT_EQ_FMTm(method, 0L, allocations(steps, preset, method, key, value), "%ld");
    PASS();
}

static void run_method(const char *method) {
    RUN_TESTp(steps_allocate_nothing, 200, "compat", method, NULL, NULL);
    RUN_TESTp(steps_allocate_nothing, 200, "clean", method, NULL, NULL);
}

SUITE(trainer_allocation) {
    static const char *const methods[] = {
        "dqn", "fg-dqn", "sfrql", "fg-sfrql-random", "fg-sfrql-average", "fg-sfrql-seq-average"};
    RUN_TEST(counter_counts);
    RUN_TESTp(steps_allocate_nothing, 1000, "compat", "fg-sfrql", NULL, NULL);
    RUN_TESTp(steps_allocate_nothing, 1000, "clean", "fg-sfrql", NULL, NULL);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        run_method(methods[m]);
    }
    RUN_TESTp(steps_allocate_nothing, 200, "paper", "fg-sfrql", NULL, NULL);
    RUN_TESTp(steps_allocate_nothing, 200, "clean", "fg-sfrql", "reward.model", "linear_rls");
}

int main(int argc, char **argv) {
    if (!CAN_COUNT) { // a test that cannot count must not pass
        puts("SKIP: allocations cannot be counted here");
        return 77;
    }
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_SUITE(trainer_allocation);
    GREATEST_MAIN_END();
}
