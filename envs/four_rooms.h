// Four Rooms: collect objects of the right type, then leave through the goal.
//
// The environment itself is reached through fgsf/env.h. This header adds its exact model, with which
// tests and studies solve it in closed form:
//
//     const fgsf_four_rooms *model = fgsf_four_rooms_model(env);
//     fgsf_four_rooms_tabular(model, 0, P, features);        // the inventory frozen at "nothing"
//     fgsf_four_rooms_evaluate(model->num_cells, P, features, model->num_features, policy, gamma, psi);
//
// Cells are the free ones, numbered row by row. Inventories are bit sets; the bits follow a scan of
// the map column by column. Actions: 0 left, 1 up, 2 right, 3 down.
#ifndef FGSF_ENVS_FOUR_ROOMS_H
#define FGSF_ENVS_FOUR_ROOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "fgsf/env.h"

FGSF_BEGIN_DECLS

#define FGSF_FOUR_ROOMS_ACTIONS 4
#define FGSF_FOUR_ROOMS_MAX_OBJECTS 60
#define FGSF_FOUR_ROOMS_HELDOUT 10

// What its keys set.
typedef struct fgsf_four_rooms_params {
    char map[FGSF_TEXT_SIZE]; // a text file, or "" for the built-in map
    double step_cost;         // subtracted from the reward of a step that collects nothing
} fgsf_four_rooms_params;

// The map, indexed. A step's `kind` is the row of the feature set that it gives: 0 nothing, k an
// object of type k, num_types + 1 the goal.
typedef struct fgsf_four_rooms {
    int rows, cols;
    int num_cells; // 152 on the built-in map
    int num_objects, num_types;
    int num_features; // num_types + 1: one per type, then the goal
    int num_kinds;    // num_types + 2
    int start;        // a cell
    double slip;      // probability that a uniform action replaces the chosen one
    int *row, *col;   // (num_cells)
    int *cell_at;     // (rows, cols): the cell, or -1 for a wall
    int *next;        // (num_cells, 4): where an action leads; the cell itself on a bump
    int *object;      // (num_cells): the inventory bit of the object there, or -1
    int *kind;        // (num_cells): what entering the cell gives, if its object is still there
    double *features; // (num_kinds, num_features): the exact feature set
    int file;         // a checksum of the map file, 0 for the built-in map
    int num_rewards;
    double *rewards; // (num_rewards, num_features): the pool that tasks take their weights from
} fgsf_four_rooms;

typedef struct fgsf_four_rooms_outcome {
    double probability;
    int cell;
    uint64_t inventory;
    int kind;
    bool terminal;
} fgsf_four_rooms_outcome;

// Returns the model of an environment, or NULL when it is not a Four Rooms.
const fgsf_four_rooms *fgsf_four_rooms_model(const fgsf_env *env);

// Indexes a map: "" means the built-in one, else a text file. `model` must be zero or freed.
fgsf_status fgsf_four_rooms_load(const char *path, fgsf_four_rooms *model);
void fgsf_four_rooms_unload(fgsf_four_rooms *model);

// Returns where an action leads without slip. A bump into a wall moves nothing and gives nothing.
fgsf_four_rooms_outcome fgsf_four_rooms_move(const fgsf_four_rooms *model, int cell,
                                             uint64_t inventory, int action);

// Lists the distinct outcomes of an action, slip included, and returns how many there are.
int fgsf_four_rooms_outcomes(const fgsf_four_rooms *model, int cell, uint64_t inventory, int action,
                             fgsf_four_rooms_outcome out[FGSF_FOUR_ROOMS_ACTIONS]);

// Writes the tabular model over the cells alone: P (num_cells, 4, num_cells) and the expected
// features of a step (num_cells, 4, num_features). The inventory is held at `inventory`: an object
// whose bit is clear gives its feature at every visit, the others never do. Rows of goal cells are
// zero, so that nothing follows a terminal step.
void fgsf_four_rooms_tabular(const fgsf_four_rooms *model, uint64_t inventory, double *P,
                             double *features);

// Solves x = y + gamma P pi x exactly (LU in double precision) for a policy (num_cells, 4) of action
// probabilities; y and x are (num_cells, 4, width).
fgsf_status fgsf_four_rooms_evaluate(int num_cells, const double *P, const double *y, int width,
                                     const double *policy, double gamma, double *x);

FGSF_END_DECLS
#endif
