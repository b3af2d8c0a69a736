// Every allocation of the library is made to fail, one after the other: whatever the library was doing
// ends with FGSF_ERR_MEMORY, frees all of it and leaves files as they were.
//
// The library is compiled once more for this program, with its allocation functions renamed to those
// below (tests/CMakeLists.txt). What ggml and the C library allocate on their own is left alone.
#include <ftw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fgsf/archive.h"
#include "fgsf/envs.h"
#include "fgsf/evaluate.h"
#include "fgsf/run.h"
#include "fgsf/stats.h"
#include "fgsf/trainer.h"
#include "support_assert.h"

void *failing_malloc(size_t size);
void *failing_calloc(size_t count, size_t size);
void *failing_realloc(void *memory, size_t size);
char *failing_strdup(const char *text);

static long calls, fail_at; // the number of the call that fails; 0: none
static char directory[64];

static bool fails(void) {
    return ++calls == fail_at;
}

void *failing_malloc(size_t size) {
    return fails() ? NULL : malloc(size);
}

void *failing_calloc(size_t count, size_t size) {
    return fails() ? NULL : calloc(count, size);
}

void *failing_realloc(void *memory, size_t size) {
    return fails() ? NULL : realloc(memory, size);
}

char *failing_strdup(const char *text) {
    return fails() ? NULL : strdup(text);
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw) {
    (void)info, (void)flag, (void)ftw;
    return remove(path);
}

typedef struct setting {
    const char *env, *method, *set[3][2];
} setting;

static fgsf_status configure(const setting *s, fgsf_config *cfg) {
    static const char *const common[][2] = {
        {"train.steps_per_task", "40"},   {"train.batch_size", "4"}, {"train.log_every", "20"},
        {"train.buffer_capacity", "200"}, {"net.hidden", "4"},       {"env.num_tasks", "2"},
        {"eval.episodes", "1"},           {"eval.horizon", "3"},     {"diag.residual_batch", "4"}};
    fgsf_status status = fgsf_config_resolve(s->env, "clean", s->method, cfg);
    for (size_t i = 0; i < sizeof common / sizeof *common && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, common[i][0], common[i][1], "test");
    }
    for (int i = 0; i < 3 && s->set[i][0] && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, s->set[i][0], s->set[i][1], "test");
    }
    return status;
}

// Trains, saves, loads and evaluates.
static fgsf_status train(const fgsf_config *cfg, const char *state, const char *policy) {
    fgsf_trainer *trainer = NULL, *again = NULL;
    fgsf_agent *agent = NULL;
    fgsf_config loaded;
    fgsf_eval_rows rows = {0};
    fgsf_status status = fgsf_trainer_create(cfg, &trainer);
    while (status == FGSF_OK && !fgsf_trainer_done(trainer)) {
        fgsf_log_row row;
        bool due = false;
        status = fgsf_trainer_step(trainer);
        if (status == FGSF_OK) status = fgsf_trainer_log(trainer, &row, &due);
    }
    if (status == FGSF_OK) status = fgsf_trainer_save(trainer, state);
    if (status == FGSF_OK) status = fgsf_trainer_create(cfg, &again);
    if (status == FGSF_OK) status = fgsf_trainer_load(again, state);
    if (status == FGSF_OK) status = fgsf_agent_save(fgsf_trainer_agent(again), cfg, policy);
    if (status == FGSF_OK) status = fgsf_agent_load(policy, "auto", &loaded, &agent);
    if (status == FGSF_OK) status = fgsf_evaluate(agent, &loaded, FGSF_EVAL_LEARNED, 0.1, &rows);
    if (status == FGSF_OK) status = fgsf_evaluate_heldout(agent, &loaded, 0.0, &rows);
    free(rows.rows);
    fgsf_agent_free(agent);
    fgsf_trainer_free(again);
    fgsf_trainer_free(trainer);
    return status;
}

static fgsf_status record(const fgsf_config *cfg) {
    fgsf_run_id id = {directory, "four_rooms", "dqn", "", 0};
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    fgsf_run_progress progress = {1, 1, 1};
    fgsf_status status = fgsf_run_open(&id, cfg, true, &found, &run);
    if (status == FGSF_OK && !run) return fgsf_run_summarize(directory); // finished by a try before
    if (status == FGSF_OK) {
        status = fgsf_csv_open(run, "train.csv", "step,task,task_step,cum_reward", -1, &csv);
    }
    if (status == FGSF_OK) status = fgsf_csv_row(csv, "1,0,1,0.5");
    fgsf_status closed = fgsf_csv_close(csv);
    if (status == FGSF_OK) status = closed;
    if (status == FGSF_OK) status = fgsf_run_finish(run, FGSF_RUN_DONE, &progress, "");
    fgsf_run_close(run);
    return status == FGSF_OK ? fgsf_run_summarize(directory) : status;
}

static fgsf_status statistics(void) {
    static const double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {2, 1, 4, 3, 6, 8};
    fgsf_stats_scores scores = {a, 3, 2};
    fgsf_stats_bootstrap_params params = fgsf_stats_bootstrap_default_params();
    fgsf_stats_interval interval;
    fgsf_stats_wilcoxon_result paired;
    fgsf_rng rng = fgsf_rng_make(1, 0);
    fgsf_status status = fgsf_stats_mean_interval(&scores, &params, &rng, &interval);
    return status == FGSF_OK ? fgsf_stats_wilcoxon(a, b, 6, &paired) : status;
}

static fgsf_status everything(const setting *s) {
    fgsf_config cfg;
    char state[128], policy[128];
    double error;
    fgsf_device *device = NULL;
    snprintf(state, sizeof state, "%s/state.gguf", directory);
    snprintf(policy, sizeof policy, "%s/policy.gguf", directory);
    fgsf_status status = configure(s, &cfg);
    if (status == FGSF_OK) status = train(&cfg, state, policy);
    if (status == FGSF_OK && strcmp(s->method, "dqn") == 0) {
        status = record(&cfg);
        if (status == FGSF_OK) status = statistics();
        if (status == FGSF_OK) status = fgsf_device_open("auto", &device);
        if (status == FGSF_OK) status = fgsf_device_check(device, 1.0, &error);
        fgsf_device_free(device);
    }
    return status;
}

TEST every_failed_allocation_is_reported(const setting *s) {
    calls = fail_at = 0;
    ASSERT_OK(everything(s));
    long total = calls;
    printf("%s, %s: %ld allocations\n", s->env, s->method, total);
    ASSERT(total > 100);
#ifdef __SANITIZE_ADDRESS__
    const long every = 1 + total / 60; // several times slower; the leaks are found all the same
#else
    const long every = 1;
#endif
    long wrong = 0;
    for (long n = 1; n <= total; n += every) {
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        mkdir(directory, 0777);
        calls = 0;
        fail_at = n;
        fgsf_status status = everything(s);
        if (status != FGSF_ERR_MEMORY) {
            printf("allocation %ld: status %d, %s\n", n, status, fgsf_last_error());
        }
        wrong += status != FGSF_ERR_MEMORY;
        fail_at = 0;
    }
    ASSERT_EQ_FMTm("allocations whose failure is not reported", 0L, wrong, "%ld");
    PASS();
}

static const setting SETTINGS[] = {
    {"four_rooms", "dqn", {{0}}},
    {"four_rooms", "fg-sfrql-average", {{"env.slip", "0.1"}}},
    {"four_rooms",
     "sfrql",
     {{"diag.psi_error", "true"}, {"train.steps_per_task", "10"}, {"train.log_every", "5"}}},
    {"reacher", "sfrql", {{"train.steps_per_task", "10"}}}};

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    const char *fast = access("/dev/shm", W_OK) ? "." : "/dev/shm"; // every file is synced
    snprintf(directory, sizeof directory, "%s/test_memory.%ld", fast, (long)getpid());
    mkdir(directory, 0777);
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        RUN_TEST1(every_failed_allocation_is_reported, &SETTINGS[i]);
    }
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    GREATEST_MAIN_END();
}
