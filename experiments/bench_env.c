// Measures how fast the environments step.
//
// On one thread, with random actions, encoding into floats, features and resets. Prints a table; no test
// depends on it.
//
//     bench_env [--rounds N] [--env NAME]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_parts.h"
#include "fgsf/config.h"
#include "fgsf/env.h"
#include "flags.h"
#include "say.h"

#define HORIZON 200
#define ROUND_SECONDS 0.2
#define MAX_ROUNDS 101

static const struct {
    const char *env, *key, *value, *note;
} CASES[] = {
    {"four_rooms", NULL, NULL, "built-in map"},
    {"four_rooms", "env.slip", "0.1", "slip 0.1"},
    {"point_maze", "env.layout", "umaze", "umaze"},
    {"point_maze", "env.layout", "medium", "medium"},
    {"point_maze", "env.layout", "large", "large"},
    {"reacher", "env.reacher_dynamics", "bullet", "bullet"},
    {"reacher", "env.reacher_dynamics", "gymnasium", "gymnasium"},
};

// Takes `steps` steps; returns false when one fails. `sum` keeps the work from being optimised away.
static bool take_steps(fgsf_env *env, fgsf_rng *rng, long steps, float *state, double *sum) {
    int actions = fgsf_env_get_spec(env)->num_actions;
    int left = 0;
    for (long i = 0; i < steps; i++, left--) {
        if (left <= 0) {
            if (fgsf_env_reset(env, rng) != FGSF_OK) return false;
            left = HORIZON;
        }
        fgsf_step_result step;
        int action = (int)fgsf_rng_below(rng, (uint64_t)actions);
        if (fgsf_env_step(env, action, rng, &step) != FGSF_OK) return false;
        fgsf_env_observe(env, state);
        *sum += step.reward + step.phi[0] + (double)state[0];
        if (step.terminal) left = 0;
    }
    return true;
}

// Returns the median steps per second over the rounds, or a negative number after a failure.
static double measure(fgsf_env *env, int rounds) {
    double rates[MAX_ROUNDS], sum = 0.0;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    float *state = calloc((size_t)fgsf_env_get_spec(env)->state_size, sizeof *state);
    long steps = 2000;
    double seconds = 0.0;
    bool good = state != NULL;
    while (good && seconds < ROUND_SECONDS) { // warms up and finds how many steps fill a round
        steps *= 2;
        double start = fgsf_bench_cpu_seconds();
        good = take_steps(env, &rng, steps, state, &sum);
        seconds = fgsf_bench_cpu_seconds() - start;
    }
    for (int i = 0; i < rounds && good; i++) {
        double start = fgsf_bench_cpu_seconds();
        good = take_steps(env, &rng, steps, state, &sum);
        rates[i] = (double)steps / (fgsf_bench_cpu_seconds() - start);
    }
    free(state);
    if (!good || sum == 0.5) return -1.0;
    return fgsf_bench_quantile(rates, rounds, 0.5);
}

static bool run_case(size_t i, int rounds) {
    static fgsf_config cfg;
    fgsf_env *env = NULL;
    fgsf_status status = fgsf_config_resolve(CASES[i].env, "clean", "sfrql", &cfg);
    if (status == FGSF_OK && CASES[i].key) {
        status = fgsf_config_set(&cfg, CASES[i].key, CASES[i].value, "bench_env");
    }
    if (status == FGSF_OK) status = fgsf_env_create(&cfg, &env);
    double rate = status == FGSF_OK ? measure(env, rounds) : -1.0;
    fgsf_env_free(env);
    if (rate < 0.0) {
        fgsf_say("bench_env: %s", fgsf_last_error());
        return false;
    }
    printf("%-12s %-14s %14.0f %10.1f\n", CASES[i].env, CASES[i].note, rate, 1e9 / rate);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    long rounds = 5;
    const char *only = NULL;
    const fgsf_flag table[] = {
        {"--rounds", "N", "measurements, of which the best counts (5)", .number = &rounds, .min = 1,
         .max = MAX_ROUNDS},
        {"--env", "NAME", "only this environment", .text = &only},
    };
    fgsf_flags flags = {"bench_env", "[FLAGS]", "Steps per second of our environments.", table,
                        .count = 2};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN) return code;
    printf("%-12s %-14s %14s %10s\n", "environment", "variant", "steps/s", "ns/step");
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        if (only && strcmp(only, CASES[i].env) != 0) continue;
        if (!only && !fgsf_env_def_find(CASES[i].env)) continue; // a build without MuJoCo
        if (!run_case(i, (int)rounds)) return 2;
    }
    return 0;
}
