// Pictures of what was learned: the greedy policy on the Four Rooms map, and paths through the
// mazes and of the arm. All from the arm's first seed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "point_maze.h"

// ---- policy map ---------------------------------------------------------------------------------

// What lies in a cell and its reward, from the columns kind and reward: "start", "goal" or a type of
// object. Runs that are older than these columns have no marks.
static fgsf_status put_mark_of(const csv *t, size_t row, plot *f) {
    size_t kind = 0, reward = 0;
    double value = NAN;
    const char *what = "";
    if (csv_find(t, "kind", &kind) && csv_find(t, "reward", &reward)) {
        what = csv_text(t, row, kind);
        TRY(csv_maybe(t, row, reward, &value));
    }
    bool is_object = *what && strspn(what, "0123456789") == strlen(what);
    fprintf(f->csv, ",%s,", is_object ? "object" : what);
    if (strcmp(what, "start") == 0) fputc('S', f->csv);
    if (strcmp(what, "goal") == 0) fputs("G ", f->csv);
    if (!isnan(value) && value != 0) fprintf(f->csv, "%+.3g", value);
    if (is_object && (isnan(value) || value == 0)) fputc('0', f->csv);
    fputc('\n', f->csv);
    return FGSF_OK;
}

static look prior_look(const char *prior) {
    return palette((size_t)labs(strtol(prior, NULL, 10)));
}

static fgsf_status put_map_row(const csv *t, size_t row, const size_t *cols, plot *f,
                               double *size) {
    double at[4]; // row, col, action, prior
    double q = NAN;
    const char *prior = csv_text(t, row, cols[4]);
    for (int k = 0; k < 4; k++) TRY(csv_number(t, row, cols[k + 1], &at[k]));
    TRY(csv_maybe(t, row, cols[5], &q));
    size[0] = fmax(size[0], at[0] + 1);
    size[1] = fmax(size[1], at[1] + 1);
    plot_point(f, prior, prior_look(prior), csv_text(t, row, cols[0]));
    fprintf(f->csv, ",%g,%g,%g,", at[0], at[1], at[2]);
    csv_put_number(f->csv, q);
    return put_mark_of(t, row, f);
}

static fgsf_status write_policy_map(const group *g, plot *f) {
    const run *r = g->shown.v[0]->example;
    const csv *t = &r->policy_map;
    double size[2] = {1, 1};
    size_t cols[6];
    TRY(csv_need(t, "task,row,col,action,prior,q", cols));
    f->series_column = "prior";
    f->panel_column = "task";
    f->panel_word = pool_printf("seed %ld, task ", r->seed);
    fputs("prior,task,row,col,action,q,kind,mark\n", f->csv);
    names priors = {0}; // the legend in the order of the tasks
    for (size_t row = 0; row < t->rows; row++) names_add(&priors, csv_text(t, row, cols[4]));
    names_sort(&priors, cell_compare);
    for (size_t i = 0; i < priors.n; i++) plot_series(f, priors.v[i], prior_look(priors.v[i]));
    for (size_t row = 0; row < t->rows; row++) TRY(put_map_row(t, row, cols, f, size));
    plot_number(f, "GRID_ROWS", size[0]);
    plot_number(f, "GRID_COLS", size[1]);
    plot_grid(f, f->panels.n > 4 ? 3 : 2, 400, 400);
    return FGSF_OK;
}

// ---- trajectories -------------------------------------------------------------------------------

// The corners of what is drawn: every panel shows the same part of the plane, with equal axes.
typedef struct frame {
    double low[2], high[2];
} frame;

static void extend(frame *seen, double x, double y, double reach) {
    const double at[2] = {x, y};
    for (int k = 0; k < 2; k++) seen->low[k] = fmin(seen->low[k], at[k] - reach);
    for (int k = 0; k < 2; k++) seen->high[k] = fmax(seen->high[k], at[k] + reach);
}

static void put_mark(plot *f, frame *seen, const char *kind, const char *task, double x, double y,
                     double reach) {
    fprintf(f->csv, "%s,%s,0,0,%g,%g\n", kind, task, x, y);
    extend(seen, x, y, reach);
}

// The walls of a built-in maze; of another one they are not known.
static void put_walls(plot *f, frame *seen, const char *layout) {
    fgsf_point_maze_params params = {0};
    fgsf_point_maze_plan plan;
    snprintf(params.layout, sizeof params.layout, "%s", layout);
    if (fgsf_point_maze_plan_make(&params, 1, &plan) != FGSF_OK) return;
    for (int r = 0; r < plan.grid.rows; r++) {
        for (int c = 0; c < plan.grid.cols; c++) {
            double x, y;
            if (fgsf_grid_at(&plan.grid, r, c) != '1') continue;
            fgsf_point_maze_centre(&plan.grid, r, c, &x, &y);
            put_mark(f, seen, "wall", "", x, y, 0.5);
        }
    }
    fgsf_point_maze_plan_free(&plan);
}

// Walls, or the four targets of the arm, of which task k has the k-th.
static void put_scenery(plot *f, frame *seen, const group *g) {
    static const double TARGETS[][2] = {{0.14, 0}, {-0.14, 0}, {0, 0.14}, {0, -0.14}};
    static const char *const TASKS[] = {"0", "1", "2", "3"};
    if (*g->layout) put_walls(f, seen, g->layout);
    for (size_t i = 0; i < 4 && strcmp(g->env, "reacher") == 0; i++) {
        put_mark(f, seen, "mark", "", TARGETS[i][0], TARGETS[i][1], 0.02);
        put_mark(f, seen, "goal", TASKS[i], TARGETS[i][0], TARGETS[i][1], 0.02);
    }
}

static fgsf_status put_paths(const arm *a, plot *f, frame *seen, int episodes) {
    const csv *t = &a->example->trajectory;
    size_t cols[5], goal_x = 0, goal_y = 0;
    TRY(csv_need(t, "task,episode,t,x,y", cols));
    bool goals = csv_find(t, "goal_x", &goal_x) && csv_find(t, "goal_y", &goal_y);
    for (size_t row = 0; row < t->rows; row++) {
        const char *task = csv_text(t, row, cols[0]);
        double at[4], goal[2] = {NAN, NAN}; // episode, t, x, y
        for (int k = 0; k < 4; k++) TRY(csv_number(t, row, cols[k + 1], &at[k]));
        if (at[0] >= episodes) continue;
        if (goals) TRY(csv_maybe(t, row, goal_x, &goal[0]));
        if (goals) TRY(csv_maybe(t, row, goal_y, &goal[1]));
        if (at[1] == 0 && !isnan(goal[0])) {
            put_mark(f, seen, "goal", task, goal[0], goal[1], 0);
            put_mark(f, seen, "mark", "", goal[0], goal[1], 0);
        }
        plot_point(f, a->name, a->look, task);
        fprintf(f->csv, ",%g,%g,%.6g,%.6g\n", at[0], at[1], at[2], at[3]);
        extend(seen, at[2], at[3], 0);
    }
    return FGSF_OK;
}

static fgsf_status write_trajectories(const group *g, plot *f) {
    static const char *const EDGES[] = {"LOW_X", "LOW_Y", "HIGH_X", "HIGH_Y"};
    frame seen = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    long seed = -1;
    bool is_arm = strcmp(g->env, "reacher") == 0;
    int episodes = is_arm ? 1 : 3; // the arm's tip never rests, so one path fills the picture
    f->panel_column = "task";
    fputs("method,task,episode,t,x,y\n", f->csv);
    put_scenery(f, &seen, g);
    for (size_t i = 0; i < g->shown.n; i++) {
        const arm *a = g->shown.v[i];
        if (a->example->trajectory.rows == 0) continue;
        TRY(put_paths(a, f, &seen, episodes));
        seed = a->example->seed;
    }
    f->panel_word = pool_printf("seed %ld, task ", seed);
    plot_text(f, "XLABEL", "x (m)");
    plot_text(f, "YLABEL", "y (m)");
    plot_number(f, "EPISODES", episodes);
    plot_number(f, "TIC", is_arm ? 0.1 : strcmp(g->layout, "large") == 0 ? 2 : 1);
    double size = fmax(seen.high[0] - seen.low[0], seen.high[1] - seen.low[1]);
    double far = 0, margin = 0.04 * size;
    for (int k = 0; k < 2; k++) far = fmax(far, fmax(fabs(seen.low[k]), fabs(seen.high[k])));
    if (size <= 1e-6 * far) margin = 0.5 + 0.1 * far; // nothing moved; gnuplot needs a range
    for (int k = 0; k < 2; k++) plot_number(f, EDGES[k], seen.low[k] - margin);
    for (int k = 0; k < 2; k++) plot_number(f, EDGES[k + 2], seen.high[k] + margin);
    plot_grid(f, f->panels.n > 4 ? 4 : 2, 330, 330);
    return FGSF_OK;
}

const figure picture_figures[] = {
    {"policy_map", HAS_MAP, "greedy actions, coloured by the policy that GPI picked",
     write_policy_map, "policy_map", 0, 0},
    {"trajectories", HAS_TRAJECTORY, "paths of the first evaluation episodes", write_trajectories,
     "trajectories", 0, 0},
    {0},
};
