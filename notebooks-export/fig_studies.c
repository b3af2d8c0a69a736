// Figures of the studies: cells and grids, overhead, scaling, and curves of the theory.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "number.h"

// ---- cells --------------------------------------------------------------------------------------

// A panel's name ends in the measured quantity, after a colon if there is one.
static void put_ylabels(plot *f) {
    const char **ylabels = pool_get(f->panels.n, sizeof *ylabels);
    for (size_t i = 0; i < f->panels.n; i++) {
        const char *colon = strstr(f->panels.v[i], ": ");
        ylabels[i] = colon ? colon + 2 : f->panels.v[i];
    }
    plot_array(f, "YLABELS", ylabels, f->panels.n);
}

static fgsf_status write_ablation(const group *g, plot *f) {
    return g->cells.n < 2 ? FGSF_OK : plot_scores(f, &g->cells);
}

// One arm of a grid: semi+sf.lr=3e-4+env.slip=0.1 is, for sf.lr, the series "fg-sfrql semi" at 3e-4 in
// the panels of "env.slip=0.1".
typedef struct grid_point {
    const arm *arm;
    const char *series, *panel, *value;
} grid_point;

static grid_point grid_point_of(const group *g, const arm *a) {
    const char *key = g->varied;
    size_t length = strlen(key);
    grid_point out = {a, group_has_one_method(g) ? "" : a->method, "", NULL};
    for (size_t i = 0; i < a->parts.n; i++) {
        const char *piece = a->parts.v[i];
        if (!strchr(piece, '=')) {
            out.series = text_join(out.series, " ", piece);
        } else if (strncmp(piece, key, length) == 0 && piece[length] == '=') {
            out.value = piece + length + 1;
        } else if (piece_tells(g, a, piece)) {
            out.panel = text_join(out.panel, ", ", piece);
        }
    }
    if (!*out.series) out.series = a->method;
    out.panel = text_join(out.panel, ", ", strstr(a->method, "dqn") ? "DQN" : "SF");
    return out;
}

static int compare_points(const void *a, const void *b) {
    const grid_point *x = a, *y = b;
    int order = cell_compare(x->panel, y->panel);
    if (order == 0) order = strcmp(x->series, y->series); // together, so that a line joins them
    return order ? order : cell_compare(x->value, y->value);
}

static void grid_points(const group *g, grid_point **out, size_t *n) {
    for (size_t i = 0; i < g->cells.n; i++) {
        grid_point point = grid_point_of(g, g->cells.v[i]);
        if (point.value) pool_push(out, n, &point, sizeof point);
    }
    if (*n) qsort(*out, *n, sizeof **out, compare_points);
}

static void put_place(plot *f, const grid_point *p, const char *panel, const names *values,
                      size_t place, fgsf_stats_interval y, size_t seeds) {
    plot_point(f, p->series, p->arm->look, panel);
    fprintf(f->csv, ",%s,%zu", values->v[place], place + 1);
    plot_interval(f, y, seeds);
    fputc('\n', f->csv);
}

// The point before it in the list is its neighbour on the line. Where a value between them is missing, an
// empty row breaks the line. *last is the point that was drawn last, if any.
static fgsf_status put_grid_point(plot *f, const grid_point *p, enum metric metric,
                                  const names *values, const grid_point **last) {
    static const fgsf_stats_interval GAP = {NAN, NAN, NAN};
    fgsf_stats_interval y;
    scores s;
    size_t place = 0, before = 0;
    TRY(scores_of(p->arm, metric, &s));
    if (s.s.seeds == 0) return FGSF_OK;
    TRY(mean_interval(&s, &y));
    const char *panel = pool_printf("%s: %s", p->panel, metric_title(metric));
    names_find(values, p->value, &place);
    bool joined = *last && strcmp((*last)->panel, p->panel) == 0 &&
                  strcmp((*last)->series, p->series) == 0 &&
                  names_find(values, (*last)->value, &before);
    if (joined && place > before + 1) put_place(f, p, panel, values, before + 1, GAP, 0);
    put_place(f, p, panel, values, place, y, s.s.seeds);
    *last = p;
    return FGSF_OK;
}

// The values stand at equal distances. Lines join them if they are numbers, otherwise there are bars.
static fgsf_status write_grid(const group *g, plot *f) {
    grid_point *points = NULL;
    names values = {0};
    size_t n = 0, columns = 0;
    bool numbers = true;
    grid_points(g, &points, &n);
    fputs("method,quantity,value,x,mean,low,high,seeds\n", f->csv);
    for (size_t i = 0; i < n; i++) {
        char *end = NULL;
        fgsf_number_scan(points[i].value, &end);
        numbers = numbers && *end == '\0';
        names_add(&values, points[i].value);
    }
    names_sort(&values, cell_compare);
    for (enum metric k = f->of->first; k < f->of->last; k++) {
        const grid_point *last = NULL;
        for (size_t i = 0; i < n; i++) TRY(put_grid_point(f, &points[i], k, &values, &last));
        if (k == f->of->first) columns = f->panels.n;
    }
    put_ylabels(f);
    plot_number(f, "BARS", !numbers);
    plot_array(f, "WORDS", values.v, values.n);
    plot_text(f, "XCOLUMN", "x");
    plot_text(f, "XLABEL", g->varied);
    plot_grid(f, columns > 1 ? columns : 3, 380, 300);
    return FGSF_OK;
}

// ---- overhead -----------------------------------------------------------------------------------

static fgsf_status write_overhead(const group *g, plot *f) {
    static const char *const PANELS[] = {"time per training step", "efficiency"};
    const csv *t = g->sources.v;
    size_t cols[4];
    TRY(csv_need(t, "method,median_ms,p99_ms,efficiency", cols));
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (size_t row = 0; row < t->rows; row++) {
        const char *method = csv_text(t, row, cols[0]);
        look how = method_look(method);
        double at[3]; // median, 99th percentile, efficiency
        for (int k = 0; k < 2; k++) TRY(csv_number(t, row, cols[k + 1], &at[k]));
        TRY(csv_maybe(t, row, cols[3], &at[2]));
        if (names_find(&f->series, method, NULL)) {
            method = pool_printf("%s (line %zu)", method, t->row[row].line);
        }
        plot_row(f, method, how, PANELS[0], (fgsf_stats_interval){at[0], at[0], at[1]}, 0);
        plot_row(f, method, how, PANELS[1], (fgsf_stats_interval){at[2], at[2], at[2]}, 0);
    }
    plot_rows(f, "milliseconds, median to 99th percentile",
              "GFLOP/s of the step / GFLOP/s of sgemm", 1);
    return FGSF_OK;
}

// ---- scaling ------------------------------------------------------------------------------------

// What `overhead --scaling` varies, one panel each.
typedef struct quantity {
    const char *series, *panel, *xlabel;
    bool log; // both axes
} quantity;

static const quantity QUANTITIES[] = {
    {"batch", "batch", "transitions per update", true},
    {"tasks", "tasks", "tasks, each with a policy", false},
    {"gpi", "tasks: GPI alone", "tasks, one update per step", false},
    {"hidden", "hidden width", "units in each of two layers", true},
    {"features", "features", "features of each action", true},
    {"replay", "replay", "transitions stored", true},
};
#define NQUANTITIES (sizeof QUANTITIES / sizeof QUANTITIES[0])

static void put_point(plot *f, bool linear, const quantity *q, double x, double ratio) {
    plot_point(f, linear ? "linear growth" : "training step",
               linear ? (look){"#444444", 2, CIRCLE} : palette(0), q->panel);
    fprintf(f->csv, ",%.9g,%.9g\n", x, ratio);
}

// Writes times as multiples of the first, *unit, which stays 0 when there is none, and how they
// would grow linearly: on logarithmic axes in proportion, which reaches *top, on others straight
// from the first point to the last. *tics lists the values of x.
static fgsf_status put_quantity(const csv *t, plot *f, const quantity *q, double *unit, double *top,
                                const char **tics) {
    size_t cols[3];
    double start = 0, x = 0, y = 0;
    TRY(csv_need(t, "series,x,y", cols));
    for (size_t row = 0; row < t->rows; row++) {
        if (strcmp(csv_text(t, row, cols[0]), q->series) != 0) continue;
        TRY(csv_number(t, row, cols[1], &x));
        TRY(csv_number(t, row, cols[2], &y));
        if (x <= 0 || y <= 0) return csv_fail(t, row, cols[x > 0 ? 2 : 1], "is not positive");
        if (*unit == 0) {
            start = x;
            *unit = y;
        }
        put_point(f, false, q, x, y / *unit);
        *tics = text_join(*tics, " ", pool_printf("%.9g", x));
        if (q->log) *top = fmax(*top, fmax(x / start, y / *unit));
    }
    if (*unit == 0) return FGSF_OK;
    put_point(f, true, q, start, 1);
    put_point(f, true, q, x, q->log ? x / start : y / *unit);
    return FGSF_OK;
}

static fgsf_status write_scaling(const group *g, plot *f) {
    size_t n = 0;
    const char *xlabels[NQUANTITIES], *ylabels[NQUANTITIES], *tics[NQUANTITIES];
    double top = 1;
    fputs("method,quantity,x,ratio\n", f->csv);
    for (size_t i = 0; i < NQUANTITIES; i++) {
        const quantity *q = &QUANTITIES[i];
        const char *values = "";
        double unit = 0;
        TRY(put_quantity(g->sources.v, f, q, &unit, &top, &values));
        if (unit == 0) continue;
        ylabels[n] = pool_printf("step time / %.2f ms", unit);
        xlabels[n] = q->xlabel;
        tics[n++] = q->log ? values : "";
    }
    plot_array(f, "XLABELS", xlabels, n);
    plot_array(f, "YLABELS", ylabels, n);
    plot_array(f, "XTICS", tics, n);
    plot_number(f, "TOP", top);
    plot_grid(f, 3, 350, 280);
    return FGSF_OK;
}

// ---- theory -------------------------------------------------------------------------------------

// A logarithmic axis for positive values over three decades or more.
static bool wants_log(double low, double high) {
    return low > 0 && high / low >= 1000;
}

static fgsf_status write_theory(const group *g, plot *f) {
    const csv *t = g->sources.v;
    size_t cols[3];
    double low[2] = {INFINITY, INFINITY};
    double high[2] = {-INFINITY, -INFINITY};
    TRY(csv_need(t, "series,x,y", cols));
    fputs("method,quantity,x,mean,low,high\n", f->csv);
    for (size_t row = 0; row < t->rows; row++) {
        const char *name = csv_text(t, row, cols[0]);
        double at[2];
        TRY(csv_number(t, row, cols[1], &at[0]));
        TRY(csv_maybe(t, row, cols[2], &at[1]));
        for (int k = 0; k < 2; k++) low[k] = fmin(low[k], at[k]);
        for (int k = 0; k < 2; k++) high[k] = fmax(high[k], at[k]);
        plot_point(f, name, named_look(name, palette(f->series.n)), g->name);
        fprintf(f->csv, ",%.9g", at[0]);
        for (int k = 0; k < 3; k++) { // without an interval
            fputc(',', f->csv);
            csv_put_number(f->csv, at[1]);
        }
        fputc('\n', f->csv);
    }
    plot_text(f, "XCOLUMN", "x");
    plot_number(f, "XSCALE", 1);
    plot_text(f, "XLABEL", csv_note(t, "x", "x"));
    plot_array(f, "YLABELS", (const char *const[]){csv_note(t, "y", "y")}, 1);
    plot_number(f, "LOGX", wants_log(low[0], high[0]));
    plot_number(f, "LOGY", wants_log(low[1], high[1]));
    plot_number(f, "PAPER", 0);
    plot_number(f, "MARK", f->rows <= 30 * f->series.n ? 7 : -1);
    plot_grid(f, 1, 860, 340);
    return FGSF_OK;
}

const figure study_figures[] = {
    {"", HAS_GRID, "one setting varied, mean and 95 % interval", write_grid, "study", 0, NSHOWN},
    {"ablation", HAS_ABLATION, "cells, mean and 95 % interval", write_ablation, "intervals", 0,
     NSHOWN},
    {"", HAS_OVERHEAD, "cost of a training step", write_overhead, "intervals", 0, 0},
    {"", HAS_SCALING, "time of a training step against the sizes of the problem", write_scaling,
     "scaling", 0, 0},
    {"", HAS_CURVE, "numerical check of the theory", write_theory, "curves", 0, 0},
    {0},
};
