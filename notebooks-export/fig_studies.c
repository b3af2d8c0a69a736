// Figures of the studies: averaging, the gradient ablation, overhead, scaling, and curves of the
// theory.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

// ---- averaging ----------------------------------------------------------------------------------

typedef struct averaging_cell {
    const arm *arm;
    const char *label, *estimator;
    double slip;
    long n;
} averaging_cell;

static int compare_cells(const void *a, const void *b) {
    const averaging_cell *x = a;
    const averaging_cell *y = b;
    if (x->slip != y->slip) return x->slip < y->slip ? -1 : 1;
    int order = strcmp(x->label, y->label);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static fgsf_status averaging_cells(exporter *e, const group *g, averaging_cell **out, size_t *n) {
    for (size_t i = 0; i < g->narms; i++) {
        averaging_cell c = {.arm = &g->arms[i]};
        if (c.arm->nruns == 0) continue;
        if (!cell_is_averaging(c.arm->cell, &c.slip, &c.n, &c.estimator)) continue;
        TRY(pool_printf(&e->pool, &c.label, *c.estimator ? "%s (%s)" : "%s", c.arm->method,
                        c.estimator));
        TRY(pool_push(&e->pool, out, n, sizeof **out));
        (*out)[*n - 1] = c;
    }
    if (*n) qsort(*out, *n, sizeof **out, compare_cells);
    return FGSF_OK;
}

static fgsf_status put_cell(exporter *e, plot *f, const averaging_cell *c, enum metric metric,
                            names *panels, names *series) {
    const char *panel = NULL;
    fgsf_stats_interval y;
    scores s;
    TRY(scores_of(&e->pool, c->arm, metric, &s));
    if (s.s.seeds == 0) return FGSF_OK;
    TRY(mean_interval(&s, &y));
    TRY(pool_printf(&e->pool, &panel, "slip %g: %s", c->slip, metric_title(metric)));
    TRY(names_add(&e->pool, panels, panel));
    TRY(names_add(&e->pool, series, c->label));
    plot_seeds(f, s.s.seeds);
    plot_put_name(f, c->label);
    fprintf(f->csv, ",%s,%g,%ld", panel, c->slip, c->n);
    plot_interval_row(f, y);
    fprintf(f->csv, ",%zu\n", s.s.seeds);
    f->rows++;
    return FGSF_OK;
}

static fgsf_status write_averaging(exporter *e, const group *g, plot *f) {
    static const enum metric METRICS[] = {CUMULATIVE, RETURN, ZERO_SHOT};
    averaging_cell *cells = NULL;
    names panels = {0};
    names series = {0};
    names colours = {0};
    names ylabels = {0};
    size_t n = 0;
    size_t slips = 0;
    TRY(averaging_cells(e, g, &cells, &n));
    fputs("method,quantity,slip,n,mean,low,high,seeds\n", f->csv);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) {
            TRY(put_cell(e, f, &cells[i], METRICS[k], &panels, &series));
        }
        if (k == 0) slips = panels.n;
    }
    for (size_t i = 0; i < series.n; i++) {
        TRY(pool_push(&e->pool, &colours.v, &colours.n, sizeof *colours.v));
        colours.v[i] = palette(i);
    }
    for (size_t i = 0; i < panels.n; i++) {
        TRY(pool_push(&e->pool, &ylabels.v, &ylabels.n, sizeof *ylabels.v));
        ylabels.v[i] = strchr(panels.v[i], ':') + 2;
    }
    plot_panels(f, "method", "quantity", &panels, "");
    plot_series(f, &series, &colours);
    plot_text(f, "XCOLUMN", "n");
    plot_text(f, "XLABEL", "N, next states averaged per pair");
    plot_array(f, "YLABELS", ylabels.v, ylabels.n);
    plot_grid(f, panels.n, slips > 1 ? slips : 3, 380, 300); // a column each, or one row
    return FGSF_OK;
}

// ---- gradient ablation --------------------------------------------------------------------------

// From the published semi-gradient to the published full gradient, one ingredient at a time; the
// other cells follow in the order of their names.
static size_t ablation_rank(const char *cell) {
    static const char *const PATH[] = {"A0", "C2", "C1", "B0", "B3", "B1", "A1"};
    size_t n = sizeof PATH / sizeof PATH[0];
    for (size_t i = 0; i < n; i++) {
        if (strcmp(PATH[i], cell) == 0) return i;
    }
    return n;
}

static int compare_arms(const void *a, const void *b) {
    const arm *x = *(const arm *const *)a;
    const arm *y = *(const arm *const *)b;
    size_t i = ablation_rank(x->cell);
    size_t j = ablation_rank(y->cell);
    if (i != j) return i < j ? -1 : 1;
    int order = strcmp(x->cell, y->cell);
    return order ? order : strcmp(x->method, y->method);
}

fgsf_status ablation_arms(exporter *e, const group *g, const arm ***out, size_t *n) {
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        const char *estimator = NULL;
        double slip = 0;
        long count = 0;
        if (a->nruns == 0 || !a->cell) continue;
        if (cell_is_averaging(a->cell, &slip, &count, &estimator)) continue;
        TRY(pool_push(&e->pool, out, n, sizeof **out));
        (*out)[*n - 1] = a;
    }
    if (*n) qsort(*out, *n, sizeof **out, compare_arms);
    return FGSF_OK;
}

static fgsf_status write_ablation(exporter *e, const group *g, plot *f) {
    static const enum metric METRICS[] = {CUMULATIVE, RETURN, ZERO_SHOT};
    const arm **arms = NULL;
    const char *xlabels[3];
    names panels = {0};
    names series = {0};
    names colours = {0};
    size_t n = 0;
    TRY(ablation_arms(e, g, &arms, &n));
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) {
            const char *label = NULL;
            fgsf_stats_interval y;
            scores s;
            TRY(scores_of(&e->pool, arms[i], METRICS[k], &s));
            if (s.s.seeds == 0) continue;
            TRY(mean_interval(&s, &y));
            TRY(pool_printf(&e->pool, &label, "%s  %s", arms[i]->cell, arms[i]->method));
            TRY(series_add(&e->pool, &series, &colours, label, arms[i]->colour));
            TRY(names_add(&e->pool, &panels, metric_title(METRICS[k])));
            xlabels[panels.n - 1] = "mean over tasks";
            plot_row(f, label, metric_title(METRICS[k]), y, s.s.seeds);
            plot_seeds(f, s.s.seeds);
        }
    }
    plot_rows(f, &panels, xlabels, &series, &colours);
    plot_number(f, "REFERENCE", 0);
    plot_number(f, "ZERO", 0);
    return FGSF_OK;
}

// ---- overhead -----------------------------------------------------------------------------------

static fgsf_status write_overhead(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"method", "median_ms", "p99_ms", "efficiency"};
    static const char *const XLABELS[] = {"milliseconds, median to 99th percentile",
                                          "GFLOP/s of the step / GFLOP/s of sgemm"};
    static const char *const PANELS[] = {"time per training step", "efficiency"};
    names panels = {.v = (const char **)PANELS, .n = 2};
    names series = {0};
    names colours = {0};
    const csv *t = g->source;
    size_t cols[4];
    TRY(csv_need(t, COLUMNS, 4, cols));
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (size_t row = 0; row < t->rows; row++) {
        const char *method = csv_text(t, row, cols[0]);
        double median = 0;
        double p99 = 0;
        double efficiency = 0;
        TRY(csv_number(t, row, cols[1], &median));
        TRY(csv_number(t, row, cols[2], &p99));
        TRY(csv_maybe(t, row, cols[3], &efficiency));
        if (names_find(&series, method, NULL)) {
            TRY(pool_printf(&e->pool, &method, "%s (line %zu)", method, t->line[row]));
        }
        TRY(series_add(&e->pool, &series, &colours, method,
                       method_colour(csv_text(t, row, cols[0]))));
        plot_row(f, method, PANELS[0], (fgsf_stats_interval){median, median, p99}, 0);
        plot_row(f, method, PANELS[1], (fgsf_stats_interval){efficiency, efficiency, efficiency},
                 0);
    }
    plot_rows(f, &panels, XLABELS, &series, &colours);
    plot_number(f, "REFERENCE", 0);
    plot_number(f, "ZERO", 1);
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

static void put_point(plot *f, const char *series, const quantity *q, double x, double ratio) {
    fprintf(f->csv, "%s,%s,%.9g,%.9g\n", series, q->panel, x, ratio);
    f->rows++;
}

// Writes times as multiples of the first, *unit, which stays 0 when there is none, and how they
// would grow linearly: on logarithmic axes in proportion, which reaches *top, on others straight
// from the first point to the last. *tics lists the values of x.
static fgsf_status put_quantity(exporter *e, const csv *t, plot *f, const quantity *q, double *unit,
                                double *top, const char **tics) {
    static const char *const COLUMNS[] = {"series", "x", "y"};
    size_t cols[3];
    double start = 0;
    double x = 0;
    double y = 0;
    TRY(csv_need(t, COLUMNS, 3, cols));
    for (size_t row = 0; row < t->rows; row++) {
        if (strcmp(csv_text(t, row, cols[0]), q->series) != 0) continue;
        TRY(csv_number(t, row, cols[1], &x));
        TRY(csv_number(t, row, cols[2], &y));
        if (x <= 0 || y <= 0) return csv_fail(t, row, cols[x > 0 ? 2 : 1], "is not positive");
        if (*unit == 0) {
            start = x;
            *unit = y;
        }
        put_point(f, "training step", q, x, y / *unit);
        TRY(pool_printf(&e->pool, tics, "%s%s%.9g", *tics, **tics ? " " : "", x));
        if (q->log) *top = fmax(*top, fmax(x / start, y / *unit));
    }
    if (*unit == 0) return FGSF_OK;
    put_point(f, "linear growth", q, start, 1);
    put_point(f, "linear growth", q, x, q->log ? x / start : y / *unit);
    return FGSF_OK;
}

static fgsf_status write_scaling(exporter *e, const group *g, plot *f) {
    static const char *const SERIES[] = {"training step", "linear growth"};
    names series = {.v = (const char **)SERIES, .n = 2};
    names colours = {.v = (const char *[]){palette(0), "#444444"}, .n = 2};
    names panels = {0};
    const char *xlabels[NQUANTITIES];
    const char *ylabels[NQUANTITIES];
    const char *tics[NQUANTITIES];
    double top = 1;
    fputs("method,quantity,x,ratio\n", f->csv);
    for (size_t i = 0; i < NQUANTITIES; i++) {
        const quantity *q = &QUANTITIES[i];
        const char *values = "";
        double unit = 0;
        TRY(put_quantity(e, g->source, f, q, &unit, &top, &values));
        if (unit == 0) continue;
        TRY(pool_printf(&e->pool, &ylabels[panels.n], "step time / %.2f ms", unit));
        xlabels[panels.n] = q->xlabel;
        tics[panels.n] = q->log ? values : "";
        TRY(names_add(&e->pool, &panels, q->panel));
    }
    plot_panels(f, "method", "quantity", &panels, "");
    plot_series(f, &series, &colours);
    plot_array(f, "XLABELS", xlabels, panels.n);
    plot_array(f, "YLABELS", ylabels, panels.n);
    plot_array(f, "XTICS", tics, panels.n);
    plot_number(f, "TOP", top);
    plot_grid(f, panels.n, 3, 350, 280);
    return FGSF_OK;
}

// ---- theory -------------------------------------------------------------------------------------

// A logarithmic axis for positive values over three decades or more.
static bool wants_log(double low, double high) {
    return low > 0 && high / low >= 1000;
}

static const char *note_or(const csv *t, const char *key, const char *otherwise) {
    const char *note = csv_note(t, key);
    return note ? note : otherwise;
}

static fgsf_status write_theory(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"series", "x", "y"};
    const csv *t = g->source;
    names panels = {0};
    names series = {0};
    names colours = {0};
    size_t cols[3];
    double low[2] = {INFINITY, INFINITY};
    double high[2] = {-INFINITY, -INFINITY};
    TRY(csv_need(t, COLUMNS, 3, cols));
    TRY(names_add(&e->pool, &panels, g->name));
    fputs("method,quantity,x,mean,low,high\n", f->csv);
    for (size_t row = 0; row < t->rows; row++, f->rows++) {
        const char *name = csv_text(t, row, cols[0]);
        double at[2];
        TRY(csv_number(t, row, cols[1], &at[0]));
        TRY(csv_maybe(t, row, cols[2], &at[1]));
        TRY(series_add(&e->pool, &series, &colours, name, palette(series.n)));
        for (int k = 0; k < 2; k++) low[k] = fmin(low[k], at[k]);
        for (int k = 0; k < 2; k++) high[k] = fmax(high[k], at[k]);
        plot_put_name(f, name);
        fprintf(f->csv, ",%s,%.9g", g->name, at[0]);
        plot_interval_row(f, (fgsf_stats_interval){at[1], at[1], at[1]});
        fputc('\n', f->csv);
    }
    plot_panels(f, "method", "quantity", &panels, "");
    plot_series(f, &series, &colours);
    plot_text(f, "XCOLUMN", "x");
    plot_number(f, "XSCALE", 1);
    plot_text(f, "XLABEL", note_or(t, "x", "x"));
    plot_text(f, "YLABEL", note_or(t, "y", "y"));
    plot_number(f, "LOGX", wants_log(low[0], high[0]));
    plot_number(f, "LOGY", wants_log(low[1], high[1]));
    plot_number(f, "PAPER", 0);
    plot_number(f, "MARK", f->rows <= 30 * series.n ? 7 : -1);
    plot_grid(f, 1, 1, 860, 340);
    return FGSF_OK;
}

const figure study_figures[] = {
    {"averaging", HAS_AVERAGING, "averaging over next states, mean and 95 % interval",
     write_averaging, body_study, "study"},
    {"ablation", HAS_ABLATION, "gradient ablation, mean and 95 % interval", write_ablation,
     body_intervals, "intervals"},
    {"", HAS_OVERHEAD, "cost of a training step", write_overhead, body_intervals, "intervals"},
    {"", HAS_SCALING, "time of a training step against the sizes of the problem", write_scaling,
     body_scaling, "scaling"},
    {"", HAS_CURVE, "numerical check of the theory", write_theory, body_curves, "curves"},
    {0},
};
