// The configuration: presets and methods against a table typed from the specification, precedence,
// bad input, combinations.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config_expected.h"
#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "four_rooms.h"
#include "support_config.h"

static const char *const methods[] = {"dqn",
                                      "fg-dqn",
                                      "sfrql",
                                      "fg-sfrql",
                                      "fg-sfrql-random",
                                      "fg-sfrql-average",
                                      "fg-sfrql-seq-average"};
static const char *const presets[] = {"clean", "compat", "paper"};

// Defaults of the list of other keys, for any method of clean.
static const char *const defaults[][2] = {
    {"train.gamma", "0.95"},
    {"train.horizon", "200"},
    {"train.buffer_capacity", "200000"},
    {"train.log_every", "200"},
    {"train.checkpoint_every", "1000"},
    {"explore.epsilon", "0.6"},
    {"net.activation", "relu"},
    {"net.bias", "true"},
    {"opt.rm_k0", "1000"},
    {"opt.rm_power", "0.75"},
    {"target.polyak", "0.005"},
    {"sf.xi_max_centers", "64"},
    {"sf.xi_center_threshold", "0.05"},
    {"sf.xi_bins", "8"},
    {"sf.next_action_current", "gpi"},
    {"avg.key", "exact"},
    {"avg.grid_pitch", "0.05"},
    {"avg.min_stored", "1"},
    {"avg.source", "stored"},
    {"env.centre_features", "false"},
    {"env.slip", "0"},
    {"eval.horizon", "100"},
    {"reward.alpha_w", "0.5"},
    {"seed", "0"},
};

// Defaults of the environments' own keys, in clean.
static const char *const env_defaults[][3] = {
    {"four_rooms", "env.map", ""},
    {"four_rooms", "env.step_cost", "0"},
    {"point_maze", "env.map", ""},
    {"point_maze", "env.layout", "umaze"},
    {"point_maze", "env.goals", ""},
    {"point_maze", "env.listed_goals", "false"},
    {"point_maze", "env.goal_in_state", "true"},
    {"point_maze", "env.goal_noise", "0"},
    {"point_maze", "env.terminate_on_goal", "false"},
    {"reacher", "env.goals", ""},
    {"reacher", "env.reacher_dynamics", "bullet"},
    {"reacher", "env.reacher_target_in_state", "false"},
    {"reacher", "env.reacher_lag", "false"},
};

TEST every_cell_of_the_specification(void) {
    int cells = 0;
    for (size_t r = 0; r < sizeof expected / sizeof *expected; r++) {
        for (int p = 0; p < 3; p++) {
            if (!strstr(expected[r].presets, presets[p])) continue;
            for (int m = 0; m < 7; m++) {
                if (strcmp(expected[r].value[m], "-") == 0) continue;
                fgsf_config cfg = made(presets[p], methods[m]);
                char where[160];
                snprintf(where, sizeof where, "%s, %s, %s", expected[r].key, presets[p],
                         methods[m]);
                ASSERT_STR_EQm(where, expected[r].value[m], value_of(&cfg, expected[r].key));
                cells++;
            }
        }
    }
    ASSERT_EQ_FMT(540, cells, "%d");
    PASS();
}

TEST defaults_of_the_other_keys(void) {
    fgsf_config cfg = made("clean", "fg-sfrql");
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        ASSERT_STR_EQm(defaults[i][0], defaults[i][1], value_of(&cfg, defaults[i][0]));
    }
    for (size_t i = 0; i < sizeof env_defaults / sizeof *env_defaults; i++) {
        if (!fgsf_env_def_find(env_defaults[i][0])) continue;
        cfg = made_for(env_defaults[i][0], "clean", "fg-sfrql");
        ASSERT_STR_EQm(env_defaults[i][1], env_defaults[i][2], value_of(&cfg, env_defaults[i][1]));
    }
    if (fgsf_config_resolve("point_maze", "compat", "sfrql", &cfg) == FGSF_OK) {
        ASSERT_STR_EQ("true", value_of(&cfg, "env.listed_goals"));
        ASSERT_STR_EQ("0.25", value_of(&cfg, "env.goal_noise"));
        ASSERT_STR_EQ("true", value_of(&cfg, "env.terminate_on_goal"));
        ASSERT_STR_EQ("200", value_of(&cfg, "eval.horizon"));
    }
    if (fgsf_config_resolve("reacher", "compat", "sfrql", &cfg) == FGSF_OK) {
        ASSERT_STR_EQ("true", value_of(&cfg, "env.reacher_lag"));
    }
    PASS();
}

TEST clean_pairs_differ_in_the_gradient_alone(void) {
    const char *pairs[][2] = {{"sfrql", "fg-sfrql"}, {"dqn", "fg-dqn"}};
    for (int i = 0; i < 2; i++) {
        fgsf_config a = made("clean", pairs[i][0]), b = made("clean", pairs[i][1]);
        ASSERT_EQ(FGSF_SEMI, a.learner.gradient.kind);
        ASSERT_EQ(FGSF_FULL, b.learner.gradient.kind);
        a.learner.gradient.kind = FGSF_FULL;
        a.method = b.method;
        ASSERT_EQ(fgsf_config_hash(&a), fgsf_config_hash(&b));
    }
    PASS();
}

TEST every_preset_and_method_is_valid(void) {
    for (int p = 0; p < 3; p++) {
        for (int m = 0; m < 7; m++) {
            for (int e = -1; e < 0 || fgsf_env_def_at(e); e++) {
                fgsf_config cfg;
                const char *env = e < 0 ? NULL : fgsf_env_def_at(e)->name;
                ASSERT_EQm(fgsf_last_error(), FGSF_OK,
                           fgsf_config_resolve(env, presets[p], methods[m], &cfg));
                ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_validate(&cfg));
            }
        }
    }
    PASS();
}

// Sizes are the environment's in every preset and for every method.
TEST sizes_come_from_the_environment(void) {
    static const struct {
        const char *env;
        int64_t steps, tasks, batch;
    } sizes[] = {
        {"four_rooms", 10000, 6, 64}, {"reacher", 100000, 4, 64}, {"point_maze", 30000, 8, 512}};
    for (int i = 0; i < 3; i++) {
        if (!fgsf_env_def_find(sizes[i].env)) continue;
        for (int p = 0; p < 3; p++) {
            for (int m = 0; m < 7; m++) {
                fgsf_config cfg;
                ASSERT_EQ(FGSF_OK, fgsf_config_resolve(sizes[i].env, presets[p], methods[m], &cfg));
                ASSERT_STR_EQ(sizes[i].env, cfg.env.name);
                ASSERT_EQ(sizes[i].steps, cfg.train.steps_per_task);
                ASSERT_EQ(sizes[i].tasks, cfg.env.num_tasks);
                ASSERT_EQ(sizes[i].batch, cfg.learner.batch_size);
                ASSERT_EQ(200000, cfg.learner.buffer_capacity);
                ASSERT_EQ(200, cfg.train.horizon);
                ASSERT_EQ(0.95, cfg.learner.gamma);
                ASSERT_EQ(0.6, cfg.explore.epsilon);
            }
        }
    }
    PASS();
}

TEST later_steps_win(void) {
    fgsf_config cfg = made("compat", "dqn");
    ASSERT_EQ(0.0, cfg.learner.opt.clip); // method over default
    ASSERT_EQ(0.03, cfg.eval.epsilon);    // preset over default
    ASSERT_EQ(FGSF_OK,
              fgsf_config_parse(&cfg, "{\"eval.epsilon\": 0.5, \"opt\": {\"eps\": 1}}", "f"));
    ASSERT_EQ(0.5, cfg.eval.epsilon);
    ASSERT_EQ(1.0, cfg.learner.opt.eps);
    ASSERT_EQ(FGSF_OK, fgsf_config_set(&cfg, "eval.epsilon", "0.25", "--set"));
    ASSERT_EQ(0.25, cfg.eval.epsilon);
    PASS();
}

TEST unknown_names_are_errors_with_a_suggestion(void) {
    fgsf_config cfg = made_for("four_rooms", "clean", "fg-sfrql"), before = cfg;
    static const char *const wrong[][2] = {{"gradient.knd", "'gradient.kind'"},
                                           {"eta", "'gradient.eta'"},
                                           {"train.batch", "'train.batch_size'"},
                                           {"target.doubel", "'target.double'"},
                                           {"step_cost", "'env.step_cost'"},
                                           {"env.goal_noise", "unknown key"},
                                           {"SF.LR", ""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, wrong[i][0], "1", "--set"));
        ASSERT(says(wrong[i][0]));
        ASSERT(says("--set"));
        ASSERT(says(wrong[i][1]));
    }
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "", "1", "--set"));
    ASSERT_EQ(0, memcmp(&cfg, &before, sizeof cfg));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_resolve("atari", "clean", "dqn", &cfg));
    ASSERT(says("atari"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_resolve(NULL, "tidy", "dqn", &cfg));
    ASSERT(says("clean|compat|paper"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_resolve(NULL, "clean", "ppo", &cfg));
    ASSERT(says("fg-sfrql"));
    ASSERT_EQ(0, memcmp(&cfg, &before, sizeof cfg));
    PASS();
}

// Keys that had another name once: the message says the new one.
TEST renamed_keys_say_their_new_name(void) {
    static const char *const old[][2] = {
        {"sf.grad_mix", "gradient.kind=semi, full, or mix with gradient.eta"},
        {"sf.target_mode", "target.mode"},
        {"sf.target_period", "target.period"},
        {"dqn.target_period", "target.period"},
        {"sf.polyak", "target.polyak"},
        {"dqn.double", "target.double"},
        {"sf.loss_scale", "loss.scale"},
        {"sf.gpi_scope", "gpi.scope"},
        {"sf.representation", "representation"},
    };
    fgsf_config cfg = made("clean", "fg-sfrql"), before = cfg;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        char message[160], json[80];
        snprintf(message, sizeof message, "key '%s' is now %s", old[i][0], old[i][1]);
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, old[i][0], "1", "--set"));
        ASSERT(says("--set") && says(message));
        snprintf(json, sizeof json, "{\"%s\": 1}", old[i][0]);
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_parse(&cfg, json, "my.json"));
        ASSERT(says("my.json") && says(message));
        ASSERT_EQ(0, memcmp(&cfg, &before, sizeof cfg));
    }
    PASS();
}

// Another environment has other keys: its defaults come with it.
TEST the_name_of_the_environment_decides_its_keys(void) {
    fgsf_config cfg = made_for("four_rooms", "clean", "fg-sfrql");
    ASSERT_OK(fgsf_config_set(&cfg, "env.step_cost", "0.5", "--set"));
    ASSERT_OK(fgsf_config_set(&cfg, "env.name", "four_rooms", "--set")); // no other one
    ASSERT_STR_EQ("0.5", value_of(&cfg, "env.step_cost"));
    ASSERT_OK(fgsf_config_set(&cfg, "env.name", "", "--set"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "env.step_cost", "1", "--set"));
    ASSERT(says("env.step_cost"));
    ASSERT_OK(fgsf_config_set(&cfg, "env.name", "four_rooms", "--set"));
    ASSERT_STR_EQ("0", value_of(&cfg, "env.step_cost"));
    // In a file it counts wherever it stands.
    cfg = made("clean", "fg-sfrql");
    ASSERT_OK(
        fgsf_config_parse(&cfg, "{\"env\": {\"step_cost\": 0.25, \"name\": \"four_rooms\"}}", "f"));
    ASSERT_STR_EQ("0.25", value_of(&cfg, "env.step_cost"));
    PASS();
}

TEST bad_values_are_refused_and_change_nothing(void) {
    static const char *const bad[][2] = {
        {"sf.lr", ""},           {"sf.lr", "abc"},
        {"sf.lr", "1x"},         {"sf.lr", " 1"},
        {"sf.lr", "1 "},         {"sf.lr", "nan"},
        {"sf.lr", "inf"},        {"sf.lr", "1e999"},
        {"sf.lr", "0x10"},       {"sf.lr", "-1"},
        {"sf.lr", "1,5"},        {"train.gamma", "1"},
        {"train.gamma", "1.5"},  {"avg.n", "2.5"},
        {"avg.n", "0"},          {"avg.n", "1e3"},
        {"avg.n", "batch"},      {"avg.n", "99999999999999999999999"},
        {"avg.n", "-"},          {"avg.n", "+1"},
        {"avg.pivots", "all"},   {"avg.pivots", "-1"},
        {"net.bias", "yes"},     {"net.bias", "1"},
        {"net.bias", ""},        {"sf.tie", "first"},
        {"gpi.tie", "firs"},     {"gpi.tie", ""},
        {"gpi.tie", "first|"},   {"gpi.tie", "first|random"},
        {"net.hidden", "0"},     {"net.hidden", "1,"},
        {"net.hidden", ",1"},    {"net.hidden", "[1"},
        {"net.hidden", "1,,2"},  {"net.hidden", "1,2,3,4,5,6,7,8,9"},
        {"net.hidden", "1.5"},   {"net.hidden", "a"},
        {"net.hidden", "70000"}, {"net.hidden", "1]"},
        {"env.map", "a\nb"},     {"env.map", "\xff\xfe"},
        {"seed", "-1"},          {"seed", "9007199254740992"},
    };
    fgsf_config cfg = made_for("four_rooms", "clean", "fg-sfrql"), before = cfg;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQm(bad[i][1], FGSF_ERR_INVALID,
                   fgsf_config_set(&cfg, bad[i][0], bad[i][1], "--set"));
        ASSERT(says(bad[i][0]));
        ASSERT_EQ(0, memcmp(&cfg, &before, sizeof cfg));
    }
    char large[2000];
    memset(large, 'a', sizeof large);
    large[sizeof large - 1] = '\0';
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "env.map", large, "--set"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "sf.lr", large, "--set"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, large, "1", "--set"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "net.hidden", large, "--set"));
    PASS();
}

TEST values_have_their_forms(void) {
    fgsf_config cfg = made_for("four_rooms", "clean", "fg-sfrql");
    static const char *const good[][3] = {
        {"net.hidden", "", ""},
        {"net.hidden", "[]", ""},
        {"net.hidden", "7", "7"},
        {"net.hidden", "[3,4,5]", "3,4,5"},
        {"avg.pivots", "batch", "batch"},
        {"avg.pivots", "0", "batch"},
        {"avg.pivots", "3", "3"},
        {"sf.lr", "1E-2", "0.01"},
        {"sf.lr", "-0", "0"},
        {"sf.lr", ".5", "0.5"},
        {"env.map", "", ""},
        {"env.map", "m\xc3\xa4p \"1\"\\", "m\xc3\xa4p \"1\"\\"},
        {"seed", "9007199254740991", "9007199254740991"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ASSERT_EQm(fgsf_last_error(), FGSF_OK,
                   fgsf_config_set(&cfg, good[i][0], good[i][1], "--set"));
        ASSERT_STR_EQ(good[i][2], value_of(&cfg, good[i][0]));
    }
    PASS();
}

// Texts go into JSON and onto terminals: no control characters, as one byte or two, and only UTF-8.
TEST texts_are_plain_utf8(void) {
    static const char *const bad[] = {
        "\033[2J",  "a\nb",         "\x7f",         "\xc2\x9b", "\x9b",
        "\xc0\x80", "\xe0\x82\x9b", "\xed\xa0\x80", "\xe2\x82", "\xf4\x90\x80\x80"};
    fgsf_config cfg = made("clean", "fg-sfrql");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_EQm(bad[i], FGSF_ERR_INVALID, fgsf_config_set(&cfg, "device.name", bad[i], NULL));
        ASSERT(strstr(fgsf_last_error(), "not UTF-8"));
    }
    ASSERT_OK(fgsf_config_set(&cfg, "device.name", "caf\xc3\xa9 \xf0\x9f\x98\x80", NULL));
    PASS();
}

TEST contradictions_are_refused_with_a_reason(void) {
    static const struct {
        const char *preset, *method, *settings, *message;
    } bad[] = {
        {"clean", "fg-sfrql", "reward.model=mlp", "R(E sum phi) is not E sum R(phi)"},
        {"clean", "fg-sfrql-average", "avg.estimator=split avg.n=1", "avg.n >= 2"},
        {"clean", "fg-sfrql", "target.mode=hard", "gradient.kind"},
        {"clean", "fg-sfrql", "env.centre_features=true representation=xi", "has no mean"},
        {"compat", "sfrql", "gradient.kind=mix gradient.eta=0.5", "target.mode"},
        {"compat", "fg-sfrql-average", "avg.estimator=split", "into both halves"},
        {"clean", "sfrql", "net.kind=nothing", "net.kind: no network is called 'nothing'"},
        {"compat", "dqn", "avg.n=5 env.num_tasks=2", "rewards of several tasks"},
        {"clean", "sfrql", "train.buffer_capacity=32", "train.buffer_capacity 32"},
        {"clean", "sfrql", "train.steps_per_task=10 env.num_tasks=2", "20 steps of the run"},
        {"clean", "dqn", "train.steps_per_task=10 env.num_tasks=20", "10 steps of a task"},
        {"clean", "sfrql", "sf.group_by_prior=true sf.update_set=all", "i_and_c"},
        {"clean", "fg-sfrql-average", "sf.group_by_prior=true", "pivots"},
        {"clean", "fg-sfrql-random", "sf.init_from=previous", "no trained network"},
        {"clean", "fg-sfrql-average", "avg.pivot_source=current", "avg.pivots=1"},
        {"clean", "fg-sfrql-average", "avg.n=1000 train.buffer_capacity=100", "avg.n 1000"},
        {"clean", "fg-sfrql-random", "train.buffer_reset_on_task=true", "every draw"},
        {"clean", "dqn", "tasks.schedule=random_step", "every draw"},
        {"clean", "dqn", "target.double=true", "plain DQN"},
        {"clean", "dqn", "dqn.task_input=onehot", "dqn.per_task=false"},
        {"clean", "dqn", "train.buffer_reset_on_task=false env.num_tasks=2", "other tasks'"},
        {"clean", "dqn", "dqn.relabel=true", "relabel"},
        {"clean", "corrected-sfrql", "target.mode=polyak", "target.mode with gradient.kind"},
        {"clean", "dqn", "gradient.kind=gtd2 target.mode=hard", "target.mode with gradient.kind"},
        {"clean", "fg-sfrql", "gradient.kind=mix", "is full: set gradient.eta"},
        {"clean", "fg-dqn", "gradient.kind=mix gradient.eta=0", "is semi: set gradient.eta"},
        {"clean", "sfrql", "gradient.kind=bidirectional", "needs a target network"},
        {"clean", "dqn", "gradient.kind=convergent", "needs a target network"},
        {"clean", "fg-sfrql-average", "gradient.kind=corrected", "set avg.n=1"},
        {"clean", "fg-dqn", "gradient.kind=gtd2 avg.n=2", "set avg.n=1"},
        {"clean", "fg-sfrql-average",
         "gradient.kind=convergent target.mode=hard avg.estimator=critic_only",
         "one set of samples"},
        {"clean", "sfrql", "eval.every=10 eval.episodes=0", "eval.episodes of at least 1"},
        {"clean", "sfrql", "reward.alpha_w=2", "do not converge"},
        {"clean", "sfrql", "diag.psi_error=true", "four_rooms"},
        {"clean", "sfrql", "env.name=nowhere", "nowhere"},
        {"clean", "sfrql", "device.name=", "device.name"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fgsf_config cfg = made(bad[i].preset, bad[i].method);
        char text[200];
        snprintf(text, sizeof text, "%s", bad[i].settings);
        for (char *s = strtok(text, " "); s; s = strtok(NULL, " ")) {
            char *equals = strchr(s, '=');
            *equals = '\0';
            ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_set(&cfg, s, equals + 1, NULL));
        }
        ASSERT_EQm(bad[i].settings, FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
        ASSERT(says(bad[i].message));
    }
    if (fgsf_env_def_find("reacher")) { // the environment is named
        fgsf_config cfg = made_for("reacher", "paper", "fg-sfrql");
        ASSERT_OK(fgsf_config_set(&cfg, "sf.xi_set", "exact", NULL));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
        ASSERT(says("reacher has no finite feature set"));
    }
    fgsf_config good = made("clean", "fg-sfrql");
    fgsf_config_set(&good, "representation", "xi", NULL);
    fgsf_config_set(&good, "reward.model", "mlp", NULL);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_validate(&good));
    good = made("clean", "fg-sfrql-average"); // where the losses share their samples
    fgsf_config_set(&good, "gradient.kind", "convergent", NULL);
    fgsf_config_set(&good, "target.mode", "polyak", NULL);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_validate(&good));
    good = made("clean", "fg-dqn"); // Avrachenkov et al. average over equal (s, a)
    fgsf_config_set(&good, "avg.n", "5", NULL);
    fgsf_config_set(&good, "avg.estimator", "critic_only", NULL);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_config_validate(&good));
    PASS();
}

TEST exploration_follows_its_schedule(void) {
    fgsf_config cfg = made("clean", "dqn");
    cfg.explore.epsilon = 0.2;
    cfg.explore.to = 0.8; // it may rise
    cfg.explore.over = 4;
    ASSERT_EQ_FMT(0.2, fgsf_config_epsilon(&cfg, 3), "%g");
    cfg.explore.schedule = FGSF_EXPLORE_LINEAR;
    const double rates[] = {0.2, 0.35, 0.5, 0.65, 0.8, 0.8};
    for (int step = 0; step < 6; step++) {
        ASSERT_IN_RANGEm("epsilon", rates[step], fgsf_config_epsilon(&cfg, step), 1e-12);
    }
    cfg.explore.over = 1;
    ASSERT_EQ_FMT(0.2, fgsf_config_epsilon(&cfg, 0), "%g");
    ASSERT_EQ_FMT(0.8, fgsf_config_epsilon(&cfg, 1), "%g");
    ASSERT_EQ_FMT(0.8, fgsf_config_epsilon(&cfg, INT64_MAX), "%g");
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "explore.over", "0", NULL));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_set(&cfg, "explore.to", "1.5", NULL));
    PASS();
}

// A struct that someone filled by hand meets the same ranges.
TEST validate_checks_ranges_too(void) {
    fgsf_config cfg = made("clean", "fg-sfrql");
    cfg.learner.gamma = 2;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
    ASSERT(says("train.gamma"));
    cfg = made("clean", "fg-sfrql");
    cfg.learner.lr = NAN;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
    cfg = made("clean", "fg-sfrql");
    cfg.learner.agent.tie = 17;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
    cfg = made("clean", "fg-sfrql");
    cfg.learner.agent.net.num_hidden = 100;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
    cfg = made("clean", "fg-sfrql");
    memset(cfg.net_kind, 'a', sizeof cfg.net_kind);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
    cfg = made_for("four_rooms", "clean", "fg-sfrql"); // its own keys, too
    memset(((fgsf_four_rooms_params *)&cfg.env_params)->map, 'a', FGSF_TEXT_SIZE);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(&cfg));
    ASSERT(says("env.map"));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_validate(NULL));
    PASS();
}

TEST get_reports_a_small_buffer(void) {
    fgsf_config cfg = made("clean", "fg-sfrql");
    char text[4];
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_get(&cfg, "net.hidden", text, sizeof text));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_config_get(&cfg, "nothing", text, sizeof text));
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(every_cell_of_the_specification);
    RUN_TEST(defaults_of_the_other_keys);
    RUN_TEST(clean_pairs_differ_in_the_gradient_alone);
    RUN_TEST(every_preset_and_method_is_valid);
    RUN_TEST(sizes_come_from_the_environment);
    RUN_TEST(later_steps_win);
    RUN_TEST(unknown_names_are_errors_with_a_suggestion);
    RUN_TEST(renamed_keys_say_their_new_name);
    RUN_TEST(the_name_of_the_environment_decides_its_keys);
    RUN_TEST(bad_values_are_refused_and_change_nothing);
    RUN_TEST(values_have_their_forms);
    RUN_TEST(texts_are_plain_utf8);
    RUN_TEST(contradictions_are_refused_with_a_reason);
    RUN_TEST(exploration_follows_its_schedule);
    RUN_TEST(validate_checks_ranges_too);
    RUN_TEST(get_reports_a_small_buffer);
    GREATEST_MAIN_END();
}