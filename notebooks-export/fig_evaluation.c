// Figures of scores: returns and success per task, all scores over all tasks, performance profiles and
// paired differences. They compare, so arms with a single seed are left out.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

// ---- per task -----------------------------------------------------------------------------------

static fgsf_status put_bar(const group *g, plot *f, const arm *a, const scores *s, size_t task,
                           bool *any_paper) {
    fgsf_stats_interval y;
    bool published = f->of->first == RETURN && paper_scale(f->paper, g, a);
    const char *name = s->tasks.v[task];
    double paper = published ? paper_value(&f->paper->evaluation, g, a, name, "mean") : NAN;
    scores one = scores_tasks(s, task, task + 1);
    TRY(mean_interval(&one, &y));
    plot_point(f, a->name, a->look, name);
    plot_interval(f, y, s->s.seeds);
    fputc(',', f->csv);
    csv_put_number(f->csv, paper);
    fputc(',', f->csv);
    csv_put_text(f->csv, s->protocol);
    fputc('\n', f->csv);
    *any_paper = *any_paper || !isnan(paper);
    return FGSF_OK;
}

static fgsf_status write_bars(const group *g, plot *f) {
    enum metric metric = f->of->first;
    const char *label = NULL;
    bool any_paper = false;
    f->panel_column = "task";
    fputs("method,task,mean,low,high,seeds,paper,protocol\n", f->csv);
    for (size_t i = 0; i < g->shown.n; i++) {
        const arm *a = g->shown.v[i];
        scores s;
        TRY(scores_of(a, metric, &s));
        if (s.s.seeds < 2) continue;
        for (size_t k = 0; k < s.tasks.n; k++) TRY(put_bar(g, f, a, &s, k, &any_paper));
        if (!label) label = s.protocol;
        if (strcmp(label, s.protocol) != 0) label = "protocols differ, see the table";
    }
    plot_text(f, "XLABEL", metric == ZERO_SHOT ? "held-out task, never trained on" : "task");
    const char *ylabel = metric == SUCCESS ? "share of episodes that reach the goal"
                                           : "undiscounted return per episode";
    plot_text(f, "YLABEL", pool_printf("%s (%s)", ylabel, label ? label : ""));
    plot_number(f, "PAPER", any_paper);
    f->width = 260 + (int)(f->panels.n * (f->series.n + 1)) * 15;
    if (f->width < 860) f->width = 860;
    f->height = 500;
    return FGSF_OK;
}

// ---- over all tasks -----------------------------------------------------------------------------

// Pixels left of a column of names.
static double room_for(const names *list) {
    return 35.0 + 7.2 * (double)names_longest(list);
}

void plot_rows(plot *f, const char *first_xlabel, const char *second_xlabel, int zero) {
    const char *xlabels[NSHOWN];
    for (size_t i = 0; i < NSHOWN; i++)
        xlabels[i] = i && second_xlabel ? second_xlabel : first_xlabel;
    plot_array(f, "XLABELS", xlabels, f->panels.n);
    plot_number(f, "LEFT", room_for(&f->series));
    plot_number(f, "ZERO", zero);
    plot_grid(f, f->panels.n > 3 ? (f->panels.n + 1) / 2 : 3, f->panels.n == 1 ? 560 : 330,
              90 + 26 * (int)f->series.n);
    f->width += (int)room_for(&f->series);
}

void plot_row(plot *f, const char *label, look how, const char *quantity, fgsf_stats_interval y,
              size_t seeds) {
    plot_point(f, label, how, quantity);
    plot_interval(f, y, seeds);
    fputc('\n', f->csv);
}

// Whether the arms differ at all: where no goal ends an episode, all have the same number of steps.
static fgsf_status any_differs(const arm_list *arms, enum metric metric, bool *out) {
    double first = NAN;
    *out = false;
    for (size_t i = 0; i < arms->n; i++) {
        scores s;
        TRY(scores_of(arms->v[i], metric, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks; j++) {
            if (isnan(first)) first = s.s.x[j];
            *out = *out || s.s.x[j] != first;
        }
    }
    return FGSF_OK;
}

// Whether all arms have changed this setting, so that it tells no row from another.
static bool all_changed(const char *setting, const arm_list *arms) {
    size_t i = 0;
    while (i < arms->n && names_find(&arms->v[i]->example->changes, setting, NULL)) i++;
    return i == arms->n;
}

// A cell is named by what it changes and the others do not, where that is recorded and short and its name
// does not say it.
static const char *row_label(const arm *a, const arm_list *arms) {
    const names *changes = &a->example->changes;
    const char *told = "";
    if (!*a->cell || strchr(a->cell, '=') || ablation_words(a->cell)) return a->name;
    for (size_t i = 0; i < changes->n; i++) {
        if (!all_changed(changes->v[i], arms)) told = text_join(told, ", ", changes->v[i]);
    }
    bool fits = *told && strlen(told) <= 60;
    return fits ? pool_printf("%s (%s)", a->name, told) : a->name;
}

fgsf_status plot_scores(plot *f, const arm_list *arms) {
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (enum metric k = f->of->first; k < f->of->last; k++) {
        bool differs = false;
        TRY(any_differs(arms, k, &differs));
        for (size_t i = 0; i < arms->n && differs; i++) {
            const arm *a = arms->v[i];
            fgsf_stats_interval y;
            scores s;
            TRY(scores_of(a, k, &s));
            if (s.s.seeds < 2) continue;
            TRY(mean_interval(&s, &y));
            plot_row(f, row_label(a, arms), a->look, metric_title(k), y, s.s.seeds);
        }
    }
    plot_rows(f, "mean over tasks", NULL, 0);
    return FGSF_OK;
}

static fgsf_status write_scores(const group *g, plot *f) {
    return plot_scores(f, &g->shown);
}

// ---- profiles -----------------------------------------------------------------------------------

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Every score of the shown arms once, in order: between them the profiles are flat.
static fgsf_status find_taus(const group *g, enum metric metric, double **tau, size_t *n) {
    size_t distinct = 0;
    *n = 0;
    for (size_t i = 0; i < g->shown.n; i++) {
        scores s;
        TRY(scores_of(g->shown.v[i], metric, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks && s.s.seeds > 1; j++) {
            pool_push(tau, n, &s.s.x[j], sizeof **tau);
        }
    }
    if (*n) qsort(*tau, *n, sizeof **tau, compare_doubles);
    for (size_t i = 0; i < *n; i++) {
        if (i == 0 || (*tau)[i] > (*tau)[distinct - 1] + 1e-9) (*tau)[distinct++] = (*tau)[i];
    }
    *n = distinct;
    return FGSF_OK;
}

// A step at every threshold: the fraction up to it, then the fraction above it.
static fgsf_status put_profile(plot *f, const arm *a, const char *panel, const scores *s,
                               const double *tau, size_t n) {
    fgsf_stats_bootstrap_params params = {.resamples = 500, .level = 0.95};
    fgsf_rng rng = fgsf_rng_make(0, FGSF_STREAM_STATS);
    fgsf_stats_interval *y = pool_get(n + 1, sizeof *y);
    y[0] = (fgsf_stats_interval){1, 1, 1};
    TRY(fgsf_stats_profile(&s->s, tau, n, &params, &rng, y + 1));
    for (size_t j = 0; j < 2 * n; j++) {
        plot_point(f, a->name, a->look, panel);
        fprintf(f->csv, ",%.9g", tau[j / 2]);
        plot_interval(f, y[(j + 1) / 2], s->s.seeds);
        fputc('\n', f->csv);
    }
    return FGSF_OK;
}

static fgsf_status write_profile(const group *g, plot *f) {
    static const char *const YLABELS[] = {"fraction of runs with a return above \xcf\x84",
                                          "fraction of runs with a return above \xcf\x84"};
    fputs("method,quantity,tau,mean,low,high,seeds\n", f->csv);
    for (enum metric k = f->of->first; k < f->of->last; k++) {
        const char *panel = k == ZERO_SHOT ? "held-out tasks" : "trained tasks";
        double *tau = NULL;
        size_t n = 0;
        TRY(find_taus(g, k, &tau, &n));
        for (size_t i = 0; i < g->shown.n && n; i++) {
            const arm *a = g->shown.v[i];
            scores s;
            TRY(scores_of(a, k, &s));
            if (s.s.seeds < 2) continue;
            TRY(put_profile(f, a, panel, &s, tau, n));
        }
    }
    plot_text(f, "XCOLUMN", "tau");
    plot_number(f, "XSCALE", 1);
    plot_text(f, "XLABEL", "return \xcf\x84"); // tau
    plot_array(f, "YLABELS", YLABELS, f->panels.n);
    plot_number(f, "PAPER", 0);
    plot_number(f, "MARK", -1);
    plot_number(f, "LOGX", 0);
    plot_number(f, "LOGY", 0);
    plot_grid(f, 2, f->panels.n == 1 ? 820 : 500, 340);
    return FGSF_OK;
}

// ---- one method against another -----------------------------------------------------------------

static fgsf_status write_differences(const group *g, plot *f) {
    arm_pair *pairs = NULL;
    size_t n = 0;
    pairs_of(g, &pairs, &n);
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (enum metric k = f->of->first; k < f->of->last; k++) {
        for (size_t i = 0; i < n; i++) {
            comparison c;
            scores s;
            TRY(scores_of(pairs[i].a, k, &s));
            TRY(compare(pairs[i], k, &(part){"all", 0, s.tasks.n}, &c));
            if (c.pairs < 2 || (c.difference.low == 0 && c.difference.high == 0)) continue;
            const char *label = pool_printf("%s - %s", pairs[i].a->name, pairs[i].b->name);
            plot_row(f, label, pairs[i].b->look, metric_title(k), c.difference, c.pairs);
        }
    }
    plot_rows(f, "left less right", NULL, -1);
    return FGSF_OK;
}

const figure evaluation_figures[] = {
    {"scores", HAS_EVAL, "scores, mean over seeds and 95 % interval", write_scores, "intervals", 0,
     NSHOWN},
    {"success", HAS_EVAL, "success after training, mean and 95 % interval", write_bars, "bars",
     SUCCESS, SUCCESS + 1},
    {"evaluation", HAS_EVAL, "final evaluation, mean and 95 % interval", write_bars, "bars", RETURN,
     RETURN + 1},
    {"zero_shot", HAS_EVAL, "zero-shot return on held-out tasks", write_bars, "bars", ZERO_SHOT,
     ZERO_SHOT + 1},
    {"profile", HAS_EVAL, "performance profile", write_profile, "curves", RETURN, NSHOWN},
    {"differences", HAS_PAIRS | HAS_EVAL, "differences, paired by seed, mean and 95 % interval",
     write_differences, "intervals", 0, NSHOWN},
    {"values", HAS_EVAL, "overestimation, action gap and error of psi, mean and 95 % interval",
     write_scores, "intervals", NSHOWN, NCOMPARED},
    {0},
};
