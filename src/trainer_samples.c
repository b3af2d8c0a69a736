// What a run learns from, where it is not what the environment says: features less their mean
// (env.centre_features), and next states that are drawn anew (avg.source=fresh).
#include <stdlib.h>

#include "trainer_internal.h"

#define CENTRE_STEPS 10000
#define CENTRE_STREAM 2000000 // clear of the streams of environments and diagnostics

// ---- Centred features ---------------------------------------------------------------------------

fgsf_status fgsf_trainer_check_endless(const fgsf_trainer *t, const fgsf_step_result *result) {
    if (!t->centre || !result->terminal) return FGSF_OK;
    return fgsf_fail(
        FGSF_ERR_INVALID,
        "env.centre_features: an episode of %s ended; only where none ever ends does a "
        "constant less per step leave the policies as they are",
        t->cfg.env.name);
}

// Means over uniformly random steps in episodes of train.horizon steps, from a stream of their own: a
// resumed run finds the same.
static fgsf_status find_means(fgsf_trainer *t, fgsf_env *env) {
    fgsf_rng rng = fgsf_rng_make((uint64_t)t->cfg.seed, CENTRE_STREAM);
    for (int i = 0; i < CENTRE_STEPS; i++) {
        fgsf_step_result result = {0};
        int action = (int)fgsf_rng_below(&rng, (uint64_t)t->spec.num_actions);
        if (i % t->cfg.train.horizon == 0) FGSF_TRY(fgsf_env_reset(env, &rng));
        FGSF_TRY(fgsf_env_step(env, action, &rng, &result));
        FGSF_TRY(fgsf_trainer_check_endless(t, &result));
        for (int k = 0; k < t->spec.num_features; k++) t->centre[k] += result.phi[k] / CENTRE_STEPS;
    }
    return FGSF_OK;
}

static fgsf_status create_centre(fgsf_trainer *t) {
    fgsf_env *env = NULL;
    for (int task = 0; task < t->spec.num_tasks; task++) {
        if (t->tasks[task].w) continue;
        return fgsf_fail(FGSF_ERR_INVALID,
                         "env.centre_features: the reward of task %d of %s is not linear in phi",
                         task, t->cfg.env.name);
    }
    t->centre = calloc((size_t)t->spec.num_features, sizeof *t->centre);
    fgsf_status status = t->centre ? fgsf_trainer_create_env(t, &env)
                                   : fgsf_fail(FGSF_ERR_MEMORY, "no memory for means of features");
    if (status == FGSF_OK) status = find_means(t, env);
    fgsf_env_free(env);
    return status;
}

void fgsf_trainer_centre(const fgsf_trainer *t, int task, const double *phi, float *out,
                         double *reward) {
    const double *w = t->weights + (size_t)task * (size_t)t->spec.num_features;
    for (int k = 0; k < t->spec.num_features; k++) {
        out[k] = (float)(t->centre ? phi[k] - t->centre[k] : phi[k]);
        if (t->centre) *reward -= w[k] * t->centre[k];
    }
}

// ---- Fresh samples ------------------------------------------------------------------------------

static fgsf_status create_fresh(fgsf_trainer *t) {
    fgsf_fresh *f = &t->fresh;
    size_t state = (size_t)t->spec.state_size;
    FGSF_TRY(fgsf_trainer_create_env(t, &f->env));
    f->state = calloc(state, sizeof *f->state);
    f->raw = calloc((size_t)t->spec.raw_size, sizeof *f->raw);
    f->s_next = calloc(state, sizeof *f->s_next);
    f->phi = calloc((size_t)t->spec.num_features, sizeof *f->phi);
    if (!f->state || !f->raw || !f->s_next || !f->phi) {
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory for fresh samples");
    }
    fgsf_env_observe_f64(t->envs[0], f->state);
    if (!f->env->def->decode || !f->env->def->decode(f->env, f->state, f->raw)) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "avg.source=fresh: %s cannot be set to the state of a stored transition",
                         t->cfg.env.name);
    }
    return FGSF_OK;
}

fgsf_status fgsf_trainer_draw_next(void *context, fgsf_rng *rng, fgsf_experience *out) {
    fgsf_trainer *t = context;
    fgsf_fresh *f = &t->fresh;
    fgsf_step_result result;
    for (int i = 0; i < t->spec.state_size; i++) f->state[i] = out->s[i];
    f->env->def->decode(f->env, f->state, f->raw);
    FGSF_TRY(fgsf_env_set_task(f->env, out->task));
    FGSF_TRY(fgsf_env_set_state(f->env, f->raw, t->spec.raw_size));
    FGSF_TRY(fgsf_env_step(f->env, out->action, rng, &result));
    fgsf_env_observe(f->env, f->s_next);
    out->s_next = f->s_next;
    out->phi = f->phi;
    out->reward = result.reward;
    out->terminal = result.terminal;
    fgsf_trainer_centre(t, out->task, result.phi, f->phi, &out->reward);
    return FGSF_OK;
}

// ---- Both ---------------------------------------------------------------------------------------

fgsf_status fgsf_trainer_create_samples(fgsf_trainer *t) {
    FGSF_TRY(t->cfg.env.centre_features ? create_centre(t) : FGSF_OK);
    bool fresh = t->cfg.learner.avg.source == FGSF_SAMPLES_FRESH;
    return fresh ? create_fresh(t) : FGSF_OK;
}

void fgsf_trainer_free_samples(fgsf_trainer *t) {
    fgsf_env_free(t->fresh.env);
    free(t->fresh.state);
    free(t->fresh.raw);
    free(t->fresh.s_next);
    free(t->fresh.phi);
    free(t->centre);
}
