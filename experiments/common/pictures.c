// Policy maps and trajectories of a trained agent, as CSV for the export.
#include "pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/evaluate.h"
#include "four_rooms.h"
#include "jobs.h"

#define EPISODES 3 // trajectories per task
#define HORIZON 200

typedef struct view {
    fgsf_agent *agent;
    fgsf_env *env;
    fgsf_csv *csv;
    float *state, *q;
    double *raw;
    // What the agent would do, the value of that, and how much better it is than the next best action.
    fgsf_choice choice;
    double value, gap;
} view;

static fgsf_status look(view *v, int task) {
    int policies, actions = v->env->spec.num_actions;
    fgsf_env_observe(v->env, v->state);
    FGSF_TRY(fgsf_agent_q(v->agent, task, NULL, v->state, v->q, &policies));
    v->choice = fgsf_gpi_choose(v->q, policies, actions, FGSF_TIE_FIRST, NULL);
    v->value = v->q[v->choice.policy * actions + v->choice.action];
    v->gap = fgsf_gpi_gap(v->q, policies, actions);
    if (fgsf_agent_get_params(v->agent)->representation == FGSF_Q) { // asked its own network alone
        int last = fgsf_agent_num_policies(v->agent) - 1;
        v->choice.policy = task < last ? task : last;
    }
    return FGSF_OK;
}

// One row: the choice in a cell, what lies there (start, goal or a type of object), and what entering
// it pays in this task.
static fgsf_status map_cell(view *v, int task, int cell, const double *w) {
    const fgsf_four_rooms *m = fgsf_four_rooms_model(v->env);
    int kind = m->kind[cell];
    char name[16] = "";
    if (cell == m->start) snprintf(name, sizeof name, "start");
    if (kind > 0 && kind <= m->num_types) snprintf(name, sizeof name, "%d", kind);
    if (kind > m->num_types) snprintf(name, sizeof name, "goal");
    int row = m->row[cell], col = m->col[cell], action = v->choice.action;
    if (kind == 0) {
        return fgsf_csv_row(v->csv, "%d,%d,%d,%d,%d,%.6g,%s,,%.6g", task, row, col, action,
                            v->choice.policy, v->value, name, v->gap);
    }
    return fgsf_csv_row(v->csv, "%d,%d,%d,%d,%d,%.6g,%s,%g,%.6g", task, row, col, action,
                        v->choice.policy, v->value, name, w[kind - 1], v->gap);
}

// The greedy action in every free cell, with all objects still there.
static fgsf_status map_task(view *v, int task) {
    const fgsf_four_rooms *model = fgsf_four_rooms_model(v->env);
    double w[FGSF_FOUR_ROOMS_MAX_OBJECTS + 1] = {0};
    v->env->def->task_weights(v->env, task, w);
    FGSF_TRY(fgsf_env_set_task(v->env, task));
    for (int cell = 0; cell < model->num_cells; cell++) {
        memset(v->raw, 0, (size_t)v->env->spec.raw_size * sizeof(double));
        v->raw[0] = model->row[cell];
        v->raw[1] = model->col[cell];
        FGSF_TRY(fgsf_env_set_state(v->env, v->raw, v->env->spec.raw_size));
        FGSF_TRY(look(v, task));
        FGSF_TRY(map_cell(v, task, cell, w));
    }
    return FGSF_OK;
}

static fgsf_status trace_episode(view *v, int task, int episode) {
    bool maze = strcmp(v->env->def->name, "point_maze") == 0; // its raw state: x y vx vy gx gy
    fgsf_rng rng = fgsf_rng_make(FGSF_EVAL_SEED + (unsigned)episode, FGSF_STREAM_EVAL);
    FGSF_TRY(fgsf_env_set_task(v->env, task));
    FGSF_TRY(fgsf_env_reset(v->env, &rng));
    fgsf_step_result result = {0};
    for (int t = 0; t <= HORIZON; t++) {
        double x, y;
        v->env->def->position(v->env, &x, &y);
        fgsf_env_get_state(v->env, v->raw);
        FGSF_TRY(maze ? fgsf_csv_row(v->csv, "%d,%d,%d,%.6g,%.6g,%.6g,%.6g", task, episode, t, x, y,
                                     v->raw[4], v->raw[5])
                      : fgsf_csv_row(v->csv, "%d,%d,%d,%.6g,%.6g,,", task, episode, t, x, y));
        if (result.terminal) break;
        FGSF_TRY(look(v, task));
        FGSF_TRY(fgsf_env_step(v->env, v->choice.action, &rng, &result));
    }
    return FGSF_OK;
}

static fgsf_status write_tasks(view *v, bool map) {
    for (int task = 0; task < v->env->spec.num_tasks; task++) {
        if (fgsf_stop) return fgsf_fail(FGSF_STOPPED, "stopped during the pictures");
        if (map) FGSF_TRY(map_task(v, task));
        for (int episode = 0; !map && episode < EPISODES; episode++) {
            FGSF_TRY(trace_episode(v, task, episode));
        }
    }
    return FGSF_OK;
}

fgsf_status fgsf_pictures_write(fgsf_run *run, const fgsf_config *cfg, fgsf_agent *agent) {
    view v = {.agent = agent};
    fgsf_status status = fgsf_evaluate_env(agent, cfg, &v.env);
    if (status != FGSF_OK) return status;
    bool map = fgsf_four_rooms_model(v.env) != NULL;
    const fgsf_env_spec *spec = &v.env->spec;
    v.state = malloc((size_t)spec->state_size * sizeof(float));
    v.q = malloc((size_t)(fgsf_agent_num_policies(agent) * spec->num_actions) * sizeof(float));
    v.raw = malloc((size_t)spec->full_size * sizeof(double));
    if (!v.state || !v.q || !v.raw) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "no memory for pictures");
    } else if (map || v.env->def->position) {
        status = fgsf_csv_open(run, map ? "policy_map.csv" : "trajectory.csv",
                               map ? "task,row,col,action,prior,q,kind,reward,gap"
                                   : "task,episode,t,x,y,goal_x,goal_y",
                               -1, &v.csv);
        if (status == FGSF_OK) status = write_tasks(&v, map);
        fgsf_status closed = fgsf_csv_close(v.csv);
        status = status == FGSF_OK ? closed : status;
    }
    free(v.state);
    free(v.q);
    free(v.raw);
    fgsf_env_free(v.env);
    return status;
}
