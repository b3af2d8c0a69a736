// Pictures of an environment in characters: Four Rooms as its map, PointMaze as its maze with the
// ball's trail, Reacher as an arm seen from above, any other environment as the numbers of its raw state.
//
//     fgsf_watch_view *view = NULL;
//     fgsf_watch_view_create(cfg, env, &view);
//     fgsf_watch_view_draw(view, env, task, first);      // after every reset and step
//     for (int row = 0; row < view->rows; row++) puts(fgsf_watch_view_row(view, row));
#ifndef FGSF_WATCH_VIEW_H
#define FGSF_WATCH_VIEW_H

#include "fgsf/env.h"

// A canvas of characters: '#' wall, '.' trail, '@' the agent, 'G' the goal, digits objects,
// 'o' a joint, '*' and '+' the links of an arm, ' ' nothing.
typedef struct fgsf_watch_view {
    int rows, cols;
    int aspect;          // how many characters are as wide as one is high: 1 or 2
    char *cells, *trail; // (rows, cols)
    char *line;          // one row, spaced out and ended
    bool numbers;        // there is no picture
    void *model;         // the environment's own: a plan, or a second instance
    double *state;       // (full_size)
    void (*draw)(struct fgsf_watch_view *view, const fgsf_env *env, int task);
} fgsf_watch_view;

fgsf_status fgsf_watch_view_create(const fgsf_config *cfg, const fgsf_env *env,
                                   fgsf_watch_view **out);
void fgsf_watch_view_free(fgsf_watch_view *view);

// Draws the environment's state; `first` starts a new trail.
void fgsf_watch_view_draw(fgsf_watch_view *view, const fgsf_env *env, int task, bool first);

// Returns a row as it is to be printed, valid until the next call.
const char *fgsf_watch_view_row(fgsf_watch_view *view, int row);

// Returns the name of an action.
const char *fgsf_watch_action(const fgsf_env *env, int action);

// Writes the canvas as an image (binary PPM), 12 pixels per character height.
fgsf_status fgsf_watch_view_save(const fgsf_watch_view *view, const char *path);

#endif
