// Runs one hot path, for counting instructions.
//
// experiments/bench_instructions.sh runs this under callgrind, which counts only what happens inside
// fgsf_hot_path. Counts repeat exactly, so they show regressions that times would hide in noise.
//
//     bench_instructions --list
//     bench_instructions PATH          # prints how many calls fgsf_hot_path made
#include <stdio.h>
#include <string.h>

#include "bench_parts.h"
#include "fgsf/trainer.h"
#include "flags.h"
#include "say.h"

#define BATCH 64
#define STORED 1000
#define TASKS 6

// What the paths work on: the parts of an update, or a trainer.
typedef struct bench {
    fgsf_parts parts;
    fgsf_trainer *trainer;
    fgsf_rng rng;
    int calls; // so far, for paths that vary
} bench;

static fgsf_status make_trainer(bench *b) {
    fgsf_config cfg;
    fgsf_status status = fgsf_config_resolve("four_rooms", "compat", "fg-sfrql", &cfg);
    cfg.env.num_tasks = TASKS;
    cfg.learner.batch_size = BATCH;
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &b->trainer);
    return status == FGSF_OK ? fgsf_trainer_prefill(b->trainer, 0, STORED) : status;
}

static fgsf_status run_gradient(bench *b) {
    return fgsf_parts_gradient(&b->parts);
}

static fgsf_status run_gpe(bench *b) {
    return fgsf_parts_evaluate(&b->parts);
}

static fgsf_status run_optimizer(bench *b) {
    return fgsf_parts_optimize(&b->parts);
}

static fgsf_status run_replay(bench *b) {
    static float s[BATCH * FGSF_PARTS_INPUT], s_next[BATCH * FGSF_PARTS_INPUT], phi[BATCH * 4];
    int64_t slots[BATCH];
    const fgsf_replay *replay = fgsf_trainer_replay(b->trainer);
    fgsf_replay_sample(replay, &b->rng, BATCH, slots);
    for (int i = 0; i < BATCH; i++) {
        fgsf_transition t = fgsf_replay_at(replay, slots[i]);
        memcpy(s + i * FGSF_PARTS_INPUT, t.s, FGSF_PARTS_INPUT * sizeof(float));
        memcpy(s_next + i * FGSF_PARTS_INPUT, t.s_next, FGSF_PARTS_INPUT * sizeof(float));
        memcpy(phi + i * 4, t.phi, 4 * sizeof(float));
    }
    return FGSF_OK;
}

static fgsf_status run_env(bench *b) {
    float state[FGSF_PARTS_INPUT];
    fgsf_env *env = fgsf_trainer_env(b->trainer, 0);
    fgsf_step_result result;
    fgsf_status status = b->calls++ % 200 == 0 ? fgsf_env_reset(env, &b->rng) : FGSF_OK;
    if (status == FGSF_OK) {
        int action = (int)fgsf_rng_below(&b->rng, FGSF_PARTS_ACTIONS);
        status = fgsf_env_step(env, action, &b->rng, &result);
    }
    if (status == FGSF_OK) fgsf_env_observe(env, state);
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

// A path with a width works on the parts, of that kind and size; one without on a trainer.
static const struct path {
    const char *name;
    fgsf_status (*run)(bench *b);
    int calls;
    enum fgsf_gradient_kind kind;
    bool target;
    int width, features;
} PATHS[] = {
    {"bellman_full", run_gradient, 5, FGSF_FULL, false, 256, 4},
    {"bellman_semi_target", run_gradient, 5, FGSF_SEMI, true, 256, 4},
    {"bellman_corrected", run_gradient, 5, FGSF_CORRECTED, false, 256, 4},
    {"bellman_full_dqn", run_gradient, 5, FGSF_FULL, false, 128, 1},
    {"gpe", run_gpe, 5, FGSF_FULL, false, 256, 4},
    {"optimizer_adam_clip", run_optimizer, 5, FGSF_FULL, false, 256, 4},
    {"replay_sample", run_replay, 50, .width = 0},
    {"env_step", run_env, 400, .width = 0},
    {"act", run_act, 20, .width = 0},
    {"train_step_fg_sfrql", run_step, 10, .width = 0},
};
#define NUM_PATHS (sizeof PATHS / sizeof *PATHS)

// Callgrind counts while this function runs; it must stay a function of its own.
__attribute__((noinline)) fgsf_status fgsf_hot_path(const struct path *path, bench *b) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < path->calls && status == FGSF_OK; i++) status = path->run(b);
    return status;
}

static int run_path(const struct path *p) {
    static bench b;
    b.rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_status status =
        p->width ? fgsf_parts_open(&b.parts, p->kind, p->target, BATCH, p->width, p->features)
                 : make_trainer(&b);
    if (status == FGSF_OK && p->width) status = fgsf_parts_gradient(&b.parts);
    if (status == FGSF_OK) status = p->run(&b); // whatever happens once only
    if (status == FGSF_OK) status = fgsf_hot_path(p, &b);
    if (status == FGSF_OK) {
        printf("%d\n", p->calls);
    } else {
        fgsf_say("bench_instructions: %s", fgsf_last_error());
    }
    fgsf_trainer_free(b.trainer);
    fgsf_parts_close(&b.parts);
    return status == FGSF_OK ? 0 : 2;
}

int main(int argc, char **argv) {
    bool list = false;
    const char *name = NULL;
    const fgsf_flag table[] = {{"--list", NULL, "print the names of the paths", .on = &list}};
    fgsf_flags flags = {"bench_instructions",
                        "PATH | --list",
                        "Runs one hot path, for callgrind to count its instructions.",
                        table,
                        1,
                        .words = &name,
                        .max_words = 1};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN) return code;
    for (size_t i = 0; i < NUM_PATHS; i++) {
        if (list) puts(PATHS[i].name);
        if (!list && name && strcmp(name, PATHS[i].name) == 0) return run_path(&PATHS[i]);
    }
    if (list) return 0;
    fgsf_say("bench_instructions: no path '%.80s'; --list prints them", name ? name : "");
    return 2;
}
