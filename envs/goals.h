// The text of env.goals: places separated by semicolons, each a cell `row,col` or a point `@x,y`; and
// rewards that are the feature of the task's goal. Not public: shared by the environments with goals.
#ifndef FGSF_ENVS_GOALS_H
#define FGSF_ENVS_GOALS_H

#include <math.h>
#include <stdbool.h>

#include "fgsf/env.h"

#define FGSF_GOALS_MAX 256

typedef struct fgsf_goal {
    bool is_cell;
    double at[2]; // (row, col) of a cell, (x, y) in metres of a point
} fgsf_goal;

// Parses the text and stores how many goals it names (none for "").
fgsf_status fgsf_goals_parse(const char *text, fgsf_goal out[FGSF_GOALS_MAX], int *count);

static inline double fgsf_goal_distance(const double a[2], const double b[2]) {
    double dx = a[0] - b[0], dy = a[1] - b[1];
    return sqrt(dx * dx + dy * dy);
}

// What a definition says of its tasks where each trained goal has a feature and no other goal has one.
bool fgsf_goal_weights(const fgsf_env *env, int task, double *w);
bool fgsf_goal_reward(const fgsf_env *env, int task, const double *phi, double *reward);

#endif
