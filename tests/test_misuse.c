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
#include "require.h"
#include "support_assert.h"

#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-truncation"

#define PATH_TEXT "test_misuse.gguf"
#define CONFIG_TEXT "test_misuse.json"
#define RUNS_TEXT "test_misuse.runs"
#define RUN_TEXT RUNS_TEXT "/four_rooms/fg-sfrql/seed-0"

// Good arguments: a trainer that has taken some steps, and what belongs to it.
static fgsf_config config;
static fgsf_trainer *trainer;
static fgsf_agent *agent;
static fgsf_archive *archive, *reading;
static fgsf_bellman *bellman;
static fgsf_bellman_params bellman_params;
static fgsf_csv *csv;
static fgsf_device *device;
static fgsf_env *env;
static fgsf_feature_set *feature_set;
static fgsf_gpe *gpe;
static fgsf_learner *learner;
static fgsf_learner_params learner_params;
static fgsf_network *network;
static fgsf_network_shape shape;
static fgsf_optimizer *optimizer;
static fgsf_optimizer_params optimizer_params;
static fgsf_parameters parameters;
static fgsf_replay *replay;
static fgsf_reward *reward;
static fgsf_reward_params reward_params;
static fgsf_rng rng;
static fgsf_run *run;
static fgsf_run_id run_id = {RUNS_TEXT, "four_rooms", "fg-sfrql", "", 0};
static fgsf_run_id other_run = {RUNS_TEXT, "four_rooms", "fg-sfrql", "", 1};
static fgsf_stats_bootstrap_params bootstrap;
// Good ones of another environment, and of other sizes.
static fgsf_config *other_config = &(fgsf_config){0};
static fgsf_trainer *other_trainer;
static fgsf_agent *other_agent;
static fgsf_env *other_env;
static fgsf_feature_set *other_feature_set;
static fgsf_learner *other_learner;
static fgsf_network *other_network;
static fgsf_optimizer *other_optimizer;
static fgsf_replay *other_replay;
static fgsf_reward *other_reward;
static float buffer[1 << 18]; // room for everything that is written through a pointer
static void *slot;

static const double weights[4] = {1, 2, 3, 4}, rising[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static double state[64]; // of the environment
#define STATE_SIZE (fgsf_env_get_spec(env)->full_size)
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

// ---- What is done with a struct ------------------------------------------------------------------

// Whatever was accepted has to give numbers.
static fgsf_status need_numbers(const float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i])) _exit(104);
    }
    return FGSF_OK;
}

static fgsf_status use_network(const fgsf_network_shape *p) {
    fgsf_network *net = NULL;
    fgsf_gpe *of = NULL;
    fgsf_bellman *graph = NULL;
    fgsf_bellman_params params = fgsf_bellman_default_params(p);
    float *q = buffer + 4096; // s, rho and q
    FGSF_REQUIRE(fgsf_network_flat_size(p) >= fgsf_network_num_parameters(p));
    fgsf_network_list(p, &(fgsf_parameters){0});
    FGSF_TRY(fgsf_network_create(p, &net));
    FGSF_TRY(fgsf_gpe_create(device, p, 1, &of));
    FGSF_TRY(fgsf_bellman_create(device, &params, &graph));
    return fgsf_gpe_run(of, net, buffer, 1, buffer, 1, q);
}

static fgsf_status use_bellman(const fgsf_bellman_params *p) {
    fgsf_bellman *graph = NULL;
    double loss = NAN;
    fgsf_gradient_need need = fgsf_gradient_needs(p->kind);
    bool other = need.error_network || need.target_network || p->target_network;
    FGSF_TRY(fgsf_bellman_create(device, p, &graph));
    FGSF_TRY(fgsf_bellman_run(graph, GOOD_batch, network, other ? network : NULL, &loss));
    return need_numbers((float[]){(float)loss}, 1);
}

static fgsf_status use_batch(const fgsf_batch *p) {
    double loss = NAN;
    FGSF_TRY(fgsf_bellman_run(bellman, p, network, NULL, &loss));
    return need_numbers((float[]){(float)loss}, 1);
}

static fgsf_status use_feature_set(const fgsf_feature_set_params *p) {
    fgsf_feature_set *set = NULL;
    int index = 0;
    FGSF_TRY(fgsf_feature_set_create(p, &set));
    fgsf_feature_set_nearest(set, buffer);
    return fgsf_feature_set_index(set, buffer, &index);
}

static fgsf_status use_learner(const fgsf_learner_params *p) {
    fgsf_learner *l = NULL;
    fgsf_learned learned = {0};
    int action = 0;
    FGSF_TRY(fgsf_learner_create(p, &l));
    FGSF_TRY(fgsf_learner_add_task(l));
    for (int i = 0; i < 10; i++) FGSF_TRY(fgsf_learner_observe(l, GOOD_experience));
    for (int i = 0; i < 3; i++) FGSF_TRY(fgsf_learner_learn(l, 0, &learned));
    FGSF_TRY(fgsf_learner_act(l, 0, buffer, 0.0, &action));
    const fgsf_network *net = fgsf_agent_network(fgsf_learner_agent(l), 0);
    return need_numbers(fgsf_network_parameters(net), fgsf_network_size(net));
}

static fgsf_status use_agent(const fgsf_agent_params *p) {
    fgsf_learner_params params = learner_params;
    params.agent = *p;
    return use_learner(&params);
}

static fgsf_status use_optimizer(const fgsf_optimizer_params *p) {
    fgsf_optimizer *opt = NULL;
    FGSF_TRY(fgsf_optimizer_create(p, network, &opt));
    float *gradient = buffer + 4096; // not zero
    for (size_t i = 0; i < fgsf_network_size(network); i++) gradient[i] = 0.5f;
    for (int i = 0; i < 3; i++) FGSF_TRY(fgsf_optimizer_step(opt, network, gradient, 0.1, NULL));
    return need_numbers(fgsf_network_parameters(network), fgsf_network_size(network));
}

static fgsf_status use_stretch(const fgsf_stretch *p) {
    FGSF_TRY(fgsf_optimizer_step_stretches(optimizer, network, buffer, p, 1, NULL));
    return need_numbers(fgsf_network_parameters(network), fgsf_network_size(network));
}

static fgsf_status use_replay(const fgsf_replay_params *p) {
    fgsf_replay *r = NULL;
    int64_t slots[4];
    FGSF_TRY(fgsf_replay_create(p, &r));
    FGSF_TRY(fgsf_replay_add(r, GOOD_transition));
    fgsf_replay_sample(r, &rng, 4, slots);
    fgsf_replay_matching(r, &rng, slots[0], 4, true, slots);
    return FGSF_OK;
}

// As it is, and as each model.
static fgsf_status use_reward(const fgsf_reward_params *p) {
    fgsf_status first = FGSF_OK;
    for (int model = FGSF_REWARD_LINEAR_LMS; model <= FGSF_REWARD_MLP + 1; model++) {
        fgsf_reward *r = NULL;
        fgsf_reward_params params = *p;
        if (model <= FGSF_REWARD_MLP) params.model = (enum fgsf_reward_model)model;
        fgsf_status status = fgsf_reward_create(&params, GOOD_task, device, &rng, &r);
        for (int i = 0; i < 3 && status == FGSF_OK; i++) {
            status = fgsf_reward_update(r, (float[]){1, 2, 3, 4}, 1.0);
        }
        float value = status == FGSF_OK ? (float)fgsf_reward_predict(r, buffer) : 0.0f;
        need_numbers(&value, 1);
        if (first == FGSF_OK) first = status;
    }
    return first;
}

// A run that was begun must be found again.
static fgsf_status use_run(const fgsf_run_id *id, const fgsf_run_progress *progress) {
    fgsf_run *of = NULL;
    fgsf_run_found found;
    FGSF_TRY(fgsf_run_open(id, &config, true, &found, &of));
    if (!of) return FGSF_OK; // this program has it
    FGSF_TRY(fgsf_run_update(of, progress));
    fgsf_run_close(of);
    of = NULL;
    if (fgsf_run_open(id, &config, true, &found, &of) != FGSF_OK || !of) _exit(105);
    return FGSF_OK;
}

static fgsf_status use_config(const fgsf_config *p) {
    fgsf_trainer *t = NULL;
    fgsf_eval_rows rows = {0};
    FGSF_TRY(fgsf_trainer_create(p, &t));
    for (int i = 0; i < 20; i++) FGSF_TRY(fgsf_trainer_step(t));
    return p->eval.episodes > 10 || p->eval.horizon > 100
               ? FGSF_OK
               : fgsf_evaluate(fgsf_trainer_agent(t), p, FGSF_EVAL_LEARNED, 0.0, &rows);
}

// Rows that are not there must not be written to.
static fgsf_status use_eval_rows(const fgsf_eval_rows *p) {
    fgsf_eval_rows rows = *p;
    fgsf_status status = fgsf_evaluate(agent, &config, FGSF_EVAL_LEARNED, 0.0, &rows);
    if (status == FGSF_OK) free(rows.rows);
    return status;
}

static fgsf_status use_scores(const fgsf_stats_scores *p,
                              const fgsf_stats_bootstrap_params *params) {
    fgsf_stats_interval interval;
    return fgsf_stats_mean_interval(p, params, &rng, &interval);
}

// A definition with one key, which is then set to its default.
static fgsf_env_def env_def;
static fgsf_status use_key(const fgsf_key *p) {
    static fgsf_key key;
    static fgsf_env_def def;
    fgsf_config cfg;
    key = *p;
    def = env_def;
    def.keys = &key;
    def.num_keys = 1;
    FGSF_TRY(fgsf_env_register(&def));
    FGSF_TRY(fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg));
    return fgsf_config_set(&cfg, "env.name", def.name, "test");
}

static fgsf_network_def network_def;

#define GOOD_agent_params (&learner_params.agent)
#undef GOOD_env_def
#define GOOD_env_def (&env_def)
#undef GOOD_network_def
#define GOOD_network_def (&network_def)
#define USE_network_shape use_network
#define USE_agent_params use_agent
#define USE_bellman_params use_bellman
#define USE_batch use_batch
#define USE_feature_set_params use_feature_set
#define USE_learner_params use_learner
#define USE_experience(p) fgsf_learner_observe(learner, p)
#define USE_optimizer_params use_optimizer
#define USE_stretch use_stretch
#define USE_transition(p) fgsf_replay_add(replay, p)
#define USE_replay_params use_replay
#define USE_reward_params use_reward
#define USE_run_id(p) use_run(p, GOOD_run_progress)
#define USE_run_progress(p) use_run(&other_run, p)
#define USE_stats_scores(p) use_scores(p, &bootstrap)
#define USE_stats_bootstrap_params(p) use_scores(GOOD_stats_scores, p)
#define USE_eval_rows use_eval_rows
#define USE_config use_config
#define USE_env_def fgsf_env_register
#define USE_network_def fgsf_network_register
#define GOOD_key (&(fgsf_key){"env.one", FGSF_KEY_INT, 8, "1", 0, 9, NULL, "One."})
#define USE_key use_key

enum end { ANY, WELL, REFUSED };

typedef struct misuse {
    const char *text;
    enum end end; // how it must
} misuse;

static const misuse calls[] = {
#define FUNCTION(name)
#define CALL(text, end, ...) {text, end},
#include "misuse_calls.h"
#include "misuse_fields.h"
#undef CALL
};
#define NUM_CALLS (int)(sizeof calls / sizeof *calls)

// Makes call number `index`; the result is its status, or -1 where it has none.
static int make(int index) {
    int result = -1, at = 0;
#define CALL(text, end, ...)                                                                       \
    if (at++ == index) {                                                                           \
        __VA_ARGS__;                                                                               \
        return result;                                                                             \
    }
#include "misuse_calls.h"
#include "misuse_fields.h"
#undef CALL
    return result;
}

// One to write, one to read.
static fgsf_status prepare_archives(void) {
    fgsf_archive *saved = NULL;
    FGSF_TRY(fgsf_archive_create(&archive));
    FGSF_TRY(fgsf_archive_create(&saved));
    fgsf_archive_put_int(saved, "int", 1);
    fgsf_archive_put_real(saved, "real", 1.0);
    fgsf_archive_put_text(saved, "text", "x");
    fgsf_archive_put(saved, "array", FGSF_F32, buffer, 8);
    fgsf_replay_save(replay, saved, "replay");
    FGSF_TRY(fgsf_archive_save(saved, "test_misuse.saved"));
    fgsf_archive_free(saved);
    return fgsf_archive_open("test_misuse.saved", &reading);
}

static bool write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

static fgsf_status prepare_others(void) {
    fgsf_network_shape other = shape;
    other.hidden[0] = 5;
    fgsf_replay_params ring = {.capacity = 7, .state_size = 2, .num_features = 1};
    fgsf_feature_set_params set = *GOOD_feature_set_params;
    set.num_features = 3;
    fgsf_reward_params params = fgsf_reward_default_params(3);
    FGSF_REQUIRE(write_text("test_misuse.map", "_1.G\n....\n"));
    *other_config = config;
    FGSF_TRY(fgsf_config_set(other_config, "env.map", "test_misuse.map", "test"));
    FGSF_TRY(fgsf_trainer_create(other_config, &other_trainer));
    FGSF_TRY(fgsf_trainer_step(other_trainer));
    other_agent = fgsf_trainer_agent(other_trainer);
    other_learner = fgsf_trainer_learner(other_trainer);
    other_env = fgsf_trainer_env(other_trainer, 0);
    FGSF_TRY(fgsf_network_create(&other, &other_network));
    FGSF_TRY(fgsf_optimizer_create(&optimizer_params, other_network, &other_optimizer));
    FGSF_TRY(fgsf_replay_create(&ring, &other_replay));
    FGSF_TRY(fgsf_feature_set_create(&set, &other_feature_set));
    return fgsf_reward_create(&params, NULL, device, &rng, &other_reward);
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
    FGSF_REQUIRE(write_text(CONFIG_TEXT, "{}"));
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
    fgsf_env_get_state(env, state);
    device = fgsf_agent_device(agent);
    network = fgsf_agent_network(agent, 0);
    shape = *fgsf_network_get_shape(network);
    fgsf_network_list(&shape, &parameters);
    bellman_params = fgsf_bellman_default_params(&shape);
    optimizer_params = fgsf_optimizer_default_params();
    reward_params = fgsf_reward_default_params(4);
    bootstrap = fgsf_stats_bootstrap_default_params();
    bootstrap.resamples = 10;
    rng = fgsf_rng_make(1, 0);
    fgsf_replay_params ring = {.capacity = 20, .state_size = 3, .num_features = 2, .indexed = true};
    env_def = *fgsf_env_def_find("four_rooms");
    env_def.name = "of-the-test";
    network_def = fgsf_network_mlp;
    network_def.name = "of-the-test";
    status = prepare_others();
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
    if (status == FGSF_OK) status = prepare_archives();
    if (status == FGSF_OK) status = fgsf_run_open(&run_id, &config, true, &found, &run);
    return status == FGSF_OK ? fgsf_csv_open(run, "train.csv", "step", -1, &csv) : status;
}

// In a process of its own: 0 when it is well. The sanitizers end it with 1.
static int judge(int index) {
    alarm(20);
    fgsf_fail(FGSF_OK, "%s", "");
    int status = make(index);
    if (calls[index].end == REFUSED && status == FGSF_OK) return 101;
    if (status > FGSF_OK && !*fgsf_last_error()) return 102;
    if (calls[index].end == WELL && status != FGSF_OK) {
        printf("%s\n", fgsf_last_error());
        fflush(stdout);
        return 103;
    }
    return 0;
}

TEST no_argument_is_too_bad(void) {
    static const char *const why[] = {"crashes",
                                      "is not refused",
                                      "fails without a message",
                                      "is refused",
                                      "gives a number that is none",
                                      "leaves a run that cannot be opened"};
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
        bool known = code > 100 && code < 106;
        printf("%s %s (%d)\n", calls[i].text, why[known ? code - 100 : 0], status);
    }
    printf("%d calls, %d bad\n", NUM_CALLS, bad);
    ASSERT_EQ_FMT(0, bad, "%d");
    PASS();
}

// What is refused leaves everything as it was, and a NaN does not become a number on its way.
TEST a_nan_is_refused_and_changes_nothing(void) {
    const float bad[] = {NAN, INFINITY};
    int policies, action;
    fgsf_choice choice;
    float *state_f32 = buffer, *rho = buffer + 100, *out = buffer + 200;
    memset(buffer, 0, 4096);
    ASSERT_EQ(FGSF_RELU, shape.activation); // which makes a zero of NaN
    for (int i = 0; i < 2; i++) {
        state_f32[1] = bad[i];
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_agent_q(agent, 0, NULL, state_f32, out, &policies));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_agent_act(agent, 0, NULL, state_f32, &rng, &choice));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_agent_features(agent, 0, 0, state_f32, out));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_learner_act(learner, 0, state_f32, 0.0, &action));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_gpe_run(gpe, network, rho, 1, state_f32, 1, out));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_gpe_run_plain(gpe, network, rho, 1, state_f32, 1, out));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_gpe_representation(gpe, network, state_f32, 1, out));
        state_f32[1] = 0.0f;
        rho[0] = bad[i];
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_agent_act(agent, 0, rho, state_f32, &rng, &choice));
        rho[0] = 0.0f;
        ASSERT_OK(fgsf_agent_act(agent, 0, rho, state_f32, &rng, &choice));
    }
    float before = fgsf_agent_rho(agent, 0)[0];
    double predicted = fgsf_reward_predict(reward, (float[]){1, 0, 0, 0});
    int64_t count = fgsf_replay_count(fgsf_learner_replay(learner));
    for (int which = 0; which < 3; which++) {
        float arrays[3][64] = {{0}};
        arrays[which][0] = NAN;
        fgsf_experience e = {.s = arrays[0], .s_next = arrays[1], .phi = arrays[2], .reward = 1.0};
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_learner_observe(learner, &e));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_update(reward, arrays[which], 1.0));
    }
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_reward_update(reward, buffer, NAN));
    ASSERT_EQ(before, fgsf_agent_rho(agent, 0)[0]);
    ASSERT_EQ(predicted, fgsf_reward_predict(reward, (float[]){1, 0, 0, 0}));
    ASSERT_EQ(count, fgsf_replay_count(fgsf_learner_replay(learner)));
    PASS();
}

// What a key needs, depending on its type.
TEST keys_that_cannot_be_are_refused(void) {
    size_t room = env_def.params_size;
    const fgsf_key bad[] = {
        {"env.one", FGSF_KEY_CHOICE, 0, "a", 0, 0, NULL, "No choices."},
        {"env.one", FGSF_KEY_TEXT, 0, "a", 0, 1e9, NULL, "Too long."},
        {"env.one", FGSF_KEY_TEXT, 0, "a", 0, 0, NULL, "No room."},
        {"env.one", FGSF_KEY_TEXT, room - 8, "a", 0, 16, NULL, "Ends behind the parameters."},
        {"env.one", FGSF_KEY_INT, room - 4, "1", 0, 9, NULL, "Ends behind the parameters."},
        {"env.one", FGSF_KEY_INT_LIST, room - 8, "1", 0, 9, NULL, "Ends behind the parameters."}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQ_FMTm(bad[i].doc, FGSF_ERR_INVALID, use_key(&bad[i]), "%d");
        ASSERT(strstr(fgsf_last_error(), "does not fit into the parameters"));
    }
    ASSERT_OK(use_key(GOOD_key));
    PASS();
}

// Errors of the calls that put something are kept for the one that saves.
TEST an_archive_that_lacks_something_is_not_saved(void) {
    for (int i = 0; i < 4; i++) {
        fgsf_archive *one = NULL;
        ASSERT_OK(fgsf_archive_create(&one));
        fgsf_archive_put_int(one, "first", 1);
        if (i == 0) fgsf_archive_put_text(one, "name", NULL);
        if (i == 1) fgsf_archive_put(one, "name", FGSF_F32, NULL, 8);
        if (i == 2) fgsf_archive_put(one, "name", FGSF_F32, buffer, SIZE_MAX / 2);
        if (i == 3) fgsf_archive_put_real(one, NULL, 1.0);
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_archive_save(one, "lacking.gguf"));
        ASSERT_EQ(-1, access("lacking.gguf", F_OK));
        fgsf_archive_free(one);
    }
    PASS();
}

// `present` is of pairs, also where they name their states.
TEST only_samples_that_are_present_must_be_finite(void) {
    fgsf_bellman *graph = NULL;
    fgsf_bellman_params params = bellman_params;
    params.max_states = params.max_pairs = 3;
    params.samples = 2;
    ASSERT_OK(fgsf_bellman_create(device, &params, &graph));
    size_t input = (size_t)shape.input;
    float *s_next = buffer + 4096;
    memset(buffer, 0, sizeof buffer);
    const int32_t present[3] = {1, 2, 2}, named[3] = {1, 0, 0};
    fgsf_batch batch = {.pairs = 3,
                        .s = buffer,
                        .a = (int32_t *)buffer,
                        .y = buffer,
                        .s_next = s_next,
                        .a_next = (int32_t *)buffer,
                        .discount = buffer,
                        .present = present,
                        .state = named,
                        .states = 2};
    double loss = NAN;
    for (int sample = 0; sample < 4;
         sample++) { // the second of state 1 belongs to pair 0, which has one
        s_next[(size_t)sample * input] = NAN;
        fgsf_status expected = sample == 3 ? FGSF_OK : FGSF_ERR_INVALID;
        ASSERT_EQ_FMT(expected, fgsf_bellman_run(graph, &batch, network, NULL, &loss), "%d");
        s_next[(size_t)sample * input] = 0.0f;
    }
    fgsf_bellman_free(graph);
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
    RUN_TEST(a_nan_is_refused_and_changes_nothing);
    RUN_TEST(keys_that_cannot_be_are_refused);
    RUN_TEST(an_archive_that_lacks_something_is_not_saved);
    RUN_TEST(only_samples_that_are_present_must_be_finite);
    if (chdir("..") == 0) { // what it wrote
        char command[96];
        snprintf(command, sizeof command, "rm -rf %s", folder);
        if (system(command) != 0) return 1;
    }
    GREATEST_MAIN_END();
}
