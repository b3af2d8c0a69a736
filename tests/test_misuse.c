// Every exported function, called with bad arguments, one at a time: NULL, zero, negative, huge, NaN and
// objects of another shape. None may crash, hang or leave the sanitizers' rules, and a NULL or a NaN that
// the header does not allow must be refused with a message. misuse/calls.awk makes the calls from the
// headers, so that a new function is called as soon as it is declared.
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/agent.h"
#include "fgsf/archive.h"
#include "fgsf/bellman.h"
#include "fgsf/envs.h"
#include "fgsf/evaluate.h"
#include "fgsf/feature_set.h"
#include "fgsf/gpe.h"
#include "fgsf/gpi.h"
#include "fgsf/learner.h"
#include "fgsf/run.h"
#include "fgsf/stats.h"
#include "fgsf/trainer.h"
#include "fgsf/version.h"
#include "support_assert.h"

#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-truncation"

#define PATH_TEXT "test_misuse.gguf"

// Good arguments: a trainer that has taken some steps, and what belongs to it.
static fgsf_config config;
static fgsf_trainer *trainer;
static fgsf_agent *agent;
static fgsf_archive *archive;
static fgsf_bellman *bellman;
static fgsf_bellman_params bellman_params;
static fgsf_csv *csv;
static fgsf_device *device;
static fgsf_env *env;
static fgsf_feature_set *feature_set;
static fgsf_gpe *gpe;
static fgsf_learner *learner;
static fgsf_learner_params learner_params;
static fgsf_network *network, *other_network;
static fgsf_network_shape shape;
static fgsf_optimizer *optimizer;
static fgsf_optimizer_params optimizer_params;
static fgsf_parameters parameters;
static fgsf_replay *replay;
static fgsf_reward *reward;
static fgsf_reward_params reward_params;
static fgsf_rng rng;
static fgsf_run *run;
static fgsf_run_id run_id = {"test_misuse.runs", "four_rooms", "fg-sfrql", "", 0};
static fgsf_stats_bootstrap_params bootstrap;
static float buffer[1 << 18]; // room for everything that is written through a pointer
static void *slot;

static const double weights[4] = {1, 2, 3, 4};
#define GOOD_agent agent
#define GOOD_archive archive
#define GOOD_batch                                                                                 \
    (&(fgsf_batch){.pairs = 2,                                                                     \
                   .s = buffer,                                                                    \
                   .a = (int32_t *)buffer,                                                         \
                   .y = buffer,                                                                    \
                   .s_next = buffer,                                                               \
                   .a_next = (int32_t *)buffer,                                                    \
                   .discount = buffer})
#define GOOD_bool (&(bool){false})
#define GOOD_bellman bellman
#define GOOD_bellman_params (&bellman_params)
#define GOOD_choice ((fgsf_choice *)buffer)
#define GOOD_config (&config)
#define GOOD_csv csv
#define GOOD_device device
#define GOOD_env env
#define GOOD_env_def fgsf_env_def_at(0)
#define GOOD_eval_rows (&(fgsf_eval_rows){0})
#define GOOD_experience (&(fgsf_experience){.s = buffer, .s_next = buffer, .phi = buffer})
#define GOOD_feature_set feature_set
#define GOOD_feature_set_params                                                                    \
    (&(fgsf_feature_set_params){FGSF_XI_PROTOTYPES, .num_features = 4, .max_centers = 8,           \
                                .center_threshold = 0.1})
#define GOOD_gpe gpe
#define GOOD_learned (&(fgsf_learned){0})
#define GOOD_learner learner
#define GOOD_learner_params (&learner_params)
#define GOOD_log_row (&(fgsf_log_row){0})
#define GOOD_network network
#define GOOD_network_def fgsf_network_def_at(0)
#define GOOD_network_shape (&shape)
#define GOOD_optimizer optimizer
#define GOOD_optimizer_params (&optimizer_params)
#define GOOD_parameters (&parameters)
#define GOOD_replay replay
#define GOOD_replay_params                                                                         \
    (&(fgsf_replay_params){.capacity = 10, .state_size = 3, .num_features = 2})
#define GOOD_reward reward
#define GOOD_reward_params (&reward_params)
#define GOOD_rng (&rng)
#define GOOD_run run
#define GOOD_run_found (&(fgsf_run_found){0})
#define GOOD_run_id (&run_id)
#define GOOD_run_progress (&(fgsf_run_progress){0})
#define GOOD_run_record (&(fgsf_run_record){0})
#define GOOD_stats_bootstrap_params (&bootstrap)
#define GOOD_stats_interval ((fgsf_stats_interval *)buffer)
#define GOOD_stats_scores (&(fgsf_stats_scores){(double *)buffer, 5, 2})
#define GOOD_stats_wilcoxon_result ((fgsf_stats_wilcoxon_result *)buffer)
#define GOOD_step_result (&(fgsf_step_result){0})
#define GOOD_stretch (&(fgsf_stretch){0, 1, 0.1, 0})
#define GOOD_task (&(fgsf_task){.w = weights})
#define GOOD_trainer trainer
#define GOOD_transition (&(fgsf_transition){.s = buffer, .s_next = buffer, .phi = buffer})

typedef struct misuse {
    const char *text;
    bool must_refuse;
} misuse;

static const misuse calls[] = {
#define FUNCTION(name)
#define CALL(text, refuse, ...) {text, refuse},
#include "misuse_calls.h"
#undef CALL
};
#define NUM_CALLS (int)(sizeof calls / sizeof *calls)

// Makes call number `index`; the result is its status, or -1 where it has none.
static int make(int index) {
    int result = -1, at = 0;
#define CALL(text, refuse, ...)                                                                    \
    if (at++ == index) {                                                                           \
        __VA_ARGS__;                                                                               \
        return result;                                                                             \
    }
#include "misuse_calls.h"
#undef CALL
    return result;
}

static fgsf_status prepare(void) {
    static const char *const set[][2] = {{"train.steps_per_task", "60"},
                                         {"train.batch_size", "4"},
                                         {"train.buffer_capacity", "100"},
                                         {"net.hidden", "4"},
                                         {"env.num_tasks", "2"},
                                         {"eval.episodes", "1"},
                                         {"eval.horizon", "2"}};
    fgsf_run_found found;
    fgsf_status status = fgsf_envs_register();
    if (status == FGSF_OK) {
        status = fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &config);
    }
    for (size_t i = 0; i < sizeof set / sizeof *set && status == FGSF_OK; i++) {
        status = fgsf_config_set(&config, set[i][0], set[i][1], "test");
    }
    if (status == FGSF_OK) status = fgsf_trainer_create(&config, &trainer);
    for (int i = 0; i < 50 && status == FGSF_OK; i++) status = fgsf_trainer_step(trainer);
    if (status != FGSF_OK) return status;
    agent = fgsf_trainer_agent(trainer);
    learner = fgsf_trainer_learner(trainer);
    learner_params = *fgsf_learner_get_params(learner);
    env = fgsf_trainer_env(trainer, 0);
    device = fgsf_agent_device(agent);
    network = fgsf_agent_network(agent, 0);
    shape = *fgsf_network_get_shape(network);
    fgsf_network_list(&shape, &parameters);
    fgsf_network_shape other = shape;
    other.hidden[0] = 5;
    bellman_params = fgsf_bellman_default_params(&shape);
    optimizer_params = fgsf_optimizer_default_params();
    reward_params = fgsf_reward_default_params(4);
    bootstrap = fgsf_stats_bootstrap_default_params();
    bootstrap.resamples = 10;
    rng = fgsf_rng_make(1, 0);
    fgsf_replay_params ring = {.capacity = 20, .state_size = 3, .num_features = 2, .indexed = true};
    status = fgsf_network_create(&other, &other_network);
    if (status == FGSF_OK) status = fgsf_bellman_create(device, &bellman_params, &bellman);
    if (status == FGSF_OK) status = fgsf_gpe_create(device, &shape, 8, &gpe);
    if (status == FGSF_OK) status = fgsf_optimizer_create(&optimizer_params, network, &optimizer);
    if (status == FGSF_OK) status = fgsf_feature_set_create(GOOD_feature_set_params, &feature_set);
    if (status == FGSF_OK) status = fgsf_replay_create(&ring, &replay);
    for (int i = 0; i < 5 && status == FGSF_OK; i++) {
        status = fgsf_replay_add(replay, GOOD_transition);
    }
    if (status == FGSF_OK) {
        status = fgsf_reward_create(&reward_params, GOOD_task, device, &rng, &reward);
    }
    if (status == FGSF_OK) status = fgsf_archive_create(&archive);
    if (status == FGSF_OK) status = fgsf_run_open(&run_id, &config, true, &found, &run);
    return status == FGSF_OK ? fgsf_csv_open(run, "train.csv", "step", -1, &csv) : status;
}

// In a process of its own: 0 when it is well. The sanitizers end it with 1.
static int judge(int index) {
    alarm(20);
    fgsf_fail(FGSF_OK, "%s", "");
    int status = make(index);
    if (calls[index].must_refuse && status == FGSF_OK) return 101;
    if (status > FGSF_OK && !*fgsf_last_error()) return 102;
    return 0;
}

TEST no_argument_is_too_bad(void) {
    static const char *const why[] = {"crashes", "is not refused", "fails without a message"};
    int bad = 0;
    for (int i = 0; i < NUM_CALLS; i++) {
        fflush(NULL);
        pid_t child = fork();
        ASSERT(child >= 0);
        if (child == 0) _exit(judge(i));
        int status = 0;
        ASSERT_EQ(child, waitpid(child, &status, 0));
        if (status == 0) continue;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        bad++;
        bool known = code == 101 || code == 102;
        printf("%s %s (%d)\n", calls[i].text, why[known ? code - 100 : 0], status);
    }
    printf("%d calls, %d bad\n", NUM_CALLS, bad);
    ASSERT_EQ_FMT(0, bad, "%d");
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    char folder[64];
    snprintf(folder, sizeof folder, "test_misuse.%ld", (long)getpid());
    if (mkdir(folder, 0777) != 0 || chdir(folder) != 0) return 1;
    if (prepare() != FGSF_OK) {
        printf("%s\n", fgsf_last_error());
        return 1;
    }
    RUN_TEST(no_argument_is_too_bad);
    if (chdir("..") == 0) { // what it wrote
        char command[96];
        snprintf(command, sizeof command, "rm -rf %s", folder);
        if (system(command) != 0) return 1;
    }
    GREATEST_MAIN_END();
}
