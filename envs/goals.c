// Parsing env.goals. Whether a goal makes sense is for the environment to say.
#include "goals.h"

#include <math.h>
#include <string.h>

#include "number.h"

#define FARTHEST 1e6 // metres or cells; distances to what is farther could overflow

// Parses `number,number` up to a semicolon or the end; returns what follows, or NULL.
static const char *parse_pair(const char *text, double at[2]) {
    char *end;
    at[0] = fgsf_number_scan(text, &end);
    if (end == text || *end != ',') return NULL;
    text = end + 1;
    at[1] = fgsf_number_scan(text, &end);
    if (end == text || !isfinite(at[0]) || !isfinite(at[1])) return NULL;
    end += strspn(end, " ");
    return *end == ';' || *end == '\0' ? end : NULL;
}

static fgsf_status refuse(const char *text) {
    return fgsf_fail(FGSF_ERR_INVALID, "env.goals: '%.*s' is neither a cell 'row,col' nor '@x,y'",
                     (int)strcspn(text, ";"), text);
}

fgsf_status fgsf_goals_parse(const char *text, fgsf_goal out[FGSF_GOALS_MAX], int *count) {
    int n = 0;
    for (const char *at = text; *at != '\0';) {
        if (n == FGSF_GOALS_MAX) {
            return fgsf_fail(FGSF_ERR_INVALID, "env.goals: more than %d goals", FGSF_GOALS_MAX);
        }
        fgsf_goal goal = {.is_cell = *at != '@'};
        const char *end = parse_pair(at + !goal.is_cell, goal.at);
        bool whole = goal.at[0] == floor(goal.at[0]) && goal.at[1] == floor(goal.at[1]);
        if (!end || (goal.is_cell && !whole)) return refuse(at);
        if (fabs(goal.at[0]) > FARTHEST || fabs(goal.at[1]) > FARTHEST) {
            return fgsf_fail(FGSF_ERR_INVALID, "env.goals: '%.*s' is farther than %g",
                             (int)strcspn(at, ";"), at, FARTHEST);
        }
        out[n++] = goal;
        at = *end == ';' ? end + 1 : end;
        at += strspn(at, " ");
    }
    *count = n;
    return FGSF_OK;
}

bool fgsf_goal_weights(const fgsf_env *env, int task, double *w) {
    for (int k = 0; k < env->spec.num_tasks; k++) w[k] = k == task;
    return task < env->spec.num_tasks;
}

bool fgsf_goal_reward(const fgsf_env *env, int task, const double *phi, double *reward) {
    if (task < env->spec.num_tasks) *reward = phi[task];
    return task < env->spec.num_tasks;
}
