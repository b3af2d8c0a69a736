// Figures of training: cumulative reward per task, Bellman residual and gradient norm, GPI share.
#include <math.h>
#include <string.h>

#include "export.h"

// Steps are shown in thousands once there are thousands of them.
static void plot_steps(plot *f, double last, const char *what) {
    char label[64];
    double scale = last >= 5000 ? 1000 : 1;
    snprintf(label, sizeof label, "%s%s", what, scale > 1 ? " (thousands)" : "");
    plot_number(f, "XSCALE", scale);
    plot_text(f, "XLABEL", label);
    plot_text(f, "XCOLUMN", "step");
}

static fgsf_status put_curve(exporter *e, plot *f, const arm *a, const char *panel, const curve *c,
                             double paper, names *series, names *colours) {
    if (c->n == 0) return FGSF_OK;
    TRY(series_add(&e->pool, series, colours, a->label, a->colour));
    plot_seeds(f, c->seeds);
    for (size_t i = 0; i < c->n; i++, f->rows++) {
        plot_put_name(f, a->label);
        fputc(',', f->csv);
        plot_put_name(f, panel);
        fprintf(f->csv, ",%.9g", c->x[i]);
        plot_interval_row(f, c->y[i]);
        fprintf(f->csv, ",%zu,", c->seeds);
        csv_put_number(f->csv, i + 1 == c->n ? paper : NAN);
        fputc('\n', f->csv);
    }
    return FGSF_OK;
}

static fgsf_status write_cumulative(exporter *e, const group *g, plot *f) {
    names tasks = {0};
    names series = {0};
    names colours = {0};
    double last = 0;
    bool any_paper = false;
    fputs("method,task,step,mean,low,high,seeds,paper\n", f->csv);
    for (size_t i = 0; i < g->narms; i++) {
        names own = {0};
        if (!arm_is_plain(&g->arms[i])) continue;
        TRY(train_tasks(&e->pool, &g->arms[i], &own));
        for (size_t k = 0; k < own.n; k++) {
            curve c = {0};
            double paper = paper_scale(&e->paper, g, &g->arms[i])
                               ? paper_cumulative(&e->paper, g, g->arms[i].method, own.v[k])
                               : NAN;
            TRY(cumulative_curve(&e->pool, &g->arms[i], own.v[k], &c));
            TRY(put_curve(e, f, &g->arms[i], own.v[k], &c, paper, &series, &colours));
            TRY(names_add(&e->pool, &tasks, own.v[k]));
            if (c.n) last = fmax(last, c.x[c.n - 1]);
            any_paper = any_paper || !isnan(paper);
        }
    }
    plot_panels(f, "method", "task", &tasks, "task ");
    plot_series(f, &series, &colours);
    plot_steps(f, last, "steps on the task");
    plot_text(f, "YLABEL", "cumulative reward");
    plot_number(f, "PAPER", any_paper);
    plot_number(f, "MARK", -1);
    plot_number(f, "LOGX", 0);
    plot_number(f, "LOGY", 0);
    plot_grid(f, tasks.n, tasks.n > 6 ? 4 : tasks.n == 4 ? 2 : 3, 350, 280);
    return FGSF_OK;
}

// Draws columns of train.csv, one panel each; a method that recorded nothing or only zeros is left
// out.
static fgsf_status write_columns(exporter *e, const group *g, plot *f, const char *const *columns,
                                 const char *const *titles, size_t n) {
    names panels = {0};
    names series = {0};
    names colours = {0};
    double last = 0;
    fputs("method,quantity,step,mean,low,high,seeds,paper\n", f->csv);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < g->narms; i++) {
            curve c = {0};
            double top = 0;
            if (!arm_is_plain(&g->arms[i])) continue;
            TRY(diagnostic_curve(&e->pool, &g->arms[i], columns[k], &c));
            for (size_t j = 0; j < c.n; j++) top = fmax(top, c.y[j].high);
            if (c.n < 2 || top <= 0) continue;
            TRY(names_add(&e->pool, &panels, titles[k]));
            TRY(put_curve(e, f, &g->arms[i], titles[k], &c, NAN, &series, &colours));
            last = fmax(last, c.x[c.n - 1]);
        }
    }
    plot_panels(f, "method", "quantity", &panels, "");
    plot_series(f, &series, &colours);
    plot_steps(f, last, "training steps, all tasks");
    plot_number(f, "PAPER", 0);
    plot_number(f, "MARK", -1);
    plot_number(f, "LOGX", 0);
    plot_grid(f, panels.n, 2, panels.n == 1 ? 860 : 520, 340);
    return FGSF_OK;
}

static fgsf_status write_diagnostics(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"bellman_residual", "grad_norm", "w_error", "psi_error"};
    static const char *const TITLES[] = {"Bellman residual (held-out transitions)", "gradient norm",
                                         "error of the reward weights w",
                                         "error of the successor features"};
    TRY(write_columns(e, g, f, COLUMNS, TITLES, 4));
    plot_text(f, "YLABEL", "mean over seeds, log scale");
    plot_number(f, "LOGY", 1);
    return FGSF_OK;
}

static fgsf_status write_gpi_share(exporter *e, const group *g, plot *f) {
    static const char *const COLUMNS[] = {"gpi_share"};
    static const char *const TITLES[] = {"GPI share"};
    TRY(write_columns(e, g, f, COLUMNS, TITLES, 1));
    plot_text(f, "YLABEL", "share of sampled next states");
    plot_number(f, "LOGY", 0);
    return FGSF_OK;
}

const figure training_figures[] = {
    {"cumulative", HAS_TRAIN, "cumulative reward while training, mean and 95 % interval",
     write_cumulative, body_curves, "curves"},
    {"diagnostics", HAS_TRAIN, "residual, gradient norm and errors while training",
     write_diagnostics, body_curves, "curves"},
    {"gpi_share", HAS_TRAIN, "how often another task's policy is the best in GPI", write_gpi_share,
     body_curves, "curves"},
    {0},
};
