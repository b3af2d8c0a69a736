// Figures of training: cumulative reward per task, Bellman residual, errors and gradient norm, GPI
// share.
#include <math.h>

#include "export.h"

// Curves over training steps, which are shown in thousands once there are thousands of them.
static void finish_curves(plot *f, double last, const char *xlabel, const char *ylabel,
                          bool log_y) {
    const char *label = xlabel;
    if (last >= 5000) label = pool_printf("%s (thousands)", xlabel);
    const char **ylabels = pool_get(f->panels.n, sizeof *ylabels);
    for (size_t i = 0; i < f->panels.n; i++) ylabels[i] = ylabel;
    plot_number(f, "XSCALE", last >= 5000 ? 1000 : 1);
    plot_text(f, "XLABEL", label);
    plot_text(f, "XCOLUMN", "step");
    plot_array(f, "YLABELS", ylabels, f->panels.n);
    plot_number(f, "MARK", -1);
    plot_number(f, "LOGX", 0);
    plot_number(f, "LOGY", log_y);
}

static void put_curve(plot *f, const arm *a, const char *panel, const curve *c, double paper) {
    for (size_t i = 0; i < c->n; i++) {
        plot_point(f, a->name, a->look, panel);
        fprintf(f->csv, ",%.9g", c->x[i]);
        plot_interval(f, c->y[i], c->seeds);
        fputc(',', f->csv);
        csv_put_number(f->csv, i + 1 == c->n ? paper : NAN);
        fputc('\n', f->csv);
    }
}

static fgsf_status write_cumulative(const group *g, plot *f) {
    double last = 0;
    bool any_paper = false;
    f->panel_column = "task";
    f->panel_word = "task ";
    fputs("method,task,step,mean,low,high,seeds,paper\n", f->csv);
    for (size_t i = 0; i < g->shown.n; i++) {
        const arm *a = g->shown.v[i];
        names own = {0};
        bool published = paper_scale(f->paper, g, a);
        TRY(train_tasks(a, &own));
        for (size_t k = 0; k < own.n; k++) {
            curve c;
            const char *task = own.v[k];
            double paper = paper_value(&f->paper->cumulative, g, a, task, "cum_reward_end");
            if (!published) paper = NAN;
            TRY(cumulative_curve(a, task, &c));
            put_curve(f, a, task, &c, paper);
            if (c.n) last = fmax(last, c.x[c.n - 1]);
            any_paper = any_paper || !isnan(paper);
        }
    }
    finish_curves(f, last, "steps on the task", "cumulative reward", false);
    plot_number(f, "PAPER", any_paper);
    plot_grid(f, f->panels.n > 4 ? 3 : 2, 400, 300);
    return FGSF_OK;
}

// Columns of train.csv, one panel each.
static const struct {
    const char *name, *title;
} COLUMNS[] = {{"psi_error", "error of the successor features"},
               {"bellman_residual", "Bellman residual (held-out transitions)"},
               {"grad_norm", "gradient norm"},
               {"w_error", "error of the reward weights w"},
               {"gpi_share", "GPI share"}};
enum { GPI_SHARE = 4, NCOLUMNS };

static fgsf_status write_columns(const group *g, plot *f) {
    bool errors = f->of->first < GPI_SHARE;
    double last = 0;
    fputs("method,quantity,step,mean,low,high,seeds,paper\n", f->csv);
    for (unsigned k = f->of->first; k < f->of->last; k++) {
        for (size_t i = 0; i < g->shown.n; i++) {
            curve c;
            double top = 0;
            TRY(diagnostic_curve(g->shown.v[i], COLUMNS[k].name, errors, &c));
            for (size_t j = 0; j < c.n; j++) top = fmax(top, c.y[j].high);
            if (c.n < 2 || top <= 0) continue;
            put_curve(f, g->shown.v[i], COLUMNS[k].title, &c, NAN);
            last = fmax(last, c.x[c.n - 1]);
        }
    }
    finish_curves(f, last, "training steps, all tasks",
                  errors ? "geometric mean over seeds" : "share of sampled next states", errors);
    plot_number(f, "PAPER", 0);
    plot_grid(f, 2, f->panels.n == 1 ? 860 : 520, 340);
    return FGSF_OK;
}

const figure training_figures[] = {
    {"cumulative", HAS_TRAIN, "cumulative reward while training, mean and 95 % interval",
     write_cumulative, "curves", 0, 0},
    {"diagnostics", HAS_TRAIN, "errors, residual and gradient norm while training", write_columns,
     "curves", 0, GPI_SHARE},
    {"gpi_share", HAS_TRAIN, "how often another task's policy is the best in GPI", write_columns,
     "curves", GPI_SHARE, NCOLUMNS},
    {0},
};
