// The state of a learner, walked both for saving and for loading.
#include <stdio.h>

#include "learning.h"

#define NAME_SIZE 64

static const char *numbered(char name[NAME_SIZE], const char *group, int k, const char *what) {
    snprintf(name, NAME_SIZE, "%s.%d.%s", group, k, what);
    return name;
}

static void walk_network(fgsf_network *net, fgsf_walk *w, int k, const char *what) {
    char name[NAME_SIZE];
    if (!net) return;
    float *data = w->loading ? fgsf_network_edit(net) : (float *)fgsf_network_parameters(net);
    w->array(w, numbered(name, "policy", k, what), FGSF_F32, data, fgsf_network_size(net));
}

// `of` is put before the names of the error network's optimiser.
static void walk_optimizer(fgsf_optimizer *opt, fgsf_walk *w, int k, const char *of, size_t size) {
    char name[NAME_SIZE], what[NAME_SIZE / 2];
    for (int i = 0; i < 2 && opt; i++) {
        float *moment = fgsf_optimizer_moment(opt, i);
        snprintf(what, sizeof what, "%smoment%d", of, i + 1);
        if (moment) {
            w->array(w, numbered(name, "policy", k, what), FGSF_F32, moment, size);
        }
    }
    int64_t steps = opt ? fgsf_optimizer_steps(opt) : 0;
    snprintf(what, sizeof what, "%ssteps", of);
    if (opt) w->integer(w, numbered(name, "policy", k, what), &steps);
    if (opt && w->loading) fgsf_optimizer_set_steps(opt, steps);
}

static void walk_training(fgsf_learner *l, fgsf_walk *w, int net) {
    char name[NAME_SIZE];
    fgsf_training *training = &l->training[net];
    size_t size = fgsf_network_size(l->agent->nets[net]);
    walk_network(training->target, w, net, "target");
    walk_network(training->error, w, net, "error");
    walk_optimizer(training->opt, w, net, "", size);
    walk_optimizer(training->error_opt, w, net, "error_", size);
    w->integer(w, numbered(name, "policy", net, "updates"), &training->updates);
}

static void walk_policies(fgsf_learner *l, fgsf_walk *w) {
    int64_t policies = l->agent->seen;
    w->integer(w, "policies", &policies);
    if (w->status == FGSF_OK && (policies < 0 || policies > l->agent->num_policies)) {
        w->status = fgsf_fail(FGSF_ERR_FORMAT, "%s: policies: %lld is not in [0, %d]", w->source,
                              (long long)policies, l->agent->num_policies);
    }
    while (w->status == FGSF_OK && l->agent->seen < policies) {
        w->status = fgsf_learner_add_task(l);
    }
    if (w->status != FGSF_OK) {
        return;
    }
    fgsf_agent_walk(l->agent, w);
    if (l->agent->shared) {
        w->array(w, "policy.0.head_steps", FGSF_I64, l->head_steps, (size_t)l->agent->num_policies);
    }
    for (int net = 0; net < fgsf_agent_num_nets(l->agent); net++) {
        if (l->training[net].opt) {
            walk_training(l, w, net);
        }
    }
}

// Whether the numbers that are used as indices are in range. A checksum says that a file is what was
// written, not that it was written by us.
static fgsf_status check_transitions(const fgsf_learner *l, const char *source) {
    const fgsf_agent_params *p = &l->params.agent;
    int members = l->agent->set ? fgsf_feature_set_count(l->agent->set) : 0;
    for (int64_t i = 0; i < fgsf_replay_count(l->replay); i++) {
        fgsf_transition t = fgsf_replay_at(l->replay, i);
        bool event = l->agent->set ? t.event >= 0 && t.event < members : t.event == -1;
        if (t.action < 0 || t.action >= p->num_actions || t.task < 0 || t.task >= p->num_tasks ||
            !event) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: transition %lld is out of range", source,
                             (long long)i);
        }
    }
    return FGSF_OK;
}

void fgsf_learner_walk(fgsf_learner *l, fgsf_walk *w) {
    char name[NAME_SIZE];
    walk_policies(l, w);
    for (int task = 0; l->rewards && task < l->params.agent.num_tasks; task++) {
        fgsf_reward_walk(l->rewards[task], w, numbered(name, "task", task, "reward"));
    }
    w->real(w, "flops.learner", &l->flops);
    w->real(w, "flops.agent", &l->agent->flops);
    fgsf_walk_rng(w, "rng.init", &l->init_rng);
    fgsf_walk_rng(w, "rng.explore", &l->explore_rng);
    fgsf_walk_rng(w, "rng.replay", &l->replay_rng);
    if (w->status == FGSF_OK) fgsf_replay_walk(l->replay, w, "replay");
    if (w->status == FGSF_OK && w->loading) w->status = check_transitions(l, w->source);
}
