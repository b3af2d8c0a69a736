// One hot path at a time, for counting instructions: experiments/bench_instructions.sh runs this under
// callgrind, which counts only what happens inside fgsf_hot_path. Counts repeat exactly, so that a
// regression shows where times would drown it in noise.
//
//     bench_instructions --list
//     bench_instructions PATH          # prints how many calls fgsf_hot_path made
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/bellman.h"
#include "fgsf/gpe.h"
#include "fgsf/optimizer.h"
#include "fgsf/trainer.h"
#include "plugins.h"
#include "say.h"

#define BATCH 64
#define INPUT 38
#define ACTIONS 4
#define MAX_FEATURES 4
#define STORED 1000
#define TASKS 6

// Everything that the paths work on; each makes what it needs.
typedef struct bench {
    fgsf_device *device;
    fgsf_network *net, *target;
    fgsf_bellman *bellman;
    fgsf_gpe *gpe;
    fgsf_optimizer *opt;
    fgsf_trainer *trainer;
    fgsf_rng rng;
    float s[BATCH * INPUT], s_next[BATCH * INPUT];
    float y[BATCH * MAX_FEATURES], discount[BATCH], q[BATCH * ACTIONS];
    int32_t a[BATCH], a_next[BATCH];
    fgsf_batch batch;
    int calls; // so far, for paths that vary
} bench;

// --- what the paths work on ---------------------------------------------------------------------

static void fill_batch(bench *b, int features) {
    for (int i = 0; i < BATCH * INPUT; i++) {
        b->s[i] = (float)(fgsf_rng_uniform(&b->rng) < 0.2);
        b->s_next[i] = (float)(fgsf_rng_uniform(&b->rng) < 0.2);
    }
    for (int i = 0; i < BATCH; i++) {
        b->a[i] = (int32_t)fgsf_rng_below(&b->rng, ACTIONS);
        b->a_next[i] = (int32_t)fgsf_rng_below(&b->rng, ACTIONS);
        b->discount[i] = 0.95f;
    }
    for (int i = 0; i < BATCH * features; i++) {
        b->y[i] = (float)fgsf_rng_uniform(&b->rng);
    }
    b->batch = (fgsf_batch){.pairs = BATCH,
                            .s = b->s,
                            .a = b->a,
                            .y = b->y,
                            .s_next = b->s_next,
                            .a_next = b->a_next,
                            .discount = b->discount};
}

static fgsf_status make_graph(bench *b, int width, int features, bool full) {
    fgsf_network_shape shape = {.input = INPUT,
                                .num_hidden = 2,
                                .hidden = {width, width},
                                .actions = ACTIONS,
                                .features = features,
                                .bias = true};
    fgsf_bellman_params params = fgsf_bellman_default_params(&shape);
    params.grad_mix = full ? 1.0 : 0.0;
    params.target_network = !full;
    fgsf_optimizer_params opt = fgsf_optimizer_default_params();
    opt.clip = 1.0;
    fill_batch(b, features);
    fgsf_status status = fgsf_device_open("auto", &b->device);
    if (status == FGSF_OK) status = fgsf_network_create(&shape, &b->net);
    if (status == FGSF_OK) status = fgsf_network_create(&shape, &b->target);
    if (status == FGSF_OK) status = fgsf_bellman_create(b->device, &params, &b->bellman);
    if (status == FGSF_OK) status = fgsf_gpe_create(b->device, &shape, BATCH, &b->gpe);
    if (status == FGSF_OK) status = fgsf_optimizer_create(&opt, b->net, &b->opt);
    if (status == FGSF_OK) {
        fgsf_network_init(b->net, FGSF_NORMAL_FAN_IN, &b->rng);
        fgsf_network_track(b->target, b->net, 1.0f);
        status = fgsf_bellman_run(b->bellman, &b->batch, b->net, full ? NULL : b->target,
                                  &(double){0.0});
    }
    return status;
}

static fgsf_status make_full(bench *b) {
    return make_graph(b, 256, MAX_FEATURES, true);
}

static fgsf_status make_semi(bench *b) {
    return make_graph(b, 256, MAX_FEATURES, false);
}

static fgsf_status make_dqn(bench *b) {
    return make_graph(b, 128, 1, true);
}

static fgsf_status make_trainer(bench *b) {
    fgsf_config cfg;
    fgsf_status status = fgsf_config_resolve("four_rooms", "compat", "fg-sfrql", &cfg);
    cfg.env.num_tasks = TASKS;
    cfg.learner.batch_size = BATCH;
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &b->trainer);
    return status == FGSF_OK ? fgsf_trainer_prefill(b->trainer, 0, STORED) : status;
}

static void free_bench(bench *b) {
    fgsf_trainer_free(b->trainer);
    fgsf_optimizer_free(b->opt);
    fgsf_gpe_free(b->gpe);
    fgsf_bellman_free(b->bellman);
    fgsf_network_free(b->target);
    fgsf_network_free(b->net);
    fgsf_device_free(b->device);
    free(b);
}

// --- the paths ----------------------------------------------------------------------------------

static fgsf_status run_full(bench *b) {
    double loss;
    return fgsf_bellman_run(b->bellman, &b->batch, b->net, NULL, &loss);
}

static fgsf_status run_semi(bench *b) {
    double loss;
    return fgsf_bellman_run(b->bellman, &b->batch, b->net, b->target, &loss);
}

static fgsf_status run_gpe(bench *b) {
    static const float rho[MAX_FEATURES] = {1.0f, -1.0f, 0.5f, 0.25f};
    fgsf_network_edit(b->net); // as after an update
    return fgsf_gpe_run(b->gpe, b->net, rho, 1, b->s_next, BATCH, b->q);
}

static fgsf_status run_optimizer(bench *b) {
    double norm;
    return fgsf_optimizer_step(b->opt, b->net, fgsf_bellman_gradient(b->bellman), 1e-3, &norm);
}

static fgsf_status run_replay(bench *b) {
    int64_t slots[BATCH];
    const fgsf_replay *replay = fgsf_trainer_replay(b->trainer);
    fgsf_replay_sample(replay, &b->rng, BATCH, slots);
    for (int i = 0; i < BATCH; i++) {
        fgsf_transition t = fgsf_replay_at(replay, slots[i]);
        memcpy(b->s + i * INPUT, t.s, INPUT * sizeof(float));
        memcpy(b->s_next + i * INPUT, t.s_next, INPUT * sizeof(float));
        memcpy(b->y + i * MAX_FEATURES, t.phi, MAX_FEATURES * sizeof(float));
        b->discount[i] = t.discount;
        b->a[i] = t.action;
    }
    return FGSF_OK;
}

static fgsf_status run_env(bench *b) {
    fgsf_env *env = fgsf_trainer_env(b->trainer, 0);
    fgsf_step_result result;
    fgsf_status status = FGSF_OK;
    if (b->calls++ % 200 == 0) {
        status = fgsf_env_reset(env, &b->rng);
    }
    if (status == FGSF_OK) {
        status = fgsf_env_step(env, (int)fgsf_rng_below(&b->rng, ACTIONS), &b->rng, &result);
    }
    if (status == FGSF_OK) {
        fgsf_env_observe(env, b->s);
    }
    return status;
}

static fgsf_status run_act(bench *b) {
    fgsf_choice choice;
    const float *state = fgsf_replay_at(fgsf_trainer_replay(b->trainer), b->calls++ % STORED).s;
    return fgsf_agent_act(fgsf_trainer_agent(b->trainer), 0, NULL, state, &b->rng, &choice);
}

static fgsf_status run_step(bench *b) {
    return fgsf_trainer_step(b->trainer);
}

static const struct path {
    const char *name;
    fgsf_status (*make)(bench *b);
    fgsf_status (*run)(bench *b);
    int calls;
} PATHS[] = {
    {"bellman_full", make_full, run_full, 5},
    {"bellman_semi_target", make_semi, run_semi, 5},
    {"bellman_full_dqn", make_dqn, run_full, 5},
    {"gpe", make_full, run_gpe, 5},
    {"optimizer_adam_clip", make_full, run_optimizer, 5},
    {"replay_sample", make_trainer, run_replay, 50},
    {"env_step", make_trainer, run_env, 400},
    {"act", make_trainer, run_act, 20},
    {"train_step_fg_sfrql", make_trainer, run_step, 10},
};
#define NUM_PATHS (sizeof PATHS / sizeof *PATHS)

// Callgrind counts while this function runs; it must stay a function of its own.
__attribute__((noinline)) fgsf_status fgsf_hot_path(const struct path *path, bench *b) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < path->calls && status == FGSF_OK; i++) {
        status = path->run(b);
    }
    return status;
}

static int run_path(const struct path *path) {
    bench *b = calloc(1, sizeof *b);
    if (!b) {
        return 2;
    }
    b->rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_status status = path->make(b);
    if (status == FGSF_OK) status = path->run(b); // whatever happens once only
    if (status == FGSF_OK) status = fgsf_hot_path(path, b);
    if (status == FGSF_OK) {
        printf("%d\n", path->calls);
    } else {
        fgsf_say("bench_instructions: %s", fgsf_last_error());
    }
    free_bench(b);
    return status == FGSF_OK ? 0 : 2;
}

int main(int argc, char **argv) {
    if (!fgsf_plugins_load("bench_instructions", &argc, argv)) return 2;
    for (size_t i = 0; i < NUM_PATHS && argc == 2; i++) {
        if (strcmp(argv[1], "--list") == 0) {
            puts(PATHS[i].name);
        } else if (strcmp(argv[1], PATHS[i].name) == 0) {
            return run_path(&PATHS[i]);
        }
    }
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        return 0;
    }
    fgsf_say("usage: bench_instructions PATH | --list");
    return 2;
}
