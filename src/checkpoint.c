// The whole state of a run in one archive. Saving references the trainer's memory; loading fills a new
// trainer, which takes the old one's place only when everything was there and made sense.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/archive.h"
#include "trainer_internal.h"

#define NAME_SIZE 64

// One walk over the state serves saving and loading, so that the two cannot drift apart.
typedef struct walk {
    fgsf_archive *out;      // saving, or
    const fgsf_archive *in; // loading
    fgsf_status status;
} walk;

static void walk_f32(walk *w, const char *name, float *data, size_t count) {
    if (w->out) {
        fgsf_archive_put_f32(w->out, name, data, count);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_f32(w->in, name, data, count);
    }
}

static void walk_f64(walk *w, const char *name, double *data, size_t count) {
    if (w->out) {
        fgsf_archive_put_f64(w->out, name, data, count);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_f64(w->in, name, data, count);
    }
}

static void walk_int(walk *w, const char *name, int64_t *value) {
    if (w->out) {
        fgsf_archive_put_int(w->out, name, *value);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_int(w->in, name, value);
    }
}

static void walk_real(walk *w, const char *name, double *value) {
    if (w->out) {
        fgsf_archive_put_real(w->out, name, *value);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_real(w->in, name, value);
    }
}

static void walk_rng(walk *w, const char *name, fgsf_rng *rng) {
    if (w->out) {
        fgsf_archive_put_i64(w->out, name, (const int64_t *)rng->s, 4);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_i64(w->in, name, (int64_t *)rng->s, 4);
    }
}

static const char *numbered(char name[NAME_SIZE], const char *group, int k, const char *what) {
    snprintf(name, NAME_SIZE, "%s.%d.%s", group, k, what);
    return name;
}

static void walk_policy(walk *w, fgsf_trainer *t, int k) {
    char name[NAME_SIZE];
    fgsf_student *student = &t->students[k];
    size_t size = fgsf_network_flat_size(&t->agent->shape);
    // Editing marks a network as changed; saving must not, or a resumed run would differ.
    fgsf_network *nets[2] = {t->agent->nets[k], student->target};
    const char *const nets_as[2] = {"parameters", "target"};
    for (int i = 0; i < 2; i++) {
        if (nets[i]) {
            float *data =
                w->out ? (float *)fgsf_network_parameters(nets[i]) : fgsf_network_edit(nets[i]);
            walk_f32(w, numbered(name, "policy", k, nets_as[i]), data, size);
        }
    }
    const char *const moments_as[2] = {"moment1", "moment2"};
    for (int i = 0; i < 2; i++) {
        float *moment = fgsf_optimizer_moment(student->opt, i);
        if (moment) {
            walk_f32(w, numbered(name, "policy", k, moments_as[i]), moment, size);
        }
    }
    int64_t steps = fgsf_optimizer_steps(student->opt);
    walk_int(w, numbered(name, "policy", k, "steps"), &steps);
    walk_int(w, numbered(name, "policy", k, "updates"), &student->updates);
    if (!w->out) {
        fgsf_optimizer_set_steps(student->opt, steps);
    }
}

// The parts of a task whose state is reached through calls need `buffers`: copies that live until the
// archive is written.
static void walk_task(walk *w, fgsf_trainer *t, int task, double *env_state, double *reward_state) {
    char name[NAME_SIZE];
    fgsf_episode *episode = &t->episodes[task];
    fgsf_account *account = &t->accounts[task];
    size_t full = (size_t)t->spec.full_size;
    if (w->out) {
        fgsf_env_get_state(t->envs[task], env_state);
    }
    walk_f64(w, numbered(name, "task", task, "env"), env_state, full);
    if (!w->out && w->status == FGSF_OK) {
        w->status = fgsf_env_set_state(t->envs[task], env_state, t->spec.full_size);
    }
    walk_rng(w, numbered(name, "task", task, "rng"), &t->env_rng[task]);
    int64_t over = episode->over;
    walk_int(w, numbered(name, "task", task, "over"), &over);
    episode->over = over != 0;
    walk_int(w, numbered(name, "task", task, "length"), &episode->length);
    walk_int(w, numbered(name, "task", task, "account_steps"), &account->steps);
    walk_int(w, numbered(name, "task", task, "account_episodes"), &account->episodes);
    walk_real(w, numbered(name, "task", task, "cum_reward"), &account->cum_reward);
    if (t->rewards[task] && reward_state) {
        size_t size = fgsf_reward_state_size(t->rewards[task]);
        if (w->out) {
            fgsf_reward_get_state(t->rewards[task], reward_state);
        }
        walk_f64(w, numbered(name, "task", task, "reward"), reward_state, size);
        if (!w->out && w->status == FGSF_OK) {
            fgsf_reward_set_state(t->rewards[task], reward_state);
        }
    }
}

static void walk_counters(walk *w, fgsf_trainer *t) {
    int64_t log_due = t->log_due, task = t->task, started = t->started;
    walk_int(w, "step", &t->step);
    walk_int(w, "task", &task);
    walk_int(w, "started", &started);
    walk_int(w, "log_due", &log_due);
    walk_int(w, "optimizer_steps", &t->optimizer_steps);
    walk_int(w, "skipped_updates", &t->skipped_updates);
    walk_int(w, "window.updates", &t->window.updates);
    walk_int(w, "window.pairs", &t->window.pairs);
    walk_int(w, "window.foreign", &t->window.foreign);
    walk_real(w, "window.loss", &t->window.loss);
    walk_real(w, "window.grad_norm", &t->window.grad_norm);
    walk_real(w, "flops.learner", &t->learner->flops);
    walk_real(w, "flops.agent", &t->agent->flops);
    t->log_due = log_due != 0;
    t->started = started != 0;
    t->task = task >= 0 && task < t->spec.num_tasks ? (int)task : -1;
    walk_rng(w, "rng.init", &t->init_rng);
    walk_rng(w, "rng.explore", &t->explore_rng);
    walk_rng(w, "rng.replay", &t->replay_rng);
    walk_rng(w, "rng.tasks", &t->task_rng);
    walk_f32(w, "s", t->s, (size_t)t->spec.state_size);
    walk_f64(w, "raw", t->raw, (size_t)t->spec.full_size);
    walk_f32(w, "rho", t->agent->rho, (size_t)(t->spec.num_tasks * t->agent->shape.features));
}

// Room for the states that walk_task copies, one row per task.
typedef struct buffers {
    double *env;
    double *reward;
    size_t reward_size;
} buffers;

static bool allocate_buffers(const fgsf_trainer *t, buffers *b) {
    size_t tasks = (size_t)t->spec.num_tasks;
    b->reward_size = t->rewards[0] ? fgsf_reward_state_size(t->rewards[0]) : 0;
    b->env = malloc(tasks * (size_t)t->spec.full_size * sizeof(double));
    b->reward = malloc((tasks * b->reward_size + 1) * sizeof(double));
    return b->env && b->reward;
}

static void walk_all(walk *w, fgsf_trainer *t, buffers *b) {
    walk_counters(w, t);
    for (int k = 0; k < t->agent->seen; k++) {
        walk_policy(w, t, k);
    }
    for (int task = 0; task < t->spec.num_tasks; task++) {
        walk_task(w, t, task, b->env + (size_t)task * (size_t)t->spec.full_size,
                  b->reward + (size_t)task * b->reward_size);
    }
}

fgsf_status fgsf_trainer_save(const fgsf_trainer *trainer, const char *path) {
    fgsf_trainer *t = (fgsf_trainer *)trainer; // the walk only reads when saving
    buffers b = {0};
    walk w = {0};
    char *config = fgsf_config_to_json(&t->cfg);
    fgsf_status status = fgsf_archive_create(&w.out);
    if (status == FGSF_OK && (!config || !allocate_buffers(t, &b))) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory for a checkpoint", path);
    }
    if (status == FGSF_OK) {
        fgsf_archive_put_text(w.out, "kind", "state");
        fgsf_archive_put_text(w.out, "config", config);
        fgsf_archive_put_int(w.out, "policies", t->agent->seen);
        walk_all(&w, t, &b);
        if (t->agent->set) {
            int count = fgsf_feature_set_count(t->agent->set);
            fgsf_archive_put_int(w.out, "members", count);
            if (count > 0) {
                fgsf_archive_put_f32(w.out, "members.phi", fgsf_feature_set_members(t->agent->set),
                                     (size_t)(count * t->spec.num_features));
            }
        }
        fgsf_replay_save(t->replay, w.out, "replay");
        status = fgsf_archive_save(w.out, path);
    }
    fgsf_archive_free(w.out);
    free(config);
    free(b.env);
    free(b.reward);
    return status;
}

static fgsf_status check_origin(const fgsf_trainer *t, const fgsf_archive *archive,
                                const char *path, int64_t *policies) {
    const char *kind, *config;
    fgsf_status status = fgsf_archive_get_text(archive, "kind", &kind);
    if (status == FGSF_OK && strcmp(kind, "state") != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: holds a %s, not a run's state", path, kind);
    }
    if (status == FGSF_OK) status = fgsf_archive_get_text(archive, "config", &config);
    if (status == FGSF_OK) status = fgsf_archive_get_int(archive, "policies", policies);
    if (status != FGSF_OK) {
        return status;
    }
    char *own = fgsf_config_to_json(&t->cfg);
    bool same = own && strcmp(own, config) == 0;
    free(own);
    if (!same) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: was written by a run with another configuration",
                         path);
    }
    if (*policies < 0 || *policies > t->agent->num_policies) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: policies: %lld is not in [0, %d]", path,
                         (long long)*policies, t->agent->num_policies);
    }
    return FGSF_OK;
}

// Whether the numbers that are used as indices are in range. A checksum says that a file is what was
// written, not that it was written by us.
static fgsf_status check_state(const fgsf_trainer *t, const char *path) {
    const fgsf_agent *agent = t->agent;
    bool known = t->task >= 0 && t->step >= 0 && t->step <= t->total_steps;
    if (!known || (t->started && fgsf_agent_policy_of(agent, t->task) >= agent->seen)) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: step %lld with %d policies does not exist", path,
                         (long long)t->step, agent->seen);
    }
    for (int64_t i = 0; i < fgsf_replay_count(t->replay); i++) {
        fgsf_transition tr = fgsf_replay_at(t->replay, i);
        int members = agent->set ? fgsf_feature_set_count(agent->set) : 0;
        bool event = agent->set ? tr.event >= 0 && tr.event < members : tr.event == -1;
        if (tr.action < 0 || tr.action >= t->spec.num_actions || tr.task < 0 ||
            tr.task >= t->spec.num_tasks || !event) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: transition %lld is out of range", path,
                             (long long)i);
        }
    }
    return FGSF_OK;
}

// Fills a trainer that was just created.
static fgsf_status fill(fgsf_trainer *t, const fgsf_archive *archive, const char *path) {
    buffers b = {0};
    int64_t policies = 0;
    fgsf_status status = check_origin(t, archive, path, &policies);
    if (status == FGSF_OK && !allocate_buffers(t, &b)) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory to load it", path);
    }
    if (status == FGSF_OK) status = fgsf_trainer_add_tasks(t, (int)policies);
    if (status == FGSF_OK) {
        walk w = {.in = archive};
        walk_all(&w, t, &b);
        status = w.status;
    }
    if (status == FGSF_OK && t->agent->set)
        status = fgsf_agent_load_members(t->agent, archive, path);
    if (status == FGSF_OK) status = fgsf_replay_load(t->replay, archive, "replay");
    if (status == FGSF_OK) status = check_state(t, path);
    free(b.env);
    free(b.reward);
    return status;
}

fgsf_status fgsf_trainer_load(fgsf_trainer *t, const char *path) {
    fgsf_archive *archive = NULL;
    fgsf_trainer *loaded = NULL;
    fgsf_status status = fgsf_archive_open(path, &archive);
    if (status == FGSF_OK) status = fgsf_trainer_create(&t->cfg, &loaded);
    if (status == FGSF_OK) status = fill(loaded, archive, path);
    if (status == FGSF_OK) {
        fgsf_trainer old = *t;
        *t = *loaded;
        *loaded = old;
        t->learner->rng = &t->replay_rng; // the one pointer into the struct itself
    }
    fgsf_trainer_free(loaded);
    fgsf_archive_free(archive);
    return status;
}
