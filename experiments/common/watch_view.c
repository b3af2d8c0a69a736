// Draws environments into a canvas of characters.
#include "watch_view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "four_rooms.h"
#include "point_maze.h"
#include "reacher.h"

#define PIXELS 12
#define ARM_ROWS 25
#define ARM_REACH 0.23   // m, from the shoulder to the edge of the picture
#define LINK_LENGTH 0.10 // m, of the upper link
#define NUMBERS 5        // per row, where there is no picture
#define NUMBER_WIDTH 14
#define NUMBER_ROWS 6 // numbers beyond are not shown

static void put(fgsf_watch_view *v, int row, int col, char what) {
    if (row >= 0 && row < v->rows && col >= 0 && col < v->cols) {
        v->cells[row * v->cols + col] = what;
    }
}

static void put_trail(fgsf_watch_view *v, int row, int col) {
    if (row >= 0 && row < v->rows && col >= 0 && col < v->cols) {
        v->trail[row * v->cols + col] = '.';
    }
}

static void show_trail(fgsf_watch_view *v) {
    for (int i = 0; i < v->rows * v->cols; i++) {
        if (v->trail[i]) v->cells[i] = v->trail[i];
    }
}

// ---- Four Rooms ----------------------------------------------------------------------------------

// The map has no outer walls: a border stands for them, so everything is one further in.
static void draw_four_rooms(fgsf_watch_view *v, const fgsf_env *env, int task) {
    const fgsf_four_rooms *m = fgsf_four_rooms_model(env);
    int row = (int)v->state[0] + 1, col = (int)v->state[1] + 1;
    (void)task;
    memset(v->cells, '#', (size_t)(v->rows * v->cols));
    for (int cell = 0; cell < m->num_cells; cell++) {
        put(v, m->row[cell] + 1, m->col[cell] + 1, ' ');
    }
    put_trail(v, row, col);
    show_trail(v);
    for (int cell = 0; cell < m->num_cells; cell++) {
        int bit = m->object[cell], kind = m->kind[cell];
        bool left = bit < 0 || v->state[2 + bit] == 0.0;
        if (kind == m->num_types + 1) {
            put(v, m->row[cell] + 1, m->col[cell] + 1, 'G');
        } else if (kind > 0 && left) {
            put(v, m->row[cell] + 1, m->col[cell] + 1, (char)('0' + kind));
        }
    }
    put(v, row, col, '@');
}

// ---- PointMaze -----------------------------------------------------------------------------------

typedef struct maze {
    fgsf_point_maze_plan plan;
    int wide, high; // characters of one cell
} maze;

static void place(const maze *m, double x, double y, int *row, int *col) {
    double x0, y0;
    fgsf_point_maze_centre(&m->plan.grid, 0, 0, &x0, &y0);
    *col = (int)floor((x - x0 + 0.5) * m->wide);
    *row = (int)floor((y0 - y + 0.5) * m->high);
}

static void draw_point_maze(fgsf_watch_view *v, const fgsf_env *env, int task) {
    const maze *m = v->model;
    int row, col;
    (void)env;
    (void)task;
    for (int i = 0; i < v->rows * v->cols; i++) {
        char cell = fgsf_grid_at(&m->plan.grid, i / v->cols / m->high, i % v->cols / m->wide);
        v->cells[i] = cell == '1' ? '#' : ' ';
    }
    place(m, v->state[0], v->state[1], &row, &col);
    put_trail(v, row, col);
    show_trail(v);
    int goal_row, goal_col; // of the running episode, noise included
    place(m, v->state[4], v->state[5], &goal_row, &goal_col);
    put(v, goal_row, goal_col, 'G');
    put(v, row, col, '@');
}

static fgsf_status plan_maze(const fgsf_config *cfg, fgsf_watch_view *v) {
    maze *m = calloc(1, sizeof *m);
    v->model = m;
    if (!m) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a maze");
    FGSF_TRY(fgsf_point_maze_plan_make((const fgsf_point_maze_params *)cfg->env_params.bytes,
                                       (int)cfg->env.num_tasks, &m->plan));
    m->wide = m->plan.grid.rows <= 6 ? 6 : 4; // a large maze fits a terminal too
    m->high = m->wide / 2;
    v->rows = m->plan.grid.rows * m->high;
    v->cols = m->plan.grid.cols * m->wide;
    v->aspect = 2;
    v->draw = draw_point_maze;
    return FGSF_OK;
}

// ---- Reacher -------------------------------------------------------------------------------------

static void place_arm(const fgsf_watch_view *v, const double at[2], int *row, int *col) {
    *col = (int)lround((at[0] / ARM_REACH + 1.0) / 2.0 * (v->cols - 1));
    *row = (int)lround((1.0 - at[1] / ARM_REACH) / 2.0 * (v->rows - 1));
}

static void draw_link(fgsf_watch_view *v, const double from[2], const double to[2], char what) {
    for (int i = 0; i <= 40; i++) {
        double at[2];
        int row, col;
        for (int k = 0; k < 2; k++) at[k] = from[k] + (to[k] - from[k]) * i / 40.0;
        place_arm(v, at, &row, &col);
        put(v, row, col, what);
    }
}

static void draw_reacher(fgsf_watch_view *v, const fgsf_env *env, int task) {
    fgsf_env *other = v->model; // the same tasks, with the target at the end of the state
    double shoulder[2] = {0, 0}, tip[2], target[8];
    double elbow[2] = {LINK_LENGTH * cos(v->state[0]), LINK_LENGTH * sin(v->state[0])};
    int row, col;
    (void)env;
    fgsf_env_set_task(other, task);
    fgsf_env_observe_f64(other, target);
    fgsf_reacher_tip(v->state, tip);
    memset(v->cells, ' ', (size_t)(v->rows * v->cols));
    place_arm(v, tip, &row, &col);
    put_trail(v, row, col);
    show_trail(v);
    draw_link(v, shoulder, elbow, '*');
    draw_link(v, elbow, tip, '+');
    put(v, (v->rows - 1) / 2, (v->cols - 1) / 2, 'o');
    place_arm(v, target + 4, &row, &col);
    put(v, row, col, 'G');
    place_arm(v, tip, &row, &col);
    put(v, row, col, '@');
}

static fgsf_status plan_reacher(const fgsf_config *cfg, fgsf_watch_view *v) {
    fgsf_config with_target = *cfg;
    fgsf_env *other = NULL;
    fgsf_status status =
        fgsf_config_set(&with_target, "env.reacher_target_in_state", "true", "watch");
    if (status == FGSF_OK) status = fgsf_env_create(&with_target, &other);
    v->model = other;
    v->rows = ARM_ROWS;
    v->cols = 2 * ARM_ROWS - 1;
    v->aspect = 2;
    v->draw = draw_reacher;
    return status;
}

// ---- Any other environment: the numbers of its raw state -----------------------------------------

static void draw_numbers(fgsf_watch_view *v, const fgsf_env *env, int task) {
    (void)task;
    memset(v->cells, ' ', (size_t)(v->rows * v->cols));
    for (int i = 0; i < env->spec.raw_size && i < v->rows * NUMBERS; i++) {
        char text[NUMBER_WIDTH];
        int length = snprintf(text, sizeof text, "%.6g", v->state[i]);
        memcpy(v->cells + i / NUMBERS * v->cols + i % NUMBERS * NUMBER_WIDTH, text, (size_t)length);
    }
}

static void plan_numbers(const fgsf_env *env, fgsf_watch_view *v) {
    int rows = (env->spec.raw_size + NUMBERS - 1) / NUMBERS;
    v->rows = rows < NUMBER_ROWS ? rows : NUMBER_ROWS;
    v->cols = NUMBERS * NUMBER_WIDTH;
    v->aspect = 2;
    v->numbers = true;
    v->draw = draw_numbers;
}

// ---- Any of them ---------------------------------------------------------------------------------

fgsf_status fgsf_watch_view_create(const fgsf_config *cfg, const fgsf_env *env,
                                   fgsf_watch_view **out) {
    const fgsf_four_rooms *model = fgsf_four_rooms_model(env);
    fgsf_watch_view *v = calloc(1, sizeof *v);
    if (!v) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a picture");
    *out = v;
    fgsf_status status = FGSF_OK;
    if (model) {
        v->rows = model->rows + 2;
        v->cols = model->cols + 2;
        v->aspect = 1;
        v->draw = draw_four_rooms;
    } else if (strcmp(env->def->name, "point_maze") == 0) {
        status = plan_maze(cfg, v);
    } else if (strcmp(env->def->name, "reacher") == 0) {
        status = plan_reacher(cfg, v);
    } else {
        plan_numbers(env, v);
    }
    if (status != FGSF_OK) return status;
    size_t size = (size_t)(v->rows * v->cols);
    v->cells = calloc(size, 1);
    v->trail = calloc(size, 1);
    v->line = calloc((size_t)(2 * v->cols + 2), 1);
    v->state = calloc((size_t)env->spec.full_size, sizeof *v->state);
    return v->cells && v->trail && v->line && v->state
               ? FGSF_OK
               : fgsf_fail(FGSF_ERR_MEMORY, "no memory for a picture");
}

void fgsf_watch_view_free(fgsf_watch_view *v) {
    if (!v) return;
    if (v->draw == draw_point_maze) fgsf_point_maze_plan_free(&((maze *)v->model)->plan);
    if (v->draw == draw_reacher) {
        fgsf_env_free(v->model);
    } else {
        free(v->model);
    }
    free(v->cells);
    free(v->trail);
    free(v->line);
    free(v->state);
    free(v);
}

void fgsf_watch_view_draw(fgsf_watch_view *v, const fgsf_env *env, int task, bool first) {
    if (first) memset(v->trail, 0, (size_t)(v->rows * v->cols));
    fgsf_env_get_state(env, v->state);
    v->draw(v, env, task);
}

const char *fgsf_watch_view_row(fgsf_watch_view *v, int row) {
    const char *cells = v->cells + row * v->cols;
    int used = 0;
    for (int col = 0; col < v->cols; col++) {
        v->line[used++] = cells[col];
        if (v->aspect == 1) v->line[used++] = cells[col] == '#' ? '#' : ' ';
    }
    v->line[used] = '\0';
    return v->line;
}

const char *fgsf_watch_action(const fgsf_env *env, int action) {
    static const char *const moves[] = {"left", "up", "right", "down"};
    static const char *const pushes[] = {"-x-y", "-x",   "-x+y", "-y",  "none",
                                         "+y",   "+x-y", "+x",   "+x+y"};
    static const char *const torques[] = {"- -", "- 0", "- +", "0 -", "0 0",
                                          "0 +", "+ -", "+ 0", "+ +"};
    static char number[16];
    if (fgsf_four_rooms_model(env)) return moves[action];
    if (strcmp(env->def->name, "reacher") == 0) return torques[action];
    if (strcmp(env->def->name, "point_maze") == 0) return pushes[action];
    snprintf(number, sizeof number, "%d", action);
    return number;
}

// ---- Images --------------------------------------------------------------------------------------

static const unsigned char *colour_of(char what) {
    static const struct {
        char what;
        unsigned char rgb[3];
    } colours[] = {{'#', {60, 60, 60}},    {'.', {205, 205, 205}}, {'@', {213, 94, 0}},
                   {'G', {0, 158, 115}},   {'1', {0, 114, 178}},   {'2', {230, 159, 0}},
                   {'3', {204, 121, 167}}, {'*', {120, 120, 120}}, {'+', {86, 180, 233}},
                   {'o', {0, 0, 0}}};
    static const unsigned char object[3] = {86, 180, 233}, nothing[3] = {255, 255, 255};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        if (colours[i].what == what) return colours[i].rgb;
    }
    return what >= '4' && what <= '9' ? object : nothing;
}

fgsf_status fgsf_watch_view_save(const fgsf_watch_view *v, const char *path) {
    int wide = PIXELS / v->aspect;
    FILE *file = fopen(path, "wb");
    if (!file) return fgsf_fail(FGSF_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    fprintf(file, "P6\n%d %d\n255\n", v->cols * wide, v->rows * PIXELS);
    for (int y = 0; y < v->rows * PIXELS; y++) {
        for (int x = 0; x < v->cols * wide; x++) {
            fwrite(colour_of(v->cells[y / PIXELS * v->cols + x / wide]), 1, 3, file);
        }
    }
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        return fgsf_fail(FGSF_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    return FGSF_OK;
}
