// What the demo page asks of the library: one trainer on Four Rooms, its greedy policy under any reward.
//
// Built for the browser by experiments/demo/build; the page's worker (worker.js) calls these functions.
// Each returns 0, or a status whose message demo_error() tells.
#include <emscripten.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/envs.h"
#include "fgsf/trainer.h"
#include "four_rooms.h"

#define HORIZON 200

static struct {
    fgsf_trainer *trainer;
    fgsf_env *env; // of the views: the trainer's own stay where they are
    fgsf_log_row row;
    double earlier; // reward of the tasks before
    float *state, *q, *rho;
    double *raw;
} demo;

EMSCRIPTEN_KEEPALIVE const char *demo_error(void) {
    return fgsf_last_error();
}

// Returns the names of the gradients, with '|' between them.
EMSCRIPTEN_KEEPALIVE const char *demo_gradients(void) {
    size_t count;
    const fgsf_key *keys = fgsf_config_keys(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i].name, "gradient.kind") == 0) return keys[i].choices;
    }
    return "";
}

static fgsf_status configure(char *settings, fgsf_config *cfg) {
    fgsf_status status = fgsf_envs_register();
    if (status == FGSF_OK) status = fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", cfg);
    for (char *line = strtok(settings, "\n"); line && status == FGSF_OK;
         line = strtok(NULL, "\n")) {
        char *equals = strchr(line, '=');
        if (!equals) return fgsf_fail(FGSF_ERR_INVALID, "'%s' is not key=value", line);
        *equals = '\0';
        status = fgsf_config_set(cfg, line, equals + 1, "page");
    }
    return status == FGSF_OK ? fgsf_config_validate(cfg) : status;
}

// Starts anew with settings, one key=value per line.
EMSCRIPTEN_KEEPALIVE int demo_start(char *settings) {
    fgsf_config cfg;
    fgsf_trainer *trainer = NULL;
    fgsf_env *env = NULL;
    fgsf_status status = configure(settings, &cfg);
    if (status == FGSF_OK) status = fgsf_env_create(&cfg, &env);
    if (status == FGSF_OK) status = fgsf_trainer_create(&cfg, &trainer);
    if (status != FGSF_OK) {
        fgsf_env_free(env);
        return status;
    }
    fgsf_trainer_free(demo.trainer);
    fgsf_env_free(demo.env);
    free(demo.state), free(demo.q), free(demo.rho), free(demo.raw);
    memset(&demo, 0, sizeof demo);
    const fgsf_env_spec *spec = fgsf_env_get_spec(env);
    demo.trainer = trainer;
    demo.env = env;
    demo.state = calloc((size_t)spec->state_size, sizeof(float));
    demo.q = calloc((size_t)(spec->num_tasks * spec->num_actions), sizeof(float));
    demo.rho = calloc((size_t)spec->num_features, sizeof(float));
    demo.raw = calloc((size_t)spec->full_size, sizeof(double));
    return demo.state && demo.q && demo.rho && demo.raw ? FGSF_OK : FGSF_ERR_MEMORY;
}

// Trains for some steps; returns 0, or -1 when everything is trained.
EMSCRIPTEN_KEEPALIVE int demo_train(int steps) {
    fgsf_status status = FGSF_OK;
    for (int i = 0; i < steps && status == FGSF_OK; i++) {
        if (fgsf_trainer_done(demo.trainer)) return -1;
        status = fgsf_trainer_step(demo.trainer);
        fgsf_log_row before = demo.row;
        bool due = false;
        if (status == FGSF_OK) status = fgsf_trainer_log(demo.trainer, &demo.row, &due);
        if (due && demo.row.task != before.task) demo.earlier += before.cum_reward;
    }
    return status;
}

// Writes step, total steps, active task, reward in all tasks, loss.
EMSCRIPTEN_KEEPALIVE void demo_progress(double *out) {
    fgsf_progress p = fgsf_trainer_progress(demo.trainer);
    out[0] = (double)p.step, out[1] = (double)p.total_steps, out[2] = p.task;
    out[3] = demo.earlier + demo.row.cum_reward, out[4] = demo.row.loss;
}

// Writes the true reward weights of a task.
EMSCRIPTEN_KEEPALIVE void demo_weights(int task, double *w) {
    demo.env->def->task_weights(demo.env, task, w);
}

// Q of each action in the environment's state under the reward w, by GPI over all policies learned so
// far: there is no training between a reward and its policy.
static fgsf_status values(const double *w, float out[FGSF_FOUR_ROOMS_ACTIONS]) {
    fgsf_agent *agent = fgsf_trainer_agent(demo.trainer);
    int task = fgsf_trainer_progress(demo.trainer).task, policies = 0;
    fgsf_agent_rho_from_weights(agent, w, demo.rho);
    fgsf_env_observe(demo.env, demo.state);
    fgsf_status status = fgsf_agent_q(agent, task, demo.rho, demo.state, demo.q, &policies);
    for (int a = 0; a < FGSF_FOUR_ROOMS_ACTIONS; a++) {
        out[a] = demo.q[a];
        for (int p = 1; p < policies; p++) {
            float q = demo.q[p * FGSF_FOUR_ROOMS_ACTIONS + a];
            out[a] = q > out[a] ? q : out[a];
        }
    }
    return status;
}

// Writes Q (cells, 4) under the reward w, with every object still in its place.
EMSCRIPTEN_KEEPALIVE int demo_view(const double *w, float *out) {
    const fgsf_four_rooms *m = fgsf_four_rooms_model(demo.env);
    fgsf_status status = FGSF_OK;
    memset(demo.raw, 0, (size_t)demo.env->spec.raw_size * sizeof(double));
    for (int cell = 0; cell < m->num_cells && status == FGSF_OK; cell++) {
        demo.raw[0] = m->row[cell], demo.raw[1] = m->col[cell];
        status = fgsf_env_set_state(demo.env, demo.raw, demo.env->spec.raw_size);
        if (status == FGSF_OK) status = values(w, out + cell * FGSF_FOUR_ROOMS_ACTIONS);
    }
    return status;
}

// Walks greedily under the reward w from the start. Writes the features collected (num_features), then
// row and column of each place; returns the number of places, or -1.
EMSCRIPTEN_KEEPALIVE int demo_walk(const double *w, double *out) {
    fgsf_rng rng = fgsf_rng_make(0, FGSF_STREAM_EVAL);
    int features = demo.env->spec.num_features, places = 0;
    fgsf_step_result result = {0};
    fgsf_status status = fgsf_env_reset(demo.env, &rng);
    memset(out, 0, (size_t)features * sizeof *out);
    while (status == FGSF_OK && places < HORIZON) {
        float q[FGSF_FOUR_ROOMS_ACTIONS];
        int best = 0;
        fgsf_env_get_state(demo.env, demo.raw);
        memcpy(out + features + 2 * places++, demo.raw, 2 * sizeof *out);
        if (result.terminal) break;
        status = values(w, q);
        for (int a = 1; a < FGSF_FOUR_ROOMS_ACTIONS; a++) best = q[a] > q[best] ? a : best;
        if (status == FGSF_OK) status = fgsf_env_step(demo.env, best, &rng, &result);
        for (int f = 0; f < features && status == FGSF_OK; f++) out[f] += result.phi[f];
    }
    return status == FGSF_OK ? places : -1;
}
