// Figures of training: cumulative reward per task, Bellman residual, errors and gradient norm, GPI
// share.
#include <math.h>
#include <string.h>

#include "export.h"

// Curves over training steps, which are shown in thousands once there are thousands of them.
static void finish_curves(exporter *e, plot *f, double last, const char *xlabel, const char *ylabel,
                          bool log_y) {
    const char *label = xlabel;
    if (last >= 5000) label = pool_printf(&e->pool, "%s (thousands)", xlabel);
    const char **ylabels = pool_get(&e->pool, f->panels.n, sizeof *ylabels);
    for (size_t i = 0; i < f->panels.n; i++) ylabels[i] = ylabel;
    plot_number(f, "XSCALE", last >= 5000 ? 1000 : 1);
    plot_text(f, "XLABEL", label);
    plot_text(f, "XCOLUMN", "step");
    plot_array(f, "YLABELS", ylabels, f->panels.n);
    plot_number(f, "MARK", -1);
    plot_number(f, "LOGX", 0);
    plot_number(f, "LOGY", log_y);
}

static void put_curve(exporter *e, plot *f, const arm *a, const char *panel, const curve *c,
                      double paper) {
    if (c->n) plot_seeds(f, c->seeds);
    for (size_t i = 0; i < c->n; i++) {
        plot_point(e, f, a->name, a->look, panel);
        fprintf(f->csv, ",%.9g", c->x[i]);
        plot_interval(f, c->y[i]);
        fprintf(f->csv, ",%zu,", c->seeds);
        csv_put_number(f->csv, i + 1 == c->n ? paper : NAN);
        fputc('\n', f->csv);
    }
}

static fgsf_status write_cumulative(exporter *e, const group *g, plot *f) {
    double last = 0;
    bool any_paper = false;
    f->panel_column = "task";
    f->panel_word = "task ";
    fputs("method,task,step,mean,low,high,seeds,paper\n", f->csv);
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        names own = {0};
        if (!a->shown) continue;
        TRY(train_tasks(&e->pool, a, &own));
        for (size_t k = 0; k < own.n; k++) {
            curve c = {0};
            double paper = paper_scale(&e->pool, &e->paper, g, a)
                               ? paper_cumulative(&e->paper, g, a->method, own.v[k])
                               : NAN;
            TRY(cumulative_curve(&e->pool, a, own.v[k], &c));
            put_curve(e, f, a, own.v[k], &c, paper);
            if (c.n) last = fmax(last, c.x[c.n - 1]);
            any_paper = any_paper || !isnan(paper);
        }
    }
    finish_curves(e, f, last, "steps on the task", "cumulative reward", false);
    plot_number(f, "PAPER", any_paper);
    plot_grid(f, f->panels.n > 4 ? 3 : 2, 400, 300);
    return FGSF_OK;
}

// One panel per column of train.csv.
static fgsf_status write_columns(exporter *e, const group *g, plot *f, const char *const *columns,
                                 const char *const *titles, size_t n, const char *ylabel,
                                 bool log_y) {
    double last = 0;
    fputs("method,quantity,step,mean,low,high,seeds,paper\n", f->csv);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < g->narms; i++) {
            curve c = {0};
            double top = 0;
            if (!g->arms[i].shown) continue;
            TRY(diagnostic_curve(&e->pool, &g->arms[i], columns[k], log_y, &c));
            for (size_t j = 0; j < c.n; j++) top = fmax(top, c.y[j].high);
            if (c.n < 2 || top <= 0) continue;
            put_curve(e, f, &g->arms[i], titles[k], &c, NAN);
            last = fmax(last, c.x[c.n - 1]);
        }
    }
    finish_curves(e, f, last, "training steps, all tasks", ylabel, log_y);
    plot_number(f, "PAPER", 0);
    plot_grid(f, 2, f->panels.n == 1 ? 860 : 520, 340);
    return FGSF_OK;
}

static fgsf_status write_diagnostics(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"psi_error", "bellman_residual", "grad_norm", "w_error"};
    static const char *const TITLES[] = {"error of the successor features",
                                         "Bellman residual (held-out transitions)", "gradient norm",
                                         "error of the reward weights w"};
    return write_columns(e, g, f, COLUMNS, TITLES, 4, "geometric mean over seeds", true);
}

static fgsf_status write_gpi_share(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"gpi_share"};
    static const char *const TITLES[] = {"GPI share"};
    return write_columns(e, g, f, COLUMNS, TITLES, 1, "share of sampled next states", false);
}

const figure training_figures[] = {
    {"cumulative", HAS_TRAIN, "cumulative reward while training, mean and 95 % interval",
     write_cumulative, "curves"},
    {"diagnostics", HAS_TRAIN, "errors, residual and gradient norm while training",
     write_diagnostics, "curves"},
    {"gpi_share", HAS_TRAIN, "how often another task's policy is the best in GPI", write_gpi_share,
     "curves"},
    {0},
};
