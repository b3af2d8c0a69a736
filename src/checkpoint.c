// What the library keeps in archives: policies, learners, whole runs. Saving references the memory of
// what is saved; loading a run fills a new trainer, which takes the old one's place only when
// everything was there and made sense.
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"
#include "fgsf/archive.h"
#include "fgsf/version.h"
#include "trainer_internal.h"
#include "require.h"

#define NAME_SIZE 64

// ---- Walking an archive ---------------------------------------------------------------------------

typedef struct archive_walk {
    fgsf_walk walk; // first: the callbacks get a pointer to it
    fgsf_archive *out;
    const fgsf_archive *in;
} archive_walk;

static void walk_array(fgsf_walk *w, const char *name, fgsf_number type, void *data, size_t count) {
    archive_walk *a = (archive_walk *)w;
    if (!w->loading) {
        fgsf_archive_put(a->out, name, type, data, count);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get(a->in, name, type, data, count);
    }
}

static void walk_integer(fgsf_walk *w, const char *name, int64_t *value) {
    archive_walk *a = (archive_walk *)w;
    if (!w->loading) {
        fgsf_archive_put_int(a->out, name, *value);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_int(a->in, name, value);
    }
}

static void walk_real(fgsf_walk *w, const char *name, double *value) {
    archive_walk *a = (archive_walk *)w;
    if (!w->loading) {
        fgsf_archive_put_real(a->out, name, *value);
    } else if (w->status == FGSF_OK) {
        w->status = fgsf_archive_get_real(a->in, name, value);
    }
}

static archive_walk make_walk(fgsf_archive *out, const fgsf_archive *in, const char *source) {
    return (archive_walk){.walk = {.loading = in != NULL,
                                   .source = source,
                                   .array = walk_array,
                                   .integer = walk_integer,
                                   .real = walk_real},
                          .out = out,
                          .in = in};
}

void fgsf_replay_save(const fgsf_replay *replay, fgsf_archive *archive, const char *prefix) {
    if (!(replay && archive)) return;
    archive_walk w = make_walk(archive, NULL, "");
    fgsf_replay_walk((fgsf_replay *)replay, &w.walk, prefix); // only read when saving
}

fgsf_status fgsf_replay_load(fgsf_replay *replay, const fgsf_archive *archive, const char *prefix) {
    FGSF_REQUIRE(replay && archive);
    archive_walk w = make_walk(NULL, archive, prefix);
    fgsf_replay_walk(replay, &w.walk, prefix);
    return w.walk.status;
}

// ---- Files and their configuration ----------------------------------------------------------------

// Files are read by the minor version that wrote them. Those of 0.1 do not say theirs.
static fgsf_status check_version(const fgsf_archive *archive, const char *path) {
    const char *version;
    if (fgsf_archive_get_text(archive, "version", &version) != FGSF_OK) version = "0.1";
    int major = -1, minor = -1;
    sscanf(version, "%d.%d", &major, &minor);
    if (major == FGSF_VERSION_MAJOR && minor == FGSF_VERSION_MINOR) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: was written by FGSF %.20s, which FGSF %s cannot read",
                     path, version, fgsf_version());
}

// Opens a file and checks what it holds; `json` points into it.
static fgsf_status open_file(const char *path, const char *kind, fgsf_archive **archive,
                             const char **json) {
    const char *holds;
    FGSF_TRY(fgsf_archive_open(path, archive));
    FGSF_TRY(check_version(*archive, path));
    FGSF_TRY(fgsf_archive_get_text(*archive, "kind", &holds));
    if (strcmp(holds, kind) != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: holds a %s, not a %s", path, holds, kind);
    }
    return fgsf_archive_get_text(*archive, "config", json);
}

// The configuration in a file, which may be of an environment that is not registered.
static fgsf_status read_config(const char *json, const char *path, fgsf_config *cfg) {
    cJSON *root = NULL;
    fgsf_status status = fgsf_json_parse(json, path, &root);
    if (status == FGSF_OK) status = fgsf_config_resolve(NULL, "clean", "fg-sfrql", cfg);
    if (status == FGSF_OK) status = fgsf_config_read_json(cfg, root, path, true);
    cJSON_Delete(root);
    return status;
}

// A run may go on on another device.
static fgsf_status check_same_config(const fgsf_config *cfg, const char *json, const char *path) {
    fgsf_config saved;
    fgsf_status status = read_config(json, path, &saved);
    if (status != FGSF_OK) return status;
    saved.learner.agent.threads = cfg->learner.agent.threads;
    memcpy(saved.learner.agent.device, cfg->learner.agent.device, FGSF_NAME_SIZE);
    char *own = fgsf_config_to_json(cfg), *other = fgsf_config_to_json(&saved);
    if (!own || !other) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory to compare it", path);
    } else if (strcmp(own, other) != 0) {
        status = fgsf_fail(FGSF_ERR_INVALID, "%s: was written with another configuration", path);
    }
    free(own);
    free(other);
    return status;
}

// Saves what is walked, or loads it.
typedef void (*walk_function)(fgsf_walk *w, void *object);

// Writes a file of one kind with a configuration in it.
static fgsf_status save_file(const char *path, const char *kind, const fgsf_config *cfg,
                             walk_function walk, const void *object) {
    fgsf_archive *archive = NULL;
    char *json = fgsf_config_to_json(cfg); // lives until it is written, as what is walked
    fgsf_status status = json ? fgsf_archive_create(&archive)
                              : fgsf_fail(FGSF_ERR_MEMORY, "%s: no memory to save", path);
    if (status == FGSF_OK) {
        archive_walk w = make_walk(archive, NULL, path);
        fgsf_archive_put_text(archive, "version", fgsf_version());
        fgsf_archive_put_text(archive, "kind", kind);
        fgsf_archive_put_text(archive, "config", json);
        walk(&w.walk, (void *)object); // only read when saving, but for room that it has for this
        status = fgsf_archive_save(archive, path);
    }
    fgsf_archive_free(archive);
    free(json);
    return status;
}

// Reads one that has the same configuration.
static fgsf_status load_file(const char *path, const char *kind, const fgsf_config *cfg,
                             walk_function walk, void *object) {
    fgsf_archive *archive = NULL;
    const char *json = NULL;
    fgsf_status status = open_file(path, kind, &archive, &json);
    if (status == FGSF_OK) status = check_same_config(cfg, json, path);
    if (status == FGSF_OK) {
        archive_walk w = make_walk(NULL, archive, path);
        walk(&w.walk, object);
        status = w.walk.status;
    }
    fgsf_archive_free(archive);
    return status;
}

// ---- Policies -------------------------------------------------------------------------------------

// The sizes of the environment that a policy was made for.
static void walk_sizes(fgsf_walk *w, fgsf_agent_params *p) {
    struct {
        const char *name;
        int *value;
    } sizes[] = {{"num_tasks", &p->num_tasks},
                 {"num_heldout", &p->num_heldout},
                 {"num_actions", &p->num_actions},
                 {"num_features", &p->num_features},
                 {"state_size", &p->state_size}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t value = *sizes[i].value;
        w->integer(w, sizes[i].name, &value);
        if (w->status == FGSF_OK && (value < 0 || value > 1 << 20)) {
            w->status = fgsf_fail(FGSF_ERR_FORMAT, "%s: %s: %lld is out of range", w->source,
                                  sizes[i].name, (long long)value);
        }
        if (w->status == FGSF_OK) *sizes[i].value = (int)value;
    }
}

static void save_policy(fgsf_walk *w, void *object) {
    fgsf_agent *agent = object;
    fgsf_agent_params sizes = agent->params;
    int64_t policies = agent->seen;
    walk_sizes(w, &sizes);
    w->integer(w, "policies", &policies);
    fgsf_agent_walk(agent, w);
}

fgsf_status fgsf_agent_save(const fgsf_agent *agent, const fgsf_config *cfg, const char *path) {
    FGSF_REQUIRE(agent);
    fgsf_config own;
    if (!cfg) {
        fgsf_learner_params params = fgsf_learner_default_params();
        params.agent = agent->params;
        FGSF_TRY(fgsf_config_from_learner(&params, &own));
    }
    return save_file(path, "policy", cfg ? cfg : &own, save_policy, agent);
}

// The members of an exact feature set come with the file, where the environment would give them.
static fgsf_status load_exact_members(const fgsf_archive *archive, fgsf_agent_params *p,
                                      double **members) {
    int64_t count = fgsf_archive_count(archive, "members.phi");
    if (p->representation != FGSF_XI || p->xi.kind != FGSF_XI_EXACT || count <= 0) return FGSF_OK;
    float *phi = malloc((size_t)count * sizeof *phi);
    *members = malloc((size_t)count * sizeof **members);
    fgsf_status status =
        phi && *members ? fgsf_archive_get(archive, "members.phi", FGSF_F32, phi, (size_t)count)
                        : fgsf_fail(FGSF_ERR_MEMORY, "no memory for a feature set");
    for (int64_t i = 0; i < count && status == FGSF_OK; i++) (*members)[i] = phi[i];
    free(phi);
    p->xi.members = *members;
    p->xi.num_members = p->num_features > 0 ? (int)(count / p->num_features) : 0;
    return status;
}

// Makes an agent for the file's configuration and fills it.
static fgsf_status load_agent(const fgsf_archive *archive, const char *path, const fgsf_config *cfg,
                              fgsf_agent **out) {
    fgsf_learner_params params;
    double *members = NULL;
    int64_t policies = 0;
    archive_walk w = make_walk(NULL, archive, path);
    FGSF_TRY(fgsf_config_learner(cfg, &params));
    walk_sizes(&w.walk, &params.agent);
    w.walk.integer(&w.walk, "policies", &policies);
    fgsf_status status = w.walk.status;
    if (status == FGSF_OK) status = load_exact_members(archive, &params.agent, &members);
    if (status == FGSF_OK) status = fgsf_agent_create(&params.agent, 1, out);
    free(members);
    if (status != FGSF_OK) return status;
    (*out)->params.xi.members = NULL;
    if (policies < 1 || policies > (*out)->num_policies) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: policies: %lld is not in [1, %d]", path,
                         (long long)policies, (*out)->num_policies);
    }
    fgsf_rng unused = fgsf_rng_make(0, 0);
    while ((*out)->seen < policies && status == FGSF_OK) {
        status = fgsf_agent_add_policy(*out, &unused);
    }
    if (status != FGSF_OK) return status;
    fgsf_agent_walk(*out, &w.walk);
    return w.walk.status;
}

fgsf_status fgsf_agent_load(const char *path, const char *device, fgsf_config *cfg,
                            fgsf_agent **out) {
    FGSF_REQUIRE(path && out);
    fgsf_archive *archive = NULL;
    fgsf_agent *agent = NULL;
    fgsf_config read;
    const char *json = NULL;
    fgsf_status status = open_file(path, "policy", &archive, &json);
    if (status == FGSF_OK) status = read_config(json, path, &read);
    if (status == FGSF_OK) read.learner.agent.threads = 1; // acting has no large products
    if (status == FGSF_OK && device) {
        status = fgsf_config_set(&read, "device.name", device, "--device");
    }
    if (status == FGSF_OK) status = load_agent(archive, path, &read, &agent);
    fgsf_archive_free(archive);
    if (status != FGSF_OK) {
        fgsf_agent_free(agent);
        return status;
    }
    if (cfg) *cfg = read;
    *out = agent;
    return FGSF_OK;
}

// ---- Learners -------------------------------------------------------------------------------------

static void walk_learner(fgsf_walk *w, void *object) {
    fgsf_learner *learner = object;
    fgsf_agent_params sizes = learner->params.agent;
    walk_sizes(w, &sizes);
    fgsf_learner_walk(learner, w);
}

fgsf_status fgsf_learner_save(const fgsf_learner *learner, const char *path) {
    FGSF_REQUIRE(learner);
    fgsf_config cfg;
    FGSF_TRY(fgsf_config_from_learner(&learner->params, &cfg));
    return save_file(path, "learner", &cfg, walk_learner, learner);
}

fgsf_status fgsf_learner_load(fgsf_learner *learner, const char *path) {
    FGSF_REQUIRE(learner && path);
    fgsf_config cfg;
    FGSF_TRY(fgsf_config_from_learner(&learner->params, &cfg));
    return load_file(path, "learner", &cfg, walk_learner, learner);
}

// ---- Runs -----------------------------------------------------------------------------------------

static void walk_task(fgsf_walk *w, fgsf_trainer *t, int task) {
    double *state = t->env_state + (size_t)task * (size_t)t->spec.full_size;
    fgsf_episode *episode = &t->episodes[task];
    fgsf_account *account = &t->accounts[task];
    int64_t over = episode->over;
    char name[7][NAME_SIZE];
    const char *const names[7] = {
        "env", "rng", "over", "length", "account_steps", "account_episodes", "cum_reward"};
    for (int i = 0; i < 7; i++) snprintf(name[i], NAME_SIZE, "task.%d.%s", task, names[i]);
    if (!w->loading) fgsf_env_get_state(t->envs[task], state);
    w->array(w, name[0], FGSF_F64, state, (size_t)t->spec.full_size);
    if (w->loading && w->status == FGSF_OK) {
        w->status = fgsf_env_set_state(t->envs[task], state, t->spec.full_size);
    }
    fgsf_walk_rng(w, name[1], &t->env_rng[task]);
    w->integer(w, name[2], &over);
    episode->over = over != 0;
    w->integer(w, name[3], &episode->length);
    w->integer(w, name[4], &account->steps);
    w->integer(w, name[5], &account->episodes);
    w->real(w, name[6], &account->cum_reward);
}

static void walk_counters(fgsf_walk *w, fgsf_trainer *t) {
    int64_t log_due = t->log_due, task = t->task, started = t->started;
    w->integer(w, "step", &t->step);
    w->integer(w, "task", &task);
    w->integer(w, "started", &started);
    w->integer(w, "log_due", &log_due);
    w->integer(w, "optimizer_steps", &t->optimizer_steps);
    w->integer(w, "skipped_updates", &t->skipped_updates);
    w->integer(w, "window.updates", &t->window.updates);
    w->integer(w, "window.pairs", &t->window.pairs);
    w->integer(w, "window.other_best", &t->window.other_best);
    w->real(w, "window.loss", &t->window.loss);
    w->real(w, "window.grad_norm", &t->window.grad_norm);
    t->log_due = log_due != 0;
    t->started = started != 0;
    t->task = task >= 0 && task < t->spec.num_tasks ? (int)task : -1;
    fgsf_walk_rng(w, "rng.tasks", &t->task_rng);
    w->array(w, "s", FGSF_F32, t->s, (size_t)t->spec.state_size);
    w->array(w, "raw", FGSF_F64, t->raw, (size_t)t->spec.full_size);
}

// An environment that is made from files, such as a map, must be made from the same ones.
static void walk_files(fgsf_walk *w, const fgsf_trainer *t) {
    int64_t files = t->spec.files;
    if (files == 0) return;
    w->integer(w, "env.files", &files);
    if (w->status != FGSF_OK || files == t->spec.files) return;
    w->status = fgsf_fail(FGSF_ERR_INVALID,
                          "%s: was made with another content of the files of '%s' (env.map, say)",
                          w->source, t->cfg.env.name);
}

static void walk_trainer(fgsf_walk *w, void *object) {
    fgsf_trainer *t = object;
    walk_files(w, t);
    walk_counters(w, t);
    fgsf_learner_walk(t->learner, w);
    for (int task = 0; task < t->spec.num_tasks; task++) walk_task(w, t, task);
}

fgsf_status fgsf_trainer_save(const fgsf_trainer *trainer, const char *path) {
    FGSF_REQUIRE(trainer);
    return save_file(path, "state", &trainer->cfg, walk_trainer, trainer);
}

static fgsf_status check_state(const fgsf_trainer *t, const char *path) {
    bool known = t->task >= 0 && t->step >= 0 && t->step <= t->total_steps;
    if (!known || (t->started && fgsf_agent_policy_of(t->agent, t->task) >= t->agent->seen)) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: step %lld with %d policies does not exist", path,
                         (long long)t->step, t->agent->seen);
    }
    return FGSF_OK;
}

fgsf_status fgsf_trainer_load(fgsf_trainer *t, const char *path) {
    FGSF_REQUIRE(t && path);
    fgsf_trainer *loaded = NULL;
    FGSF_TRY(fgsf_trainer_create(&t->cfg, &loaded));
    fgsf_status status = load_file(path, "state", &t->cfg, walk_trainer, loaded);
    if (status == FGSF_OK) status = check_state(loaded, path);
    if (status == FGSF_OK) {
        fgsf_trainer old = *t;
        *t = *loaded;
        *loaded = old;
        t->learner->params.avg.context = t; // which draws fresh samples, has moved
    }
    fgsf_trainer_free(loaded);
    return status;
}
