// Figures of evaluation: returns per task, interquartile means, performance profiles and the
// probability that one method beats another.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define TAUS 101

// ---- returns per task ---------------------------------------------------------------------------

static void put_bar(plot *f, const arm *a, const scores *s, size_t task, fgsf_stats_interval y,
                    double paper) {
    plot_put_name(f, a->label);
    fputc(',', f->csv);
    plot_put_name(f, s->tasks.v[task]);
    plot_interval_row(f, y);
    fprintf(f->csv, ",%zu,", s->s.seeds);
    csv_put_number(f->csv, paper);
    fputc(',', f->csv);
    csv_put_text(f->csv, s->protocol);
    fputc('\n', f->csv);
    f->rows++;
}

static fgsf_status write_bars(exporter *e, const group *g, plot *f, enum metric metric) {
    names tasks = {0};
    names series = {0};
    names colours = {0};
    const char *label = NULL;
    bool any_paper = false;
    fputs("method,task,mean,low,high,seeds,paper,protocol\n", f->csv);
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        scores s;
        if (!arm_is_plain(a)) continue;
        TRY(scores_of(&e->pool, a, metric, &s));
        if (s.s.seeds == 0) continue;
        TRY(series_add(&e->pool, &series, &colours, a->label, a->colour));
        plot_seeds(f, s.s.seeds);
        for (size_t k = 0; k < s.tasks.n; k++) {
            scores one;
            fgsf_stats_interval y;
            double paper = paper_scale(&e->paper, g, a)
                               ? paper_return(&e->paper, g, a->method, s.tasks.v[k], NULL)
                               : NAN;
            TRY(scores_task(&e->pool, &s, k, &one));
            TRY(mean_interval(&one, &y));
            TRY(names_add(&e->pool, &tasks, s.tasks.v[k]));
            put_bar(f, a, &s, k, y, paper);
            any_paper = any_paper || !isnan(paper);
        }
        if (!label) label = s.protocol;
        if (strcmp(label, s.protocol) != 0) label = "protocols differ, see the table";
    }
    plot_panels(f, "method", "task", &tasks, "");
    plot_series(f, &series, &colours);
    plot_text(f, "XLABEL", metric == ZERO_SHOT ? "held-out task, never trained on" : "task");
    TRY(pool_printf(&e->pool, &label, "undiscounted return per episode (%s)", label ? label : ""));
    plot_text(f, "YLABEL", label);
    plot_number(f, "PAPER", any_paper);
    f->width = 260 + (int)(tasks.n * (series.n + 1)) * 15;
    if (f->width < 860) f->width = 860;
    f->height = 500;
    return FGSF_OK;
}

static fgsf_status write_returns(exporter *e, const group *g, plot *f) {
    return write_bars(e, g, f, RETURN);
}

static fgsf_status write_zero_shot(exporter *e, const group *g, plot *f) {
    return write_bars(e, g, f, ZERO_SHOT);
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

void plot_rows(plot *f, const names *panels, const char *const *xlabels, const names *series,
               const names *colours) {
    plot_panels(f, "method", "quantity", panels, "");
    plot_series(f, series, colours);
    plot_array(f, "XLABELS", xlabels, panels->n);
    plot_number(f, "LEFT", room_for(series));
    plot_grid(f, panels->n, panels->n, panels->n == 1 ? 560 : 380, 60 + 30 * (int)series->n);
    f->width += (int)room_for(series);
}

void plot_row(plot *f, const char *label, const char *quantity, fgsf_stats_interval y,
              size_t seeds) {
    plot_put_name(f, label);
    fputc(',', f->csv);
    plot_put_name(f, quantity);
    plot_interval_row(f, y);
    fprintf(f->csv, ",%zu\n", seeds);
    f->rows++;
}

static fgsf_status write_iqm(exporter *e, const group *g, plot *f) {
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT, CUMULATIVE};
    static const char *const PANELS[] = {"trained tasks", "held-out tasks", "while training"};
    static const char *const XLABELS[] = {"IQM of the return", "IQM of the return",
                                          "IQM of the cumulative reward"};
    const char *xlabels[3];
    names panels = {0};
    names series = {0};
    names colours = {0};
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < g->narms; i++) {
            const arm *a = &g->arms[i];
            fgsf_stats_interval y;
            scores s;
            if (!arm_is_plain(a)) continue;
            TRY(scores_of(&e->pool, a, METRICS[k], &s));
            if (s.s.seeds == 0) continue;
            TRY(iqm_interval(&s, &y));
            TRY(series_add(&e->pool, &series, &colours, a->label, a->colour));
            TRY(names_add(&e->pool, &panels, PANELS[k]));
            xlabels[panels.n - 1] = XLABELS[k];
            plot_row(f, a->label, PANELS[k], y, s.s.seeds);
            plot_seeds(f, s.s.seeds);
        }
    }
    plot_rows(f, &panels, xlabels, &series, &colours);
    plot_number(f, "REFERENCE", 0);
    plot_number(f, "ZERO", 0);
    return FGSF_OK;
}

// Thresholds over the range that all methods' scores span.
static fgsf_status find_taus(exporter *e, const group *g, enum metric metric, double *tau) {
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < g->narms; i++) {
        scores s;
        if (!arm_is_plain(&g->arms[i])) continue;
        TRY(scores_of(&e->pool, &g->arms[i], metric, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks; j++) {
            low = fmin(low, s.s.x[j]);
            high = fmax(high, s.s.x[j]);
        }
    }
    if (!(high > low)) high = low + 1.0;
    for (size_t i = 0; i < TAUS; i++) tau[i] = low + (high - low) * (double)i / (TAUS - 1);
    return FGSF_OK;
}

static fgsf_status write_profile(exporter *e, const group *g, plot *f) {
    static const char *const PANELS[] = {"trained tasks", "held-out tasks"};
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT};
    fgsf_stats_bootstrap_params params = {.resamples = 1000, .level = 0.95};
    names panels = {0};
    names series = {0};
    names colours = {0};
    double tau[TAUS];
    fgsf_stats_interval y[TAUS];
    fputs("method,quantity,tau,mean,low,high,seeds\n", f->csv);
    for (size_t k = 0; k < 2; k++) {
        TRY(find_taus(e, g, METRICS[k], tau));
        for (size_t i = 0; i < g->narms; i++) {
            const arm *a = &g->arms[i];
            scores s;
            if (!arm_is_plain(a)) continue;
            TRY(scores_of(&e->pool, a, METRICS[k], &s));
            if (s.s.seeds == 0) continue;
            fgsf_rng rng = fgsf_rng_make(0, FGSF_STREAM_STATS);
            TRY(fgsf_stats_profile(&s.s, tau, TAUS, &params, &rng, y));
            TRY(series_add(&e->pool, &series, &colours, a->label, a->colour));
            TRY(names_add(&e->pool, &panels, PANELS[k]));
            plot_seeds(f, s.s.seeds);
            for (size_t j = 0; j < TAUS; j++, f->rows++) {
                plot_put_name(f, a->label);
                fprintf(f->csv, ",%s,%.9g", PANELS[k], tau[j]);
                plot_interval_row(f, y[j]);
                fprintf(f->csv, ",%zu\n", s.s.seeds);
            }
        }
    }
    plot_panels(f, "method", "quantity", &panels, "");
    plot_series(f, &series, &colours);
    plot_text(f, "XCOLUMN", "tau");
    plot_number(f, "XSCALE", 1);
    plot_text(f, "XLABEL", "return \xcf\x84"); // tau
    plot_text(f, "YLABEL", "fraction of runs with a return above \xcf\x84");
    plot_number(f, "PAPER", 0);
    plot_number(f, "MARK", -1);
    plot_number(f, "LOGX", 0);
    plot_number(f, "LOGY", 0);
    plot_grid(f, panels.n, 2, panels.n == 1 ? 820 : 500, 340);
    return FGSF_OK;
}

// ---- one method against another -----------------------------------------------------------------

static const arm *plain_arm(const group *g, const char *method) {
    for (size_t i = 0; i < g->narms; i++) {
        if (arm_is_plain(&g->arms[i]) && strcmp(g->arms[i].method, method) == 0) {
            return &g->arms[i];
        }
    }
    return NULL;
}

static fgsf_status put_pair(exporter *e, const arm *a, const arm *b, arm_pair **out, size_t *n) {
    for (size_t i = 0; i < *n; i++) {
        if ((*out)[i].a == a && (*out)[i].b == b) return FGSF_OK;
    }
    TRY(pool_push(&e->pool, out, n, sizeof **out));
    (*out)[*n - 1] = (arm_pair){a, b};
    return FGSF_OK;
}

fgsf_status pairs_of(exporter *e, const group *g, arm_pair **out, size_t *n) {
    static const char *const GRADIENT[][2] = {{"fg-sfrql", "sfrql"}, {"fg-dqn", "dqn"}};
    for (size_t i = 0; i < 2; i++) {
        const arm *a = plain_arm(g, GRADIENT[i][0]);
        const arm *b = plain_arm(g, GRADIENT[i][1]);
        if (a && b) TRY(put_pair(e, a, b, out, n));
    }
    const arm *ours = plain_arm(g, "fg-sfrql");
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        if (!arm_is_plain(a) || a == ours) continue;
        if (ours) TRY(put_pair(e, ours, a, out, n));
        for (size_t j = 0; j < i && !ours; j++) {
            if (arm_is_plain(&g->arms[j])) TRY(put_pair(e, a, &g->arms[j], out, n));
        }
    }
    return FGSF_OK;
}

static fgsf_status write_improvement(exporter *e, const group *g, plot *f) {
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT, CUMULATIVE};
    static const char *const XLABELS[] = {"P(left beats right)", "P(left beats right)",
                                          "P(left beats right)"};
    names panels = {0};
    names series = {0};
    names colours = {0};
    arm_pair *pairs = NULL;
    size_t n = 0;
    TRY(pairs_of(e, g, &pairs, &n));
    fputs("method,quantity,mean,low,high,seeds\n", f->csv);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) {
            const char *label = NULL;
            fgsf_stats_interval y;
            scores a;
            scores b;
            TRY(scores_of(&e->pool, pairs[i].a, METRICS[k], &a));
            TRY(scores_of(&e->pool, pairs[i].b, METRICS[k], &b));
            if (!scores_comparable(&a, &b)) continue;
            size_t seeds = a.s.seeds < b.s.seeds ? a.s.seeds : b.s.seeds;
            TRY(improvement_interval(&a, &b, &y));
            TRY(pool_printf(&e->pool, &label, "%s > %s", pairs[i].a->label, pairs[i].b->label));
            TRY(series_add(&e->pool, &series, &colours, label, pairs[i].b->colour));
            TRY(names_add(&e->pool, &panels, metric_title(METRICS[k])));
            plot_row(f, label, metric_title(METRICS[k]), y, seeds);
            plot_seeds(f, seeds);
        }
    }
    plot_rows(f, &panels, XLABELS, &series, &colours);
    plot_number(f, "REFERENCE", 1);
    plot_number(f, "AT", 0.5);
    plot_number(f, "ZERO", 0);
    return FGSF_OK;
}

const figure evaluation_figures[] = {
    {"evaluation", HAS_EVAL, "final evaluation, mean and 95 % interval", write_returns, body_bars,
     "bars"},
    {"zero_shot", HAS_EVAL | HAS_HELD_OUT, "zero-shot return on held-out tasks", write_zero_shot,
     body_bars, "bars"},
    {"iqm", HAS_EVAL, "interquartile mean over seeds and tasks, 95 % interval", write_iqm,
     body_intervals, "intervals"},
    {"profile", HAS_EVAL, "performance profile", write_profile, body_curves, "curves"},
    {"improvement", HAS_PAIRS, "probability of improvement, 95 % interval", write_improvement,
     body_intervals, "intervals"},
    {0},
};
