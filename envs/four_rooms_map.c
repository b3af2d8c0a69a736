// The built-in map and reward pool of Four Rooms as data, and the indexing of any map with the same
// alphabet. Steps are taken elsewhere (four_rooms.c), solved elsewhere (four_rooms_model.c).
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "four_rooms.h"
#include "grid.h"
#include "number.h"

#define WALL 'X'
#define START '_'
#define GOAL 'G'
#define ALPHABET "X_G. 123456789" // a dot or a space is an empty cell, a digit an object's type

static const char BUILT_IN_MAP[] = "1....2X.....G\n"
                                   "......X......\n"
                                   "......1......\n"
                                   ".............\n"
                                   "......X......\n"
                                   "2....3X......\n"
                                   "XX3.XXXXX.1XX\n"
                                   "......X2....3\n"
                                   "......X......\n"
                                   ".............\n"
                                   "......2......\n"
                                   "......X......\n"
                                   "_.....X3....1\n";

// Weights of (type 1, type 2, type 3, goal) for maps with three types and no rewards of their own.
static const double BUILT_IN_REWARDS[][4] = {
    {1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}, {1, -1, 0, 1}, {0, 1, -1, 1}};
#define NUM_BUILT_IN ((int)(sizeof BUILT_IN_REWARDS / sizeof BUILT_IN_REWARDS[0]))

// Column and row of the step of each action: left, up, right, down.
static const int STEP_COL[FGSF_FOUR_ROOMS_ACTIONS] = {-1, 0, 1, 0};
static const int STEP_ROW[FGSF_FOUR_ROOMS_ACTIONS] = {0, -1, 0, 1};

static fgsf_status check_map(const fgsf_grid *grid, const char *source, int *objects, int *types) {
    int starts = fgsf_grid_count(grid, START, NULL, NULL);
    if (starts != 1) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: the map has %d starts ('%c'), exactly one is needed",
                         source, starts, START);
    }
    if (fgsf_grid_count(grid, GOAL, NULL, NULL) == 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: the map has no goal ('%c')", source, GOAL);
    }
    *objects = *types = 0;
    for (char digit = '1'; digit <= '9'; digit++) {
        int count = fgsf_grid_count(grid, digit, NULL, NULL);
        if (count > 0) *types = digit - '0';
        *objects += count;
    }
    if (*objects > FGSF_FOUR_ROOMS_MAX_OBJECTS) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: the map has %d objects, at most %d are possible",
                         source, *objects, FGSF_FOUR_ROOMS_MAX_OBJECTS);
    }
    return FGSF_OK;
}

static bool allocate(fgsf_four_rooms *m) {
    size_t cells = (size_t)m->num_cells, all = (size_t)m->rows * (size_t)m->cols;
    m->row = calloc(cells * (4 + FGSF_FOUR_ROOMS_ACTIONS) + all, sizeof *m->row); // all integers
    m->features = calloc((size_t)(m->num_kinds * m->num_features), sizeof *m->features);
    if (!m->row || !m->features) return false;
    m->col = m->row + cells;
    m->object = m->col + cells;
    m->kind = m->object + cells;
    m->next = m->kind + cells;
    m->cell_at = m->next + cells * FGSF_FOUR_ROOMS_ACTIONS;
    return true;
}

void fgsf_four_rooms_unload(fgsf_four_rooms *m) {
    free(m->row);
    free(m->features);
    free(m->rewards);
    *m = (fgsf_four_rooms){0};
}

static int kind_of(const fgsf_four_rooms *m, char what) {
    if (what == GOAL) return m->num_types + 1;
    return what >= '1' && what <= '9' ? what - '0' : 0;
}

static void index_cells(const fgsf_grid *grid, fgsf_four_rooms *m) {
    int cell = 0;
    for (int i = 0; i < m->rows * m->cols; i++) {
        char what = grid->cells[i];
        m->cell_at[i] = what == WALL ? -1 : cell;
        if (what == WALL) continue;
        m->row[cell] = i / m->cols;
        m->col[cell] = i % m->cols;
        m->object[cell] = -1;
        m->kind[cell] = kind_of(m, what);
        if (what == START) m->start = cell;
        cell++;
    }
    int bit = 0; // inventory bits follow the columns, not the rows
    for (int col = 0; col < m->cols; col++) {
        for (int row = 0; row < m->rows; row++) {
            char what = fgsf_grid_at(grid, row, col);
            if (what >= '1' && what <= '9') m->object[m->cell_at[row * m->cols + col]] = bit++;
        }
    }
}

static void index_moves(fgsf_four_rooms *m) {
    for (int cell = 0; cell < m->num_cells; cell++) {
        for (int a = 0; a < FGSF_FOUR_ROOMS_ACTIONS; a++) {
            int row = m->row[cell] + STEP_ROW[a];
            int col = m->col[cell] + STEP_COL[a];
            bool inside = row >= 0 && row < m->rows && col >= 0 && col < m->cols;
            int to = inside ? m->cell_at[row * m->cols + col] : -1;
            m->next[cell * FGSF_FOUR_ROOMS_ACTIONS + a] = to < 0 ? cell : to;
        }
    }
    for (int kind = 1; kind < m->num_kinds; kind++) {
        m->features[kind * m->num_features + kind - 1] = 1.0;
    }
}

static bool add_reward(fgsf_four_rooms *m, const double *w) {
    size_t width = (size_t)m->num_features;
    double *grown = realloc(m->rewards, (size_t)(m->num_rewards + 1) * width * sizeof *grown);
    if (!grown) return false;
    m->rewards = grown;
    memcpy(grown + (size_t)m->num_rewards * width, w, width * sizeof *w);
    m->num_rewards++;
    return true;
}

static bool add_default_rewards(fgsf_four_rooms *m) {
    bool good = true;
    if (m->num_types == 3) {
        for (int i = 0; i < NUM_BUILT_IN && good; i++) good = add_reward(m, BUILT_IN_REWARDS[i]);
        return good;
    }
    double w[10] = {0};
    w[m->num_types] = 1.0;
    if (m->num_types == 0) return add_reward(m, w);
    for (int type = 0; type < m->num_types && good; type++) {
        w[type] = 1.0;
        good = add_reward(m, w);
        w[type] = 0.0;
    }
    return good;
}

// Parses one line `reward w1 .. wT goal`.
static fgsf_status parse_reward(fgsf_four_rooms *m, const char *line, const char *source) {
    double w[10];
    const char *at = line + strlen("reward");
    for (int k = 0; k < m->num_features; k++) {
        char *end;
        w[k] = fgsf_number_scan(at, &end);
        if (end == at || !isfinite(w[k]) || !strchr(" \t", *at)) {
            return fgsf_fail(FGSF_ERR_FORMAT,
                             "%s: '%s' needs %d finite weights (one per type, goal)", source, line,
                             m->num_features);
        }
        at = end;
    }
    if (at[strspn(at, " \t")] != '\0') {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' has more than %d weights", source, line,
                         m->num_features);
    }
    if (!add_reward(m, w)) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    return FGSF_OK;
}

// Reads the lines after the map.
static fgsf_status parse_rewards(fgsf_four_rooms *m, const char *text, const char *source) {
    while (*text) {
        char line[512];
        size_t length = strcspn(text, "\r\n");
        if (length >= sizeof line) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: a line after the map is too long", source);
        }
        memcpy(line, text, length);
        line[length] = '\0';
        if (strncmp(line, "reward", strlen("reward")) == 0) {
            FGSF_TRY(parse_reward(m, line, source));
        } else if (length > 0) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' after the map is not a reward line", source,
                             line);
        }
        text += length + (text[length] != '\0');
    }
    if (m->num_rewards == 0 && !add_default_rewards(m)) {
        return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    }
    return FGSF_OK;
}

// Every goal must be reachable from the start, not by way of another goal, which ends the episode.
static fgsf_status check_goals(const fgsf_four_rooms *m, const char *source) {
    int goal = m->num_types + 1, count = 1;
    int *list = calloc((size_t)m->num_cells, sizeof *list);
    bool *reached = calloc((size_t)m->num_cells, sizeof *reached);
    fgsf_status status =
        list && reached ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    for (int i = 0; i < count && status == FGSF_OK; i++) {
        if (i == 0) reached[list[0] = m->start] = true;
        for (int a = 0; a < FGSF_FOUR_ROOMS_ACTIONS && m->kind[list[i]] != goal; a++) {
            int to = m->next[list[i] * FGSF_FOUR_ROOMS_ACTIONS + a];
            if (!reached[to]) list[count++] = to;
            reached[to] = true;
        }
    }
    for (int cell = 0; cell < m->num_cells && status == FGSF_OK; cell++) {
        if (m->kind[cell] == goal && !reached[cell]) {
            status = fgsf_fail(FGSF_ERR_FORMAT,
                               "%s: the goal in row %d, column %d cannot be reached from the start",
                               source, m->row[cell], m->col[cell]);
        }
    }
    free(list);
    free(reached);
    return status;
}

static fgsf_status build(const char *text, const char *source, fgsf_four_rooms *m) {
    fgsf_grid grid;
    const char *rest;
    FGSF_TRY(fgsf_grid_parse(text, source, ALPHABET, &grid, &rest));
    fgsf_status status = check_map(&grid, source, &m->num_objects, &m->num_types);
    if (status == FGSF_OK) {
        m->rows = grid.rows;
        m->cols = grid.cols;
        m->num_cells = grid.rows * grid.cols - fgsf_grid_count(&grid, WALL, NULL, NULL);
        m->num_features = m->num_types + 1;
        m->num_kinds = m->num_types + 2;
        if (!allocate(m)) status = fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    }
    if (status == FGSF_OK) {
        index_cells(&grid, m);
        index_moves(m);
        status = check_goals(m, source);
        if (status == FGSF_OK) status = parse_rewards(m, rest, source);
    }
    fgsf_grid_free(&grid);
    if (status != FGSF_OK) fgsf_four_rooms_unload(m);
    return status;
}

fgsf_status fgsf_four_rooms_load(const char *path, fgsf_four_rooms *model) {
    if (path[0] == '\0') return build(BUILT_IN_MAP, "built-in map", model);
    char *text = NULL;
    FGSF_TRY(fgsf_grid_read_text(path, "env.map", &text));
    char source[FGSF_TEXT_SIZE + 16];
    snprintf(source, sizeof source, "env.map '%s'", path);
    fgsf_status status = build(text, source, model);
    free(text);
    return status;
}
