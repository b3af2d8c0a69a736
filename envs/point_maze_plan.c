// What a PointMaze is made of: the maze, the start, the goals of every task, the MJCF text. The
// motion is in point_maze.c; nothing here needs MuJoCo.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goals.h"
#include "number.h"
#include "point_maze.h"

#define NUM_HELDOUT 8
#define MAX_TASKS 1000
#define MAX_LISTED 8

// The built-in mazes, and the goal cells that the authors' code picks in each.
typedef struct layout {
    const char *name, *map;
    int listed[MAX_LISTED][2];
} layout;

static const layout LAYOUTS[] = {
    {"umaze",
     "11111\n"
     "10001\n"
     "11101\n"
     "10001\n"
     "11111\n",
     {{1, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 2}, {3, 3}, {3, 1}, {3, 1}}},
    {"medium",
     "11111111\n"
     "10011001\n"
     "10010001\n"
     "11000111\n"
     "10010001\n"
     "10100101\n"
     "10001001\n"
     "11111111\n",
     {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 2}, {3, 3}, {4, 1}, {4, 2}}},
    {"large",
     "111111111111\n"
     "100001000001\n"
     "101101010101\n"
     "100000010001\n"
     "101111011101\n"
     "100101000001\n"
     "110101010111\n"
     "100100010001\n"
     "111111111111\n",
     {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {3, 1}, {3, 2}, {1, 4}, {2, 4}}},
};
#define NUM_LAYOUTS ((int)(sizeof LAYOUTS / sizeof LAYOUTS[0]))
#define LAYOUT_START 3 // row and column of the start in every built-in maze

#define ALPHABET "10#.SG" // a map file: 1 or # wall, 0 or . free, S start, G goals

static const int STEPS[4][2] = {{0, -1}, {-1, 0}, {0, 1}, {1, 0}};

void fgsf_point_maze_centre(const fgsf_grid *grid, double row, double col, double *x, double *y) {
    *x = (col + 0.5) - grid->cols / 2.0;
    *y = grid->rows / 2.0 - (row + 0.5);
}

// The index of the free cell that a point lies in, or -1.
static int free_cell(const fgsf_grid *grid, double x, double y) {
    double col = floor(x + grid->cols / 2.0), row = floor(grid->rows / 2.0 - y);
    if (!(row >= 0.0 && row < grid->rows && col >= 0.0 && col < grid->cols)) return -1;
    int cell = (int)row * grid->cols + (int)col;
    return grid->cells[cell] == '0' ? cell : -1;
}

bool fgsf_point_maze_is_free(const fgsf_grid *grid, double x, double y) {
    return free_cell(grid, x, y) >= 0;
}

void fgsf_point_maze_plan_free(fgsf_point_maze_plan *plan) {
    fgsf_grid_free(&plan->grid);
    free(plan->distance);
    free(plan->goals);
    *plan = (fgsf_point_maze_plan){0};
}

// ---- The maze ----------------------------------------------------------------------------------

// Fills plan->distance breadth first, in the order that the queue of visited cells gives.
static fgsf_status measure(fgsf_point_maze_plan *plan, const char *source) {
    const fgsf_grid *grid = &plan->grid;
    int cells = grid->rows * grid->cols;
    plan->distance = malloc((size_t)cells * sizeof *plan->distance);
    int *queue = malloc((size_t)cells * sizeof *queue);
    fgsf_status status = FGSF_OK;
    if (!plan->distance || !queue) {
        free(queue);
        return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    }
    for (int i = 0; i < cells; i++) plan->distance[i] = -1;
    int head = 0, tail = 0;
    queue[tail++] = plan->start_row * grid->cols + plan->start_col;
    plan->distance[queue[0]] = 0;
    while (head < tail && status == FGSF_OK) {
        int at = queue[head++];
        int row = at / grid->cols, col = at % grid->cols;
        if (row == 0 || col == 0 || row == grid->rows - 1 || col == grid->cols - 1) {
            status = fgsf_fail(FGSF_ERR_FORMAT, "%s: the ball can leave the maze at cell %d,%d",
                               source, row, col);
        }
        for (int k = 0; k < 4 && status == FGSF_OK; k++) {
            int to = at + STEPS[k][0] * grid->cols + STEPS[k][1];
            if (grid->cells[to] != '0' || plan->distance[to] >= 0) continue;
            plan->distance[to] = plan->distance[at] + 1;
            queue[tail++] = to;
        }
    }
    free(queue);
    return status;
}

static const layout *find_layout(const char *name) {
    for (int i = 0; i < NUM_LAYOUTS; i++) {
        if (strcmp(LAYOUTS[i].name, name) == 0) return &LAYOUTS[i];
    }
    return NULL;
}

// Takes the G cells of a map, row by row, as goals, and leaves only walls and free cells. Counts
// those that do not fit, too.
static int take_goals(fgsf_grid *grid, fgsf_goal goals[FGSF_GOALS_MAX]) {
    int count = 0;
    for (int i = 0; i < grid->rows * grid->cols; i++) {
        if (grid->cells[i] == 'G') {
            if (count < FGSF_GOALS_MAX) {
                goals[count] = (fgsf_goal){true, {i / grid->cols, i % grid->cols}};
            }
            count++;
        }
        grid->cells[i] = strchr("1#", grid->cells[i]) ? '1' : '0';
    }
    return count;
}

static fgsf_status parse_map(const char *text, const char *source, fgsf_grid *grid) {
    const char *rest;
    FGSF_TRY(fgsf_grid_parse(text, source, ALPHABET, grid, &rest));
    if (rest[strspn(rest, "\r\n")] != '\0') {
        // A maze cut in two by an empty line must not be read as its upper half.
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: there is text after the map, which ends at row %d",
                         source, grid->rows - 1);
    }
    return FGSF_OK;
}

static fgsf_status read_map(const char *path, fgsf_point_maze_plan *plan,
                            fgsf_goal goals[FGSF_GOALS_MAX], int *num_goals) {
    char *text = NULL;
    FGSF_TRY(fgsf_grid_read_text(path, "env.map", &text));
    char source[FGSF_TEXT_SIZE + 16];
    snprintf(source, sizeof source, "env.map '%s'", path);
    fgsf_status status = parse_map(text, source, &plan->grid);
    free(text);
    if (status != FGSF_OK) return status;
    int starts = fgsf_grid_count(&plan->grid, 'S', &plan->start_row, &plan->start_col);
    if (starts != 1) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: the map has %d starts ('S'), exactly one is needed",
                         source, starts);
    }
    *num_goals = take_goals(&plan->grid, goals);
    if (*num_goals > FGSF_GOALS_MAX) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: the map has %d goals ('G'), at most %d are possible",
                         source, *num_goals, FGSF_GOALS_MAX);
    }
    return measure(plan, source);
}

static fgsf_status read_layout(const fgsf_point_maze_params *p, fgsf_point_maze_plan *plan,
                               fgsf_goal goals[FGSF_GOALS_MAX], int *num_goals) {
    const layout *l = find_layout(p->layout);
    if (!l) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.layout: '%s' is not one of umaze|medium|large",
                         p->layout);
    }
    FGSF_TRY(fgsf_grid_parse(l->map, l->name, "10", &plan->grid, NULL));
    plan->start_row = plan->start_col = LAYOUT_START;
    *num_goals = p->listed_goals ? MAX_LISTED : 0;
    for (int i = 0; i < *num_goals; i++) {
        goals[i] = (fgsf_goal){true, {l->listed[i][0], l->listed[i][1]}};
    }
    return measure(plan, l->name);
}

// ---- The goals ---------------------------------------------------------------------------------

static fgsf_status allocate_goals(fgsf_point_maze_plan *plan, int tasks, int heldout) {
    plan->num_tasks = tasks;
    plan->num_heldout = heldout;
    plan->goals = calloc((size_t)(tasks + heldout), sizeof *plan->goals);
    return plan->goals ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "env.goals: out of memory");
}

static fgsf_status check_goal(const fgsf_point_maze_plan *plan, const fgsf_goal *goal, double x,
                              double y) {
    int cell = free_cell(&plan->grid, x, y);
    if (cell >= 0 && plan->distance[cell] >= 0) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "env.goals: %s%g,%g %s", goal->is_cell ? "" : "@",
                     goal->at[0], goal->at[1],
                     cell < 0 ? "is in a wall or outside the maze"
                              : "cannot be reached from the start");
}

// Tasks take the listed goals in turn, again from the first when there are more tasks than goals;
// goals that no task takes are the held-out ones.
static fgsf_status use_listed(fgsf_point_maze_plan *plan, int tasks, const fgsf_goal *goals,
                              int count) {
    FGSF_TRY(allocate_goals(plan, tasks, count > tasks ? count - tasks : 0));
    for (int i = 0; i < tasks + plan->num_heldout; i++) {
        const fgsf_goal *goal = &goals[i % count];
        double x = goal->at[0], y = goal->at[1];
        if (goal->is_cell) fgsf_point_maze_centre(&plan->grid, x, y, &x, &y);
        FGSF_TRY(check_goal(plan, goal, x, y));
        plan->goals[i][0] = x;
        plan->goals[i][1] = y;
    }
    return FGSF_OK;
}

// A place that could be a goal. Places are taken rank by rank, then nearest to the start first, so
// that every goal can be reached within an episode; `order` makes the choice unique.
typedef struct place {
    int rank; // 0: centre, two cells or more from the start; 1: centre next to it; 2: between cells
    double distance, row, col;
    int order;
} place;

static int compare_places(const void *a, const void *b) {
    const place *p = a, *q = b;
    if (p->rank != q->rank) return p->rank - q->rank;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return p->order - q->order;
}

static int list_places(const fgsf_point_maze_plan *plan, place *places) {
    const fgsf_grid *grid = &plan->grid;
    int count = 0;
    for (int i = 0; i < grid->rows * grid->cols; i++) {
        int here = plan->distance[i], row = i / grid->cols, col = i % grid->cols;
        if (here < 0) continue;
        if (here > 0) places[count++] = (place){here < 2, here, row, col, i};
        for (int k = 2; k < 4; k++) { // right and down, so that each pair of cells counts once
            int there = plan->distance[i + STEPS[k][0] * grid->cols + STEPS[k][1]];
            if (there < 0 || here + there < 2) continue;
            places[count++] = (place){2, 0.5 * (here + there), row + 0.5 * STEPS[k][0],
                                      col + 0.5 * STEPS[k][1], i};
        }
    }
    qsort(places, (size_t)count, sizeof *places, compare_places);
    return count;
}

static fgsf_status choose_goals(fgsf_point_maze_plan *plan, int tasks) {
    place *places = malloc(3 * (size_t)plan->grid.rows * (size_t)plan->grid.cols * sizeof *places);
    if (!places) return fgsf_fail(FGSF_ERR_MEMORY, "env.goals: out of memory");
    int count = list_places(plan, places);
    fgsf_status status;
    if (count < tasks) {
        status = fgsf_fail(FGSF_ERR_INVALID,
                           "env.num_tasks: %d tasks, but the maze has only %d distinct goals; "
                           "give them in env.goals",
                           tasks, count);
    } else {
        int heldout = count - tasks < NUM_HELDOUT ? count - tasks : NUM_HELDOUT;
        status = allocate_goals(plan, tasks, heldout);
    }
    for (int i = 0; status == FGSF_OK && i < tasks + plan->num_heldout; i++) {
        double *goal = plan->goals[i];
        fgsf_point_maze_centre(&plan->grid, places[i].row, places[i].col, &goal[0], &goal[1]);
    }
    free(places);
    return status;
}

fgsf_status fgsf_point_maze_plan_make(const fgsf_point_maze_params *p, int tasks,
                                      fgsf_point_maze_plan *out) {
    if (tasks < 1 || tasks > MAX_TASKS) {
        return fgsf_fail(FGSF_ERR_INVALID, "env.num_tasks: %d is not in [1, %d]", tasks, MAX_TASKS);
    }
    fgsf_point_maze_plan plan = {0};
    fgsf_goal goals[FGSF_GOALS_MAX];
    int count = 0;
    fgsf_status status =
        p->map[0] ? read_map(p->map, &plan, goals, &count) : read_layout(p, &plan, goals, &count);
    if (status == FGSF_OK && p->goals[0]) status = fgsf_goals_parse(p->goals, goals, &count);
    if (status == FGSF_OK) {
        status = count > 0 ? use_listed(&plan, tasks, goals, count) : choose_goals(&plan, tasks);
    }
    if (status == FGSF_OK) *out = plan;
    if (status != FGSF_OK) fgsf_point_maze_plan_free(&plan);
    return status;
}

// ---- The model ---------------------------------------------------------------------------------

// Contact margins: from MuJoCo 3.5 those of both geoms add up, before that the larger one counts.
// All of it on the walls is the same in every version. There is no ground: the ball cannot touch it
// (slide joints keep its height) and it costs time.
static const char HEAD[] =
    "<mujoco model=\"point_maze\">\n"
    "  <option timestep=\"0.01\" integrator=\"Euler\" gravity=\"0 0 0\" iterations=\"20\"/>\n"
    "  <default>\n"
    "    <joint damping=\"1\" limited=\"false\"/>\n"
    "    <geom density=\"1000\" condim=\"1\" friction=\".5 .1 .1\"/>\n"
    "  </default>\n"
    "  <worldbody>\n";
static const char WALL[] = "    <geom type=\"box\" size=\".5 .5 .2\" pos=\"%.17g %.17g .2\" "
                           "margin=\"%g\" contype=\"1\" conaffinity=\"1\"/>\n";
static const char TAIL[] =
    "    <body name=\"ball\">\n"
    "      <joint name=\"ball_x\" type=\"slide\" axis=\"1 0 0\"/>\n"
    "      <joint name=\"ball_y\" type=\"slide\" axis=\"0 1 0\"/>\n"
    "      <geom type=\"sphere\" size=\"%g\" margin=\"0\" contype=\"1\" conaffinity=\"1\"/>\n"
    "    </body>\n"
    "  </worldbody>\n"
    "  <actuator>\n"
    "    <motor joint=\"ball_x\" gear=\"100\" ctrllimited=\"true\" ctrlrange=\"-1 1\"/>\n"
    "    <motor joint=\"ball_y\" gear=\"100\" ctrllimited=\"true\" ctrlrange=\"-1 1\"/>\n"
    "  </actuator>\n"
    "</mujoco>\n";

// A wall that is next to no free cell, not even by a corner, cannot be touched.
static bool is_touchable(const fgsf_grid *grid, int row, int col) {
    for (int r = row - 1; r <= row + 1; r++) {
        for (int c = col - 1; c <= col + 1; c++) {
            bool inside = r >= 0 && r < grid->rows && c >= 0 && c < grid->cols;
            if (inside && fgsf_grid_at(grid, r, c) == '0') return true;
        }
    }
    return false;
}

char *fgsf_point_maze_xml(const fgsf_point_maze_plan *plan) {
    const fgsf_grid *grid = &plan->grid;
    size_t cells = (size_t)grid->rows * (size_t)grid->cols;
    size_t size = sizeof HEAD + sizeof TAIL + 64 + cells * (sizeof WALL + 64);
    char *xml = malloc(size);
    if (!xml) return NULL;
    size_t used = (size_t)snprintf(xml, size, "%s", HEAD);
    for (int row = 0; row < grid->rows; row++) {
        for (int col = 0; col < grid->cols; col++) {
            if (fgsf_grid_at(grid, row, col) != '1' || !is_touchable(grid, row, col)) continue;
            double x, y;
            fgsf_point_maze_centre(grid, row, col, &x, &y);
            used += (size_t)fgsf_number_format(xml + used, size - used, WALL, x, y,
                                               FGSF_POINT_MAZE_MARGIN);
        }
    }
    fgsf_number_format(xml + used, size - used, TAIL, FGSF_POINT_MAZE_RADIUS);
    return xml;
}
