// Figures of scores: returns and success per task, all scores over all tasks, performance profiles and
// paired differences. They compare, so arms with a single seed are left out.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

// ---- per task -----------------------------------------------------------------------------------

static fgsf_status put_bar(exporter *e, const group *g, plot *f, const arm *a, const scores *s,
                           size_t task, enum metric metric, bool *any_paper) {
    fgsf_stats_interval y;
    bool published = metric == RETURN && paper_scale(&e->pool, &e->paper, g, a);
    const char *name = s->tasks.v[task];
    double paper = published ? paper_return(&e->paper, g, a->method, name, NULL) : NAN;
    scores one = scores_tasks(&e->pool, s, task, task + 1);
    TRY(mean_interval(&one, &y));
    plot_point(e, f, a->name, a->look, name);
    plot_interval(f, y);
    fprintf(f->csv, ",%zu,", s->s.seeds);
    csv_put_number(f->csv, paper);
    fputc(',', f->csv);
    csv_put_text(f->csv, s->protocol);
    fputc('\n', f->csv);
    *any_paper = *any_paper || !isnan(paper);
    return FGSF_OK;
}

static fgsf_status write_bars(exporter *e, const group *g, plot *f, enum metric metric,
                              const char *ylabel) {
    const char *label = NULL;
    bool any_paper = false;
    f->panel_column = "task";
    fputs("method,task,mean,low,high,seeds,paper,protocol\n", f->csv);
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        scores s;
        if (!a->shown) continue;
        TRY(scores_of(&e->pool, a, metric, &s));
        if (s.s.seeds < 2) continue;
        plot_seeds(f, s.s.seeds);
        for (size_t k = 0; k < s.tasks.n; k++) TRY(put_bar(e, g, f, a, &s, k, metric, &any_paper));
        if (!label) label = s.protocol;
        if (strcmp(label, s.protocol) != 0) label = "protocols differ, see the table";
    }
    plot_text(f, "XLABEL", metric == ZERO_SHOT ? "held-out task, never trained on" : "task");
    label = pool_printf(&e->pool, "%s (%s)", ylabel, label ? label : "");
    plot_text(f, "YLABEL", label);
    plot_number(f, "PAPER", any_paper);
    f->width = 260 + (int)(f->panels.n * (f->series.n + 1)) * 15;
    if (f->width < 860) f->width = 860;
    f->height = 500;
    return FGSF_OK;
}

static fgsf_status write_returns(exporter *e, const group *g, plot *f) {
    return write_bars(e, g, f, RETURN, "undiscounted return per episode");
}

static fgsf_status write_success(exporter *e, const group *g, plot *f) {
    return write_bars(e, g, f, SUCCESS, "share of episodes that reach the goal");
}

static fgsf_status write_zero_shot(exporter *e, const group *g, plot *f) {
    return write_bars(e, g, f, ZERO_SHOT, "undiscounted return per episode");
}

// ---- over all tasks -----------------------------------------------------------------------------

// Pixels left of a column of names.
static double room_for(const names *list) {
    size_t longest = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t length = strlen(list->v[i]);
        longest = length > longest ? length : longest;
    }
    return 35.0 + 7.2 * (double)longest;
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

void plot_row(exporter *e, plot *f, const char *label, look how, const char *quantity,
              fgsf_stats_interval y, size_t seeds) {
    plot_point(e, f, label, how, quantity);
    plot_interval(f, y);
    fprintf(f->csv, ",%zu\n", seeds);
}

// Whether the arms differ at all: where no goal ends an episode, all have the same number of steps.
static fgsf_status any_differs(exporter *e, const arm *const *arms, size_t n, enum metric metric,
                               bool *out) {
    double first = NAN;
    *out = false;
    for (size_t i = 0; i < n; i++) {
        scores s;
        TRY(scores_of(&e->pool, arms[i], metric, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks; j++) {
            if (isnan(first)) first = s.s.x[j];
            *out = *out || s.s.x[j] != first;
        }
    }
    return FGSF_OK;
}

// Whether all arms have changed this setting, so that it tells no row from another.
static bool all_changed(exporter *e, const char *setting, const arm *const *arms, size_t n) {
    for (size_t i = 0; i < n; i++) {
        names changes = {0};
        changes_of(&e->pool, arm_example(arms[i]), &changes);
        if (!names_find(&changes, setting, NULL)) return false;
    }
    return true;
}

// A cell is named by what it changes and the others do not, where that is recorded and short and its name
// does not say it.
static const char *row_label(exporter *e, const arm *a, const arm *const *arms, size_t n) {
    names changes = {0};
    const char *told = "";
    if (!a->cell || strchr(a->cell, '=') || ablation_words(a->cell)) return a->name;
    changes_of(&e->pool, arm_example(a), &changes);
    for (size_t i = 0; i < changes.n; i++) {
        if (all_changed(e, changes.v[i], arms, n)) continue;
        told = pool_printf(&e->pool, "%s%s%s", told, *told ? ", " : "", changes.v[i]);
    }
    bool fits = *told && strlen(told) <= 60;
    return fits ? pool_printf(&e->pool, "%s (%s)", a->name, told) : a->name;
}

fgsf_status plot_scores(exporter *e, plot *f, const arm *const *arms, size_t n, enum metric first,
                        enum metric last) {
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (enum metric k = first; k < last; k++) {
        bool differs = false;
        TRY(any_differs(e, arms, n, k, &differs));
        for (size_t i = 0; i < n && differs; i++) {
            fgsf_stats_interval y;
            scores s;
            TRY(scores_of(&e->pool, arms[i], k, &s));
            if (s.s.seeds < 2) continue;
            TRY(mean_interval(&s, &y));
            const char *label = row_label(e, arms[i], arms, n);
            plot_row(e, f, label, arms[i]->look, metric_title(k), y, s.s.seeds);
            plot_seeds(f, s.s.seeds);
        }
    }
    plot_rows(f, "mean over tasks", NULL, 0);
    return FGSF_OK;
}

static fgsf_status plot_shown(exporter *e, const group *g, plot *f, enum metric first,
                              enum metric last) {
    size_t n = 0;
    const arm **arms = pool_get(&e->pool, g->narms, sizeof *arms);
    for (size_t i = 0; i < g->narms; i++) {
        if (g->arms[i].shown) arms[n++] = &g->arms[i];
    }
    return plot_scores(e, f, arms, n, first, last);
}

static fgsf_status write_scores(exporter *e, const group *g, plot *f) {
    return plot_shown(e, g, f, 0, NSHOWN);
}

static fgsf_status write_values(exporter *e, const group *g, plot *f) {
    return plot_shown(e, g, f, NSHOWN, NCOMPARED);
}

// ---- profiles -----------------------------------------------------------------------------------

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Every score of the shown arms once, in order: between them the profiles are flat.
static fgsf_status find_taus(exporter *e, const group *g, enum metric metric, double **tau,
                             size_t *n) {
    size_t distinct = 0;
    *n = 0;
    for (size_t i = 0; i < g->narms; i++) {
        scores s;
        if (!g->arms[i].shown) continue;
        TRY(scores_of(&e->pool, &g->arms[i], metric, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks && s.s.seeds > 1; j++) {
            pool_push(&e->pool, tau, n, &s.s.x[j], sizeof **tau);
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
static fgsf_status put_profile(exporter *e, plot *f, const arm *a, const char *panel,
                               const scores *s, const double *tau, size_t n) {
    fgsf_stats_bootstrap_params params = {.resamples = 500, .level = 0.95};
    fgsf_rng rng = fgsf_rng_make(0, FGSF_STREAM_STATS);
    fgsf_stats_interval *y = pool_get(&e->pool, n + 1, sizeof *y);
    y[0] = (fgsf_stats_interval){1, 1, 1};
    TRY(fgsf_stats_profile(&s->s, tau, n, &params, &rng, y + 1));
    for (size_t j = 0; j < 2 * n; j++) {
        plot_point(e, f, a->name, a->look, panel);
        fprintf(f->csv, ",%.9g", tau[j / 2]);
        plot_interval(f, y[(j + 1) / 2]);
        fprintf(f->csv, ",%zu\n", s->s.seeds);
    }
    return FGSF_OK;
}

static fgsf_status write_profile(exporter *e, const group *g, plot *f) {
    static const char *const PANELS[] = {"trained tasks", "held-out tasks"};
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT};
    static const char *const YLABELS[] = {"fraction of runs with a return above \xcf\x84",
                                          "fraction of runs with a return above \xcf\x84"};
    fputs("method,quantity,tau,mean,low,high,seeds\n", f->csv);
    for (size_t k = 0; k < 2; k++) {
        double *tau = NULL;
        size_t n = 0;
        TRY(find_taus(e, g, METRICS[k], &tau, &n));
        for (size_t i = 0; i < g->narms && n; i++) {
            scores s;
            if (!g->arms[i].shown) continue;
            TRY(scores_of(&e->pool, &g->arms[i], METRICS[k], &s));
            if (s.s.seeds < 2) continue;
            plot_seeds(f, s.s.seeds);
            TRY(put_profile(e, f, &g->arms[i], PANELS[k], &s, tau, n));
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

static fgsf_status write_differences(exporter *e, const group *g, plot *f) {
    arm_pair *pairs = NULL;
    size_t n = 0;
    pairs_of(&e->pool, g, &pairs, &n);
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (enum metric k = 0; k < NSHOWN; k++) {
        for (size_t i = 0; i < n; i++) {
            comparison c;
            scores s;
            TRY(scores_of(&e->pool, pairs[i].a, k, &s));
            TRY(compare(&e->pool, pairs[i], k, &(part){"all", 0, s.tasks.n}, &c));
            if (c.pairs < 2 || (c.difference.low == 0 && c.difference.high == 0)) continue;
            const char *label =
                pool_printf(&e->pool, "%s - %s", pairs[i].a->name, pairs[i].b->name);
            plot_row(e, f, label, pairs[i].b->look, metric_title(k), c.difference, c.pairs);
            plot_seeds(f, c.pairs);
        }
    }
    plot_rows(f, "left less right", NULL, -1);
    return FGSF_OK;
}

const figure evaluation_figures[] = {
    {"scores", HAS_EVAL, "scores, mean over seeds and 95 % interval", write_scores, "intervals"},
    {"success", HAS_EVAL, "success after training, mean and 95 % interval", write_success, "bars"},
    {"evaluation", HAS_EVAL, "final evaluation, mean and 95 % interval", write_returns, "bars"},
    {"zero_shot", HAS_EVAL | HAS_HELD_OUT, "zero-shot return on held-out tasks", write_zero_shot,
     "bars"},
    {"profile", HAS_EVAL, "performance profile", write_profile, "curves"},
    {"differences", HAS_PAIRS | HAS_EVAL, "differences, paired by seed, mean and 95 % interval",
     write_differences, "intervals"},
    {"values", HAS_EVAL, "overestimation, action gap and error of psi, mean and 95 % interval",
     write_values, "intervals"},
    {0},
};
