// Expands cells and grids.
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

#define MAX_VALUES 64
#define MAX_VARIANTS 4096

// One --grid, cut into its keys and values.
typedef struct grid {
    const char *keys[FGSF_GRID_KEYS];
    const char *values[MAX_VALUES][FGSF_GRID_KEYS];
    int num_keys, num_values;
} grid;

typedef struct plan {
    const fgsf_cli *cli;
    grid grids[FGSF_CLI_MAX_GRIDS];
    fgsf_variant
        *variants; // (MAX_VARIANTS), and behind them the text that their settings point into
    int count;
} plan;

static bool refuse(const plan *p, const char *flag, const char *value, const char *why) {
    fgsf_say("%s: %s '%.200s': %s", p->cli->spec->program, flag, value, why);
    return false;
}

// ---- Grids ---------------------------------------------------------------------------------------

static int cut(char *text, const char *at, const char **parts, int max) {
    int n = 0;
    for (char *part; (part = strsep(&text, at));) {
        if (n == max || !*part) return -1;
        parts[n++] = part;
    }
    return n;
}

// Checks the values against their keys.
static bool check_values(plan *p, const grid *g, const char *text) {
    static char is[MAX_VALUES][FGSF_TEXT_SIZE];
    fgsf_config cfg;
    for (int v = 0; v < g->num_values; v++) {
        if (fgsf_config_resolve(p->cli->env, p->cli->preset, "fg-sfrql", &cfg) != FGSF_OK) {
            return fgsf_cli_fail(p->cli), false;
        }
        for (int k = 0; k < g->num_keys; k++) {
            if (fgsf_config_set(&cfg, g->keys[k], g->values[v][k], "--grid") != FGSF_OK) {
                return fgsf_cli_fail(p->cli), false;
            }
        }
        fgsf_config_get(&cfg, g->keys[0], is[v], sizeof is[v]);
        for (int w = 0; w < v; w++) { // 1e-3 and 0.001 are the same
            if (strcmp(is[v], is[w]) == 0) return refuse(p, "--grid", text, "names a value twice");
        }
    }
    return true;
}

static bool read_grid(plan *p, grid *g, const char *text, char *copy) {
    const char *values[MAX_VALUES];
    char *equals = strchr(copy, '=');
    *equals = '\0';
    g->num_keys = cut(copy, "/", g->keys, FGSF_GRID_KEYS);
    g->num_values = cut(equals + 1, ",", values, MAX_VALUES);
    if (g->num_keys < 1 || g->num_values < 1) {
        return refuse(p, "--grid", text, "is not KEY=A,B,C with 1 to 64 values");
    }
    for (int v = 0; v < g->num_values; v++) {
        g->values[v][0] = values[v];
        if (g->num_keys > 1 &&
            cut((char *)values[v], "/", g->values[v], g->num_keys) != g->num_keys) {
            return refuse(p, "--grid", text, "has another number of values than of keys");
        }
    }
    return check_values(p, g, text);
}

// Keys that begin with sf. are for successor features, those with dqn. for DQN, the rest for both.
static bool applies(const char *key, const char *method) {
    bool is_dqn = strstr(method, "dqn") != NULL;
    return strncmp(key, "dqn.", 4) == 0 ? is_dqn : strncmp(key, "sf.", 3) != 0 || !is_dqn;
}

// Refuses a grid that would change nothing, and two grids of one key.
static bool check_keys(const plan *p, const grid *g, const char *text) {
    bool used = false;
    for (int k = 0; k < g->num_keys; k++) {
        for (int m = 0; m < p->cli->num_methods; m++) {
            used = used || applies(g->keys[k], p->cli->methods[m]);
        }
        for (const grid *other = p->grids; other < g; other++) {
            for (int i = 0; i < other->num_keys; i++) {
                if (strcmp(other->keys[i], g->keys[k]) != 0) continue;
                return refuse(p, "--grid", text, "varies a key that another --grid varies");
            }
        }
    }
    return used || refuse(p, "--grid", text, "none of the chosen methods uses this key");
}

// ---- Variants ------------------------------------------------------------------------------------

static void add_setting(fgsf_variant *v, const char *preset, const char *key, const char *value) {
    v->settings[v->num_settings++] = (fgsf_setting){preset, key, value};
}

static bool add_variant(plan *p, const fgsf_variant *v) {
    if (p->count == MAX_VARIANTS) return refuse(p, "--grid", "", "makes more than 4096 cells");
    p->variants[p->count++] = *v;
    return true;
}

// Adds `v` with each combination of the grids from `depth` on.
static bool cross(plan *p, const fgsf_variant *v, int depth) {
    if (depth == p->cli->num_grids) return add_variant(p, v);
    const grid *g = &p->grids[depth];
    int first = 0; // the key that names the cell
    while (first < g->num_keys && !applies(g->keys[first], v->method)) first++;
    if (first == g->num_keys) return cross(p, v, depth + 1);
    for (int i = 0; i < g->num_values; i++) {
        fgsf_variant next = *v;
        size_t used = strlen(next.cell);
        int n = snprintf(next.cell + used, sizeof next.cell - used, "%s%s=%s", used ? "+" : "",
                         g->keys[first], g->values[i][first]);
        if (used + (size_t)n >= sizeof next.cell) {
            return refuse(p, "--grid", next.cell, "the cell's name is too long");
        }
        for (int k = first; k < g->num_keys; k++) {
            if (applies(g->keys[k], v->method))
                add_setting(&next, NULL, g->keys[k], g->values[i][k]);
        }
        if (!cross(p, &next, depth + 1)) return false;
    }
    return true;
}

static bool listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n) {
        if (n && (at == list || at[-1] == ',') && (at[n] == ',' || !at[n])) return true;
        if (!n) return false;
    }
    return false;
}

static bool add_cells(plan *p) {
    static const fgsf_cell plain = {.name = ""};
    const fgsf_cli *cli = p->cli;
    int num_cells = cli->spec->num_cells ? cli->spec->num_cells : 1;
    for (int c = 0; c < num_cells; c++) {
        const fgsf_cell *cell = cli->spec->num_cells ? &cli->spec->cells[c] : &plain;
        for (int m = 0; m < cli->num_methods; m++) {
            if (cell->method && strcmp(cell->method, cli->methods[m]) != 0) continue;
            fgsf_variant v = {.method = cli->methods[m], .about = cell->about};
            snprintf(v.cell, sizeof v.cell, "%s", cell->name);
            for (int i = 0; i < FGSF_CELL_SETTINGS && cell->settings[i].key; i++) {
                const fgsf_setting *s = &cell->settings[i];
                if (!s->preset || strcmp(s->preset, cli->preset) == 0) {
                    add_setting(&v, NULL, s->key, s->value);
                }
            }
            if (!cross(p, &v, 0)) return false;
        }
    }
    return true;
}

// Whether --cells names this variant: by its whole name, or by what stands before one of its '+'.
static bool chosen(const char *list, const fgsf_variant *v) {
    char name[FGSF_RUN_NAME];
    snprintf(name, sizeof name, "%s", v->cell);
    while (!listed(list, name)) {
        char *plus = strrchr(name, '+');
        if (!plus) return false;
        *plus = '\0';
    }
    return true;
}

// Keeps the variants that --cells names; a name without a cell is refused.
static bool choose(plan *p) {
    const char *list = p->cli->cells;
    if (!*list || strcmp(list, "list") == 0) return true;
    for (const char *at = list; *at;) {
        char name[FGSF_RUN_NAME];
        size_t length = strcspn(at, ",");
        bool found = false;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        for (int i = 0; i < p->count && !found && *name; i++) found = chosen(name, &p->variants[i]);
        if (!found)
            return refuse(p, "--cells", name, "there is no such cell; --cells list prints them");
        at += length + (at[length] == ',');
    }
    int kept = 0;
    for (int i = 0; i < p->count; i++) {
        if (chosen(list, &p->variants[i])) p->variants[kept++] = p->variants[i];
    }
    p->count = kept;
    return true;
}

int fgsf_cells_expand(const fgsf_cli *cli, fgsf_variant **out) {
    plan p = {.cli = cli};
    size_t text = 0, used = 0;
    for (int i = 0; i < cli->num_grids; i++) text += strlen(cli->grids[i]) + 1;
    p.variants = calloc(1, MAX_VARIANTS * sizeof *p.variants + text);
    char *copies = (char *)(p.variants + MAX_VARIANTS);
    bool good = p.variants || refuse(&p, "--grid", "", "out of memory");
    for (int i = 0; i < cli->num_grids && good; i++) {
        memcpy(copies + used, cli->grids[i], strlen(cli->grids[i]) + 1);
        good = read_grid(&p, &p.grids[i], cli->grids[i], copies + used);
        used += strlen(cli->grids[i]) + 1;
    }
    for (int i = 0; i < cli->num_grids && good; i++) {
        good = check_keys(&p, &p.grids[i], cli->grids[i]);
    }
    if (good && add_cells(&p) && choose(&p)) {
        *out = p.variants;
        return p.count;
    }
    free(p.variants);
    return -1;
}

void fgsf_cells_print(const fgsf_variant *variants, int count) {
    for (int i = 0; i < count; i++) {
        const fgsf_variant *v = &variants[i];
        printf("%-24s %-20s %s\n", *v->cell ? v->cell : "-", v->method, v->about ? v->about : "");
    }
}

void fgsf_cells_free(fgsf_variant *variants) {
    free(variants);
}
