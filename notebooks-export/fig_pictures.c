// Pictures of what was learned: the greedy policy on the Four Rooms map, and paths through the
// mazes and of the arm. All from the arm's first seed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

static int compare_numbers(const void *a, const void *b) {
    long i = strtol(*(const char *const *)a, NULL, 10);
    long j = strtol(*(const char *const *)b, NULL, 10);
    return (i > j) - (i < j);
}

// ---- policy map ---------------------------------------------------------------------------------

static fgsf_status put_map_row(const csv *t, size_t row, const size_t *cols, plot *f,
                               double *size) {
    double at[4]; // row, col, action, prior
    double q = NAN;
    for (int k = 0; k < 4; k++) TRY(csv_number(t, row, cols[k + 1], &at[k]));
    TRY(csv_maybe(t, row, cols[5], &q));
    size[0] = fmax(size[0], at[0] + 1);
    size[1] = fmax(size[1], at[1] + 1);
    plot_put_name(f, csv_text(t, row, cols[0]));
    fprintf(f->csv, ",%g,%g,%g,%g,", at[0], at[1], at[2], at[3]);
    csv_put_number(f->csv, q);
    fputc('\n', f->csv);
    f->rows++;
    return FGSF_OK;
}

static fgsf_status write_policy_map(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"task", "row", "col", "action", "prior", "q"};
    const csv *t = &arm_example(&g->arms[0])->policy_map;
    names tasks = {0};
    names priors = {0};
    names colours = {0};
    double size[2] = {1, 1};
    size_t cols[6];
    TRY(csv_need(t, COLUMNS, 6, cols));
    fputs("task,row,col,action,prior,q\n", f->csv);
    for (size_t row = 0; row < t->rows; row++) {
        TRY(put_map_row(t, row, cols, f, size));
        TRY(names_add(&e->pool, &tasks, csv_text(t, row, cols[0])));
        TRY(names_add(&e->pool, &priors, csv_text(t, row, cols[4])));
    }
    qsort(priors.v, priors.n, sizeof *priors.v, compare_numbers);
    for (size_t i = 0; i < priors.n; i++) {
        TRY(pool_push(&e->pool, &colours.v, &colours.n, sizeof *colours.v));
        colours.v[i] = palette((size_t)labs(strtol(priors.v[i], NULL, 10)));
    }
    plot_panels(f, "prior", "task", &tasks, "task ");
    plot_series(f, &priors, &colours);
    plot_number(f, "GRID_ROWS", size[0]);
    plot_number(f, "GRID_COLS", size[1]);
    plot_grid(f, tasks.n, tasks.n > 4 ? 3 : 2, 350, 350);
    return FGSF_OK;
}

// ---- trajectories -------------------------------------------------------------------------------

// The mazes, whose walls are drawn behind the paths; one cell is one unit, the middle is (0, 0).
static const struct {
    const char *layout;
    const char *rows[10];
} MAZES[] = {
    {"umaze", {"#####", "#...#", "###.#", "#...#", "#####"}},
    {"medium",
     {"########", "#..##..#", "#..#...#", "##...###", "#..#...#", "#.#..#.#", "#...#..#",
      "########"}},
    {"large",
     {"############", "#....#.....#", "#.##.#.#.#.#", "#......#...#", "#.####.###.#",
      "#..#.#.....#", "##.#.#.#.###", "#..#...#...#", "############"}},
};

static void put_mark(plot *f, const char *kind, double x, double y) {
    fprintf(f->csv, "%s,,0,0,%g,%g\n", kind, x, y);
}

static void put_walls(plot *f, const char *const *rows) {
    size_t height = 0;
    while (rows[height]) height++;
    for (size_t r = 0; r < height; r++) {
        double width = (double)strlen(rows[r]);
        for (size_t c = 0; rows[r][c]; c++) {
            if (rows[r][c] != '#') continue;
            put_mark(f, "wall", (double)c + 0.5 - width / 2, (double)height / 2 - (double)r - 0.5);
        }
    }
}

// Walls of a known maze, or the four targets of the arm.
static void put_scenery(plot *f, const group *g) {
    static const double TARGETS[][2] = {{0.14, 0}, {-0.14, 0}, {0, 0.14}, {0, -0.14}};
    for (size_t i = 0; i < sizeof MAZES / sizeof MAZES[0]; i++) {
        if (g->layout && strcmp(g->layout, MAZES[i].layout) == 0) put_walls(f, MAZES[i].rows);
    }
    for (size_t i = 0; i < 4 && strcmp(g->env, "reacher") == 0; i++) {
        put_mark(f, "mark", TARGETS[i][0], TARGETS[i][1]);
    }
}

static fgsf_status put_paths(exporter *e, const arm *a, plot *f, int episodes, names *tasks) {
    static const char *const COLUMNS[] = {"task", "episode", "t", "x", "y"};
    const csv *t = &arm_example(a)->trajectory;
    size_t cols[5];
    TRY(csv_need(t, COLUMNS, 5, cols));
    for (size_t row = 0; row < t->rows; row++) {
        double at[4]; // episode, t, x, y
        for (int k = 0; k < 4; k++) TRY(csv_number(t, row, cols[k + 1], &at[k]));
        if (at[0] >= episodes) continue;
        TRY(names_add(&e->pool, tasks, csv_text(t, row, cols[0])));
        plot_put_name(f, a->label);
        fputc(',', f->csv);
        plot_put_name(f, csv_text(t, row, cols[0]));
        fprintf(f->csv, ",%g,%g,%.6g,%.6g\n", at[0], at[1], at[2], at[3]);
        f->rows++;
    }
    return FGSF_OK;
}

static fgsf_status write_trajectories(exporter *e, const group *g, plot *f) {
    names tasks = {0};
    names series = {0};
    names colours = {0};
    bool is_arm = strcmp(g->env, "reacher") == 0;
    int episodes = is_arm ? 1 : 3; // the arm's tip never rests, so one path fills the picture
    fputs("method,task,episode,t,x,y\n", f->csv);
    put_scenery(f, g);
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        if (!arm_is_plain(a) || arm_example(a)->trajectory.rows == 0) continue;
        TRY(series_add(&e->pool, &series, &colours, a->label, a->colour));
        TRY(put_paths(e, a, f, episodes, &tasks));
    }
    plot_panels(f, "method", "task", &tasks, "task ");
    plot_series(f, &series, &colours);
    plot_text(f, "XLABEL", "x (m)");
    plot_text(f, "YLABEL", "y (m)");
    plot_number(f, "EPISODES", episodes);
    plot_number(f, "TIC", is_arm ? 0.1 : g->layout && strcmp(g->layout, "large") == 0 ? 2 : 1);
    plot_grid(f, tasks.n, tasks.n > 4 ? 4 : 2, 330, 330);
    return FGSF_OK;
}

const figure picture_figures[] = {
    {"policy_map", HAS_MAP, "greedy actions, coloured by the policy that GPI picked",
     write_policy_map, body_policy_map, "policy_map"},
    {"trajectories", HAS_TRAJECTORY, "paths of the first evaluation episodes", write_trajectories,
     body_trajectories, "trajectories"},
    {0},
};
