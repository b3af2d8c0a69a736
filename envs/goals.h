// The text of env.goals: places separated by semicolons, each a cell `row,col` or a point `@x,y`.
// Not public: shared by the environments with goals.
#ifndef FGSF_ENVS_GOALS_H
#define FGSF_ENVS_GOALS_H

#include <stdbool.h>

#include "fgsf/status.h"

#define FGSF_GOALS_MAX 256

typedef struct fgsf_goal {
    bool is_cell;
    double at[2]; // (row, col) of a cell, (x, y) in metres of a point
} fgsf_goal;

// Parses the text and stores how many goals it names (none for "").
fgsf_status fgsf_goals_parse(const char *text, fgsf_goal out[FGSF_GOALS_MAX], int *count);

#endif
