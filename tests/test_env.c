// What every environment promises, checked on each that is registered: defaults in every preset,
// ranges, exact restarts, features, encodings, and bits that do not depend on threads.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/env.h"
#include "fgsf/envs.h"
#include "support_assert.h"

#define MAX_SIZE 64

// The environments as tested: registered ones, and settings that change how they work inside.
static const struct {
    const char *env, *preset, *key, *value;
} VARIANTS[] = {
    {"four_rooms", "clean", NULL, NULL},
    {"four_rooms", "clean", "env.slip", "0.2"},
    {"point_maze", "clean", NULL, NULL},
    {"point_maze", "compat", "env.layout", "large"},
    {"reacher", "clean", NULL, NULL},
    {"reacher", "compat", "env.reacher_dynamics", "gymnasium"},
    {"reacher", "clean", "env.slip", "0.2"},
};
#define NUM_VARIANTS (sizeof VARIANTS / sizeof VARIANTS[0])

// Returns NULL for an environment that this build does not have.
static fgsf_env *make(size_t variant) {
    fgsf_config cfg;
    fgsf_env *env = NULL;
    if (!fgsf_env_def_find(VARIANTS[variant].env)) return NULL;
    fgsf_status status =
        fgsf_config_resolve(VARIANTS[variant].env, VARIANTS[variant].preset, "sfrql", &cfg);
    if (status == FGSF_OK && VARIANTS[variant].key) {
        status = fgsf_config_set(&cfg, VARIANTS[variant].key, VARIANTS[variant].value, "test");
    }
    if (status == FGSF_OK) status = fgsf_env_create(&cfg, &env);
    if (status != FGSF_OK) fprintf(stderr, "%s\n", fgsf_last_error());
    return env;
}

TEST every_environment_resolves_in_every_preset(void) {
    static const char *const PRESETS[] = {"clean", "compat", "paper"};
    int count = 0;
    for (const fgsf_env_def *def; (def = fgsf_env_def_at(count)); count++) {
        for (int p = 0; p < 3; p++) {
            fgsf_config cfg;
            fgsf_env *env = NULL;
            ASSERT_EQm(def->name, FGSF_OK,
                       fgsf_config_resolve(def->name, PRESETS[p], "sfrql", &cfg));
            ASSERT_EQm(def->name, FGSF_OK, fgsf_env_create(&cfg, &env));
            const fgsf_env_spec *spec = fgsf_env_get_spec(env);
            ASSERT_EQ(cfg.env.num_tasks, spec->num_tasks);
            ASSERT(spec->full_size >= spec->raw_size && spec->full_size <= MAX_SIZE);
            fgsf_env_free(env);
        }
    }
    ASSERT(count >= 1 && fgsf_env_def_at(-1) == NULL);
    fgsf_env_free(NULL);
    PASS();
}

TEST sizes_are_the_papers(void) {
    static const struct {
        const char *env;
        int steps, tasks, batch;
    } SIZES[] = {
        {"four_rooms", 10000, 6, 64}, {"reacher", 100000, 4, 64}, {"point_maze", 30000, 8, 512}};
    for (int i = 0; i < 3; i++) {
        if (!fgsf_env_def_find(SIZES[i].env)) continue;
        fgsf_config cfg;
        ASSERT_EQ(FGSF_OK, fgsf_config_resolve(SIZES[i].env, "compat", "fg-sfrql", &cfg));
        ASSERT_EQ(SIZES[i].steps, cfg.train.steps_per_task);
        ASSERT_EQ(SIZES[i].tasks, cfg.env.num_tasks);
        ASSERT_EQ(SIZES[i].batch, cfg.learner.batch_size);
        ASSERT(cfg.learner.gamma == 0.95 && cfg.explore.epsilon == 0.6 && cfg.train.horizon == 200);
        ASSERT_EQ(i == 2 ? 200 : 100, cfg.eval.horizon);
        ASSERT_EQ(i == 0 ? FGSF_XI_EXACT : FGSF_XI_PROTOTYPES, cfg.learner.agent.xi.kind);
    }
    PASS();
}

TEST what_is_out_of_range_is_refused(void) {
    fgsf_config cfg;
    fgsf_env *env = NULL;
    memset(&cfg, 0, sizeof cfg);
    strcpy(cfg.env.name, "five_rooms");
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_create(&cfg, &env));
    ASSERT(strstr(fgsf_last_error(),
                  "env.name: no environment is called 'five_rooms'; there are four_rooms"));
    for (size_t v = 0; v < NUM_VARIANTS; v++) {
        if (!(env = make(v))) continue;
        const fgsf_env_spec *spec = fgsf_env_get_spec(env);
        fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
        fgsf_step_result step;
        double before[MAX_SIZE], after[MAX_SIZE];
        fgsf_env_reset(env, &rng);
        fgsf_env_get_state(env, before);
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_task(env, spec->num_tasks + spec->num_heldout));
        ASSERT(strstr(fgsf_last_error(), "task"));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_task(env, -1));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_step(env, spec->num_actions, &rng, &step));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_step(env, -1, &rng, &step));
        ASSERT(strstr(fgsf_last_error(), "action -1"));
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_state(env, before, spec->raw_size - 1));
        memcpy(after, before, sizeof after);
        after[1] = NAN;
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_state(env, after, spec->raw_size));
        fgsf_env_get_state(env, after);
        ASSERT_MEM_EQ(before, after, (size_t)spec->full_size * sizeof *after);
        fgsf_env_free(env);
    }
    PASS();
}

// Takes random steps and folds every number that comes out into one: equal only if all bits are.
typedef struct trace {
    fgsf_env *env;
    uint64_t seed, hash;
    int steps, failures;
} trace;

static void fold(uint64_t *hash, const double *values, int n) {
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        *hash = (*hash ^ bits) * 0x100000001b3u;
        *hash ^= *hash >> 29;
    }
}

static void *follow(void *arg) {
    trace *t = arg;
    const fgsf_env_spec *spec = fgsf_env_get_spec(t->env);
    fgsf_rng rng = fgsf_rng_make(t->seed, FGSF_STREAM_ENV);
    double state[MAX_SIZE];
    t->failures += fgsf_env_reset(t->env, &rng) != FGSF_OK;
    for (int i = 0; i < t->steps; i++) {
        fgsf_step_result step = {0};
        int action = (int)fgsf_rng_below(&rng, (uint64_t)spec->num_actions);
        if (fgsf_env_step(t->env, action, &rng, &step) != FGSF_OK) {
            t->failures++;
            break;
        }
        fgsf_env_observe_f64(t->env, state);
        fold(&t->hash, state, spec->state_size);
        fold(&t->hash, step.phi, spec->num_features);
        fold(&t->hash, &step.reward, 1);
        if (step.terminal || i % 200 == 199) fgsf_env_reset(t->env, &rng);
    }
    return NULL;
}

TEST two_threads_give_the_bits_of_two_serial_runs(void) {
    for (size_t v = 0; v < NUM_VARIANTS; v++) {
        uint64_t serial[2], threaded[2];
        trace t[2];
        pthread_t thread[2];
        for (int mode = 0; mode < 2; mode++) {
            for (int i = 0; i < 2; i++) {
                t[i] = (trace){.env = make(v), .seed = 5 + (uint64_t)i, .steps = 4000};
                if (!t[i].env) break;
                if (mode == 0) follow(&t[i]);
                if (mode == 1) ASSERT_EQ(0, pthread_create(&thread[i], NULL, follow, &t[i]));
            }
            for (int i = 0; i < 2 && t[i].env; i++) {
                if (mode == 1) pthread_join(thread[i], NULL);
                (mode ? threaded : serial)[i] = t[i].hash;
                ASSERT_EQ(0, t[i].failures);
                fgsf_env_free(t[i].env);
            }
        }
        if (!t[0].env) continue;
        ASSERT(serial[0] == threaded[0] && serial[1] == threaded[1] && serial[0] != serial[1]);
    }
    PASS();
}

// Runs `env` and `copy` from the same full state through the same actions.
static bool same_future(fgsf_env *env, fgsf_env *copy, fgsf_rng rng) {
    const fgsf_env_spec *spec = fgsf_env_get_spec(env);
    for (int t = 0; t < 100; t++) {
        fgsf_rng a = rng, b = rng;
        int action = (int)fgsf_rng_below(&a, (uint64_t)spec->num_actions);
        fgsf_rng_below(&b, (uint64_t)spec->num_actions);
        fgsf_step_result one, two;
        double x[MAX_SIZE], y[MAX_SIZE];
        if (fgsf_env_step(env, action, &a, &one) != FGSF_OK) return false;
        if (fgsf_env_step(copy, action, &b, &two) != FGSF_OK) return false;
        fgsf_env_get_state(env, x);
        fgsf_env_get_state(copy, y);
        if (memcmp(x, y, (size_t)spec->full_size * sizeof *x) != 0) return false;
        if (one.reward != two.reward || one.terminal != two.terminal) return false;
        rng = a;
    }
    return true;
}

TEST a_full_state_restarts_exactly(void) {
    for (size_t v = 0; v < NUM_VARIANTS; v++) {
        fgsf_env *env = make(v), *copy = make(v);
        if (!env || !copy) continue;
        const fgsf_env_spec *spec = fgsf_env_get_spec(env);
        fgsf_rng rng = fgsf_rng_make(9, FGSF_STREAM_ENV);
        fgsf_env_reset(env, &rng);
        for (int round = 0; round < 30; round++) {
            double full[MAX_SIZE], raw[MAX_SIZE];
            for (int t = 0; t < 37; t++) {
                fgsf_step_result step;
                int action = (int)fgsf_rng_below(&rng, (uint64_t)spec->num_actions);
                fgsf_env_step(env, action, &rng, &step);
            }
            fgsf_env_get_state(env, full);
            ASSERT_EQ(FGSF_OK, fgsf_env_set_state(copy, full, spec->full_size));
            ASSERT(same_future(env, copy, rng));
            ASSERT_EQ(FGSF_OK, fgsf_env_set_state(env, full, spec->raw_size));
            fgsf_env_get_state(env, raw);
            ASSERT_MEM_EQ(full, raw, (size_t)spec->raw_size * sizeof *raw);
        }
        fgsf_env_free(env);
        fgsf_env_free(copy);
    }
    PASS();
}

TEST features_and_observations_agree_with_steps(void) {
    for (size_t v = 0; v < NUM_VARIANTS; v++) {
        fgsf_env *env = make(v);
        if (!env) continue;
        const fgsf_env_spec *spec = fgsf_env_get_spec(env);
        fgsf_rng rng = fgsf_rng_make(9, FGSF_STREAM_ENV);
        fgsf_env_reset(env, &rng);
        for (int t = 0; t < 3000; t++) {
            double raw[MAX_SIZE], next[MAX_SIZE], phi[MAX_SIZE], state[MAX_SIZE], x, y;
            float observed[MAX_SIZE];
            fgsf_step_result step;
            int action = (int)fgsf_rng_below(&rng, (uint64_t)spec->num_actions);
            fgsf_env_get_state(env, raw);
            ASSERT_EQ(FGSF_OK, fgsf_env_step(env, action, &rng, &step));
            fgsf_env_get_state(env, next);
            env->def->features(env, raw, action, next, phi);
            for (int k = 0; k < spec->num_features; k++) ASSERT_EQ(phi[k], step.phi[k]);
            fgsf_env_observe(env, observed);
            fgsf_env_observe_f64(env, state);
            for (int i = 0; i < spec->state_size; i++) ASSERT_EQ((float)state[i], observed[i]);
            if (env->def->decode(env, state, raw)) {
                for (int i = 0; i < spec->raw_size; i++) ASSERT(fabs(next[i] - raw[i]) < 1e-12);
            }
            env->def->position(env, &x, &y);
            ASSERT(isfinite(x) && isfinite(y));
            if (step.terminal || t % 200 == 199) fgsf_env_reset(env, &rng);
        }
        fgsf_env_free(env);
    }
    PASS();
}

// ---- Definitions ---------------------------------------------------------------------------------

// A key goes into run.json, into --set KEY=VALUE and to the terminal. One that cannot is refused before
// a run is trained with it.
TEST keys_that_could_not_be_written_are_refused(void) {
    static const char ok[] = "env.one", esc[] = "\033[31mred";
    static const struct {
        const char *name, *fallback, *choices, *doc, *message;
    } bad[] = {
        {"env.a=b\"<x>", "a", "a|b", "One.", "others than a-z"},
        {"env.One", "a", "a|b", "One.", "others than a-z"},
        {"env.\033[31mred", "a", "a|b", "One.", "others than a-z"},
        {"env.k23456789k123456789k123456789k123456789k123456789k123456789kkkk", "a", "a|b", "One.",
         "more than 63"},
        {ok, esc, "a|b", "One.", "control characters"},
        {ok, "a", esc, "One.", "control characters"},
        {ok, "a", "a|b", esc, "control characters"},
        {ok, "a", "a|b", "\xff", "not UTF-8"},
        {ok, "a", "a|\"b", "One.", "choices"},
        {"one", "a", "a|b", "One.", "does not start"},
        {"env.slip", "a", "a|b", "One.", "exists already"},
    };
    fgsf_env_def def = *fgsf_env_def_find("four_rooms");
    def.name = "refused";
    def.num_keys = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const fgsf_key key = {bad[i].name, FGSF_KEY_CHOICE, 0,         bad[i].fallback, 0,
                              0,           bad[i].choices,  bad[i].doc};
        def.keys = &key;
        ASSERT_EQm(bad[i].name, FGSF_ERR_INVALID, fgsf_env_register(&def));
        ASSERTm(fgsf_last_error(), strstr(fgsf_last_error(), bad[i].message));
    }
    const fgsf_key good = {ok, FGSF_KEY_CHOICE, 0, "a", 0, 0, "a|b", "One."};
    const fgsf_key twice[] = {good, good};
    def.keys = twice;
    def.num_keys = 2;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_register(&def));
    ASSERT(strstr(fgsf_last_error(), "'env.one' exists already"));
    def.num_keys = 1;
    def.summary = esc;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_register(&def));
    ASSERT(strstr(fgsf_last_error(), "summary"));
    const fgsf_setting setting = {NULL, "env.map", esc};
    def.summary = "Plain.";
    def.settings = &setting;
    def.num_settings = 1;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_register(&def));
    ASSERT(strstr(fgsf_last_error(), "setting"));
    ASSERT(!fgsf_env_def_find("refused"));
    PASS();
}

// Four Rooms, of which one function fails and says nothing.
static char quiet; // the first letter of its name

static fgsf_status quiet_create(const void *params, int num_tasks, fgsf_env **out) {
    return quiet == 'c' ? FGSF_ERR_MEMORY
                        : fgsf_env_def_find("four_rooms")->create(params, num_tasks, out);
}

static fgsf_status quiet_reset(fgsf_env *env, fgsf_rng *rng) {
    (void)env, (void)rng;
    return quiet == 'r' ? FGSF_ERR_SIMULATOR : FGSF_OK;
}

static fgsf_status quiet_step(fgsf_env *env, int action, fgsf_rng *rng, fgsf_step_result *out) {
    (void)env, (void)action, (void)rng, (void)out;
    return (fgsf_status)77;
}

static fgsf_status quiet_set_state(fgsf_env *env, const double *values, int n) {
    (void)env, (void)values, (void)n;
    return FGSF_ERR_INVALID;
}

TEST a_failure_without_a_message_gets_one(void) {
    static fgsf_env_def def;
    fgsf_config cfg;
    fgsf_env *env = NULL;
    fgsf_step_result result;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    double state[MAX_SIZE] = {0};
    def = *fgsf_env_def_find("four_rooms");
    def.name = "quiet";
    def.create = quiet_create;
    def.reset = quiet_reset;
    def.step = quiet_step;
    def.set_state = quiet_set_state;
    ASSERT_OK(fgsf_env_register(&def));
    ASSERT_OK(fgsf_config_resolve("quiet", "clean", "sfrql", &cfg));
    quiet = 'c';
    ASSERT_EQ(FGSF_ERR_MEMORY, fgsf_env_create(&cfg, &env));
    ASSERT_STR_EQ("quiet: create failed without a message (memory)", fgsf_last_error());
    quiet = 'r';
    ASSERT_OK(fgsf_env_create(&cfg, &env));
    ASSERT_EQ(FGSF_ERR_SIMULATOR, fgsf_env_reset(env, &rng));
    ASSERT_STR_EQ("quiet: reset failed without a message (simulator)", fgsf_last_error());
    ASSERT_EQ(77, (int)fgsf_env_step(env, 0, &rng, &result));
    ASSERT_STR_EQ("quiet: step failed without a message (unknown)", fgsf_last_error());
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_env_set_state(env, state, env->spec.full_size));
    ASSERT_STR_EQ("quiet: set_state failed without a message (invalid)", fgsf_last_error());
    fgsf_env_free(env);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    RUN_TEST(every_environment_resolves_in_every_preset);
    RUN_TEST(sizes_are_the_papers);
    RUN_TEST(what_is_out_of_range_is_refused);
    RUN_TEST(two_threads_give_the_bits_of_two_serial_runs);
    RUN_TEST(a_full_state_restarts_exactly);
    RUN_TEST(features_and_observations_agree_with_steps);
    RUN_TEST(keys_that_could_not_be_written_are_refused);
    RUN_TEST(a_failure_without_a_message_gets_one);
    GREATEST_MAIN_END();
}
