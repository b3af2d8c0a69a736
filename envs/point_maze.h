// PointMaze: a ball that is pushed through a maze of unit cells towards the task's goal (MuJoCo).
//
// The environment itself is reached through fgsf/env.h. This header adds its plan: the maze, the
// goals of all tasks, and the MJCF text that MuJoCo runs.
#ifndef FGSF_ENVS_POINT_MAZE_H
#define FGSF_ENVS_POINT_MAZE_H

#include "fgsf/env.h"
#include "grid.h"

FGSF_BEGIN_DECLS

#define FGSF_POINT_MAZE_RADIUS 0.1   // m, of the ball
#define FGSF_POINT_MAZE_MARGIN 0.004 // m, distance at which a contact starts to act

// What its keys set.
typedef struct fgsf_point_maze_params {
    char map[FGSF_TEXT_SIZE];    // a text file, or "" for a built-in layout
    char goals[FGSF_TEXT_SIZE];  // "" for the map's
    char layout[FGSF_NAME_SIZE]; // umaze, medium or large
    bool listed_goals;           // the layout's goals of the authors' code, where none are given
    bool goal_in_state, terminate_on_goal;
    double goal_noise; // m
} fgsf_point_maze_params;

typedef struct fgsf_point_maze_plan {
    int file;       // a checksum of the map file, 0 for a layout
    fgsf_grid grid; // '1' wall, '0' free
    int start_row, start_col;
    int *distance; // (rows, cols): cells on the way from the start, -1 where it cannot go
    int num_tasks, num_heldout;
    double (*goals)[2]; // (num_tasks + num_heldout, 2): x, y in metres
} fgsf_point_maze_plan;

// Reads the maze and decides the goals: env.layout, env.map, env.goals, env.num_tasks, preset.
fgsf_status fgsf_point_maze_plan_make(const fgsf_point_maze_params *params, int tasks,
                                      fgsf_point_maze_plan *out);
void fgsf_point_maze_plan_free(fgsf_point_maze_plan *plan);

// Returns the model as MJCF text, to be freed with free(), or NULL when out of memory.
char *fgsf_point_maze_xml(const fgsf_point_maze_plan *plan);

// Centre of a cell, in metres.
void fgsf_point_maze_centre(const fgsf_grid *grid, double row, double col, double *x, double *y);

// Returns true when the point lies in a free cell.
bool fgsf_point_maze_is_free(const fgsf_grid *grid, double x, double y);

FGSF_END_DECLS
#endif
