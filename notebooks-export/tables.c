// The tables: ours beside the paper's, a summary, comparisons between methods, and every score.
#include <math.h>
#include <string.h>

#include "table.h"

// Adds the rows of one arm, or of the whole group.
typedef fgsf_status (*fill_fn)(exporter *e, const group *g, const arm *a, table *t);

// ---- per task, beside the paper -----------------------------------------------------------------

static void cell_head(table *t, const arm *a, const char *task, size_t seeds) {
    cell_text(t, "method", a->label);
    cell_text(t, "task", task);
    cell_number(t, "seeds", (double)seeds);
    cell_text(t, "label", fgsf_stats_label(seeds));
}

static fgsf_status task_interval(exporter *e, const scores *s, size_t task,
                                 fgsf_stats_interval *out) {
    scores one = scores_tasks(&e->pool, s, task, task + 1);
    return mean_interval(&one, out);
}

static fgsf_status fill_cumulative(exporter *e, const group *g, const arm *a, table *t) {
    scores reward, area;
    TRY(scores_of(&e->pool, a, CUMULATIVE, &reward));
    TRY(scores_of(&e->pool, a, AREA, &area));
    for (size_t k = 0; k < reward.tasks.n && reward.s.seeds; k++) {
        const char *task = reward.tasks.v[k];
        fgsf_stats_interval y, under = {0};
        double paper = a->cell ? NAN : paper_cumulative(&e->paper, g, a->method, task);
        double code =
            code_value(&e->paper, g->env, a->method, task, arm_example(a)->lr, "cum_reward_end");
        TRY(task_interval(e, &reward, k, &y));
        if (area.s.seeds) TRY(task_interval(e, &area, k, &under));
        cell_head(t, a, task, reward.s.seeds);
        cell_interval(t, "cumulative reward", y, reward.s.seeds);
        cell_number(t, "paper", paper);
        cell_number(t, "gap", paper_scale(&e->pool, &e->paper, g, a) ? y.value - paper : NAN);
        cell_number(t, "authors' code", a->cell ? NAN : code);
        cell_interval(t, "area under the curve / steps", under, area.s.seeds);
        table_end_row(t);
    }
    return FGSF_OK;
}

static fgsf_status fill_returns(exporter *e, const group *g, const arm *a, table *t,
                                enum metric metric) {
    scores s;
    TRY(scores_of(&e->pool, a, metric, &s));
    for (size_t k = 0; k < s.tasks.n && s.s.seeds; k++) {
        const char *task = s.tasks.v[k];
        fgsf_stats_interval y;
        double std = NAN;
        double paper = a->cell ? NAN : paper_return(&e->paper, g, a->method, task, &std);
        double code =
            code_value(&e->paper, g->env, a->method, task, arm_example(a)->lr, "eval_mean");
        TRY(task_interval(e, &s, k, &y));
        cell_head(t, a, task, s.s.seeds);
        cell_text(t, "protocol", s.protocol);
        cell_interval(t, "return", y, s.s.seeds);
        if (metric == RETURN) {
            cell_number(t, "paper", paper);
            cell_number(t, "paper, std", std);
            cell_number(t, "gap", paper_scale(&e->pool, &e->paper, g, a) ? y.value - paper : NAN);
            cell_number(t, "authors' code", a->cell ? NAN : code);
        }
        table_end_row(t);
    }
    return FGSF_OK;
}

static fgsf_status fill_evaluation(exporter *e, const group *g, const arm *a, table *t) {
    return fill_returns(e, g, a, t, RETURN);
}

static fgsf_status fill_zero_shot(exporter *e, const group *g, const arm *a, table *t) {
    return fill_returns(e, g, a, t, ZERO_SHOT);
}

// ---- over all tasks -----------------------------------------------------------------------------

static double mean_minutes(const arm *a) {
    double sum = 0;
    for (size_t i = 0; i < a->nruns; i++) sum += a->runs[i]->seconds;
    return sum / 60 / (double)a->nruns;
}

// The arm, and the means of the metrics [first, last).
static fgsf_status cell_means(exporter *e, const arm *a, enum metric first, enum metric last,
                              table *t) {
    cell_text(t, "method", a->label);
    cell_number(t, "seeds", (double)a->nruns);
    cell_text(t, "label", fgsf_stats_label(a->nruns));
    for (enum metric k = first; k < last; k++) {
        fgsf_stats_interval mean = {0};
        scores s;
        TRY(scores_of(&e->pool, a, k, &s));
        if (s.s.seeds) TRY(mean_interval(&s, &mean));
        cell_interval(t, metric_title(k), mean, s.s.seeds);
    }
    return FGSF_OK;
}

static fgsf_status fill_values(exporter *e, const group *g, const arm *a, table *t) {
    (void)g;
    size_t seeds = 0;
    for (enum metric k = NSHOWN; k < NCOMPARED; k++) {
        scores s;
        TRY(scores_of(&e->pool, a, k, &s));
        seeds += s.s.seeds;
    }
    if (seeds == 0) return FGSF_OK;
    TRY(cell_means(e, a, NSHOWN, NCOMPARED, t));
    table_end_row(t);
    return FGSF_OK;
}

static fgsf_status fill_summary(exporter *e, const group *g, const arm *a, table *t) {
    (void)g;
    TRY(cell_means(e, a, 0, NSHOWN, t));
    cell_number(t, "minutes per run", a->nruns ? mean_minutes(a) : NAN);
    cell_number(t, "unfinished", (double)a->unfinished);
    cell_number(t, "diverged", (double)a->diverged);
    table_end_row(t);
    return FGSF_OK;
}

// The same for the first task, which nothing helps, the later ones, and those that come again.
static fgsf_status fill_parts(exporter *e, const group *g, const arm *a, table *t) {
    part parts[MAX_PARTS];
    scores all;
    TRY(scores_of(&e->pool, a, CUMULATIVE, &all));
    size_t n = all.s.seeds ? parts_of(g, all.tasks.n, parts) : 0;
    for (size_t j = 1; j < n; j++) {
        cell_text(t, "method", a->label);
        cell_text(t, "tasks", parts[j].name);
        cell_number(t, "seeds", (double)all.s.seeds);
        for (enum metric k = 0; k < ZERO_SHOT; k++) {
            fgsf_stats_interval mean = {0};
            scores s, some = {0};
            TRY(scores_of(&e->pool, a, k, &s));
            bool fits = s.s.seeds && s.tasks.n == all.tasks.n;
            if (fits) some = scores_tasks(&e->pool, &s, parts[j].first, parts[j].last);
            if (fits) TRY(mean_interval(&some, &mean));
            cell_interval(t, metric_title(k), mean, some.s.seeds);
        }
        table_end_row(t);
    }
    return FGSF_OK;
}

static fgsf_status fill_protocols(exporter *e, const group *g, const arm *a, table *t) {
    (void)g;
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT};
    for (size_t k = 0; k < 2; k++) {
        names protocols = {0};
        TRY(protocols_of(&e->pool, a, METRICS[k], &protocols));
        for (size_t j = 0; j < protocols.n; j++) {
            fgsf_stats_interval mean, iqm;
            scores s;
            TRY(scores_under(&e->pool, a, METRICS[k], protocols.v[j], &s));
            TRY(mean_interval(&s, &mean));
            TRY(iqm_interval(&s, &iqm));
            cell_text(t, "method", a->label);
            cell_text(t, "tasks", METRICS[k] == RETURN ? "trained" : "held-out");
            cell_text(t, "protocol", protocols.v[j]);
            cell_number(t, "seeds", (double)s.s.seeds);
            cell_interval(t, "return", mean, s.s.seeds);
            cell_interval(t, "return, IQM", iqm, s.s.seeds);
            table_end_row(t);
        }
    }
    return FGSF_OK;
}

// ---- comparisons --------------------------------------------------------------------------------

static fgsf_status fill_comparisons(exporter *e, const group *g, const arm *a, table *t) {
    (void)a;
    arm_pair *pairs = NULL;
    size_t n = 0;
    pairs_of(&e->pool, g, &pairs, &n);
    for (size_t i = 0; i < n; i++) {
        for (enum metric k = 0; k < NCOMPARED; k++) {
            part parts[MAX_PARTS];
            scores s;
            TRY(scores_of(&e->pool, pairs[i].a, k, &s));
            size_t num_parts = k == ZERO_SHOT ? 1 : parts_of(g, s.tasks.n, parts);
            if (k == ZERO_SHOT) parts[0] = (part){"new", 0, s.tasks.n};
            for (size_t j = 0; j < num_parts; j++) {
                comparison c;
                TRY(compare(&e->pool, pairs[i], k, &parts[j], &c));
                if (c.pairs == 0) continue;
                cell_text(t, "method", pairs[i].a->label);
                cell_text(t, "against", pairs[i].b->label);
                cell_text(t, "quantity", metric_title(k));
                cell_text(t, "tasks", parts[j].name);
                cell_number(t, "paired seeds", (double)c.pairs);
                cell_number(t, "larger on", (double)c.wins);
                cell_text(t, "label", fgsf_stats_label(c.pairs));
                cell_interval(t, "mean difference", c.difference, c.pairs);
                cell_number(t, "Wilcoxon p", c.p_value);
                cell_number(t, "rank-biserial", c.rank_biserial);
                table_end_row(t);
            }
        }
    }
    return FGSF_OK;
}

// ---- raw scores, overhead and theory ------------------------------------------------------------

static fgsf_status fill_scores(exporter *e, const group *g, const arm *a, table *t) {
    (void)g;
    for (enum metric k = 0; k < NMETRICS; k++) {
        scores s;
        TRY(scores_of(&e->pool, a, k, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks; j++) {
            cell_text(t, "method", a->label);
            cell_text(t, "seed", pool_printf(&e->pool, "%ld", s.seed[j / s.s.tasks]));
            cell_text(t, "quantity", metric_title(k));
            cell_text(t, "task", s.tasks.v[j % s.s.tasks]);
            cell_number(t, "score", s.s.x[j]);
            table_end_row(t);
        }
    }
    return FGSF_OK;
}

static fgsf_status fill_overhead(exporter *e, const group *g, const arm *a, table *t) {
    (void)a;
    const csv *in = g->source;
    size_t method = 0, mean = 0;
    TRY(csv_need(in, (const char *const[]){"method"}, 1, &method));
    TRY(csv_need(in, (const char *const[]){"mean_ms"}, 1, &mean));
    for (size_t row = 0; row < in->rows; row++) {
        double ours = 0;
        double paper = paper_milliseconds(&e->paper, csv_text(in, row, method));
        TRY(csv_number(in, row, mean, &ours));
        for (size_t col = 0; col < in->cols; col++) {
            double x = NAN;
            if (col == method) {
                cell_text(t, "method", csv_text(in, row, col));
            } else {
                TRY(csv_maybe(in, row, col, &x));
                cell_number(t, in->name[col], x);
            }
        }
        cell_number(t, "paper_ms", paper);
        cell_number(t, "ours / paper", ours / paper);
        table_end_row(t);
    }
    return FGSF_OK;
}

static fgsf_status fill_theory(exporter *e, const group *g, const arm *a, table *t) {
    (void)a;
    static const char *const COLUMNS[] = {"study",    "quantity",  "expected",
                                          "measured", "tolerance", "pass"};
    (void)g;
    for (size_t i = 0; i < e->corpus.ntables[THEORY]; i++) {
        const csv *in = &e->corpus.tables[THEORY][i];
        size_t cols[6];
        TRY(csv_need(in, COLUMNS, 6, cols));
        for (size_t row = 0; row < in->rows; row++) {
            for (size_t k = 0; k < 6; k++) cell_text(t, COLUMNS[k], csv_text(in, row, cols[k]));
            table_end_row(t);
        }
    }
    return FGSF_OK;
}

typedef struct table_def {
    const char *name, *caption;
    fill_fn fill;
    bool whole; // group at once, not arm by arm
} table_def;

static const table_def ENV_TABLES[] = {
    {"summary", "mean over seeds and tasks, with 95 % intervals", fill_summary, false},
    {"values", "overestimation, action gap and error of psi, with 95 % intervals", fill_values,
     false},
    {"parts", "the same for the first task, later ones, and those whose reward comes again",
     fill_parts, false},
    {"cumulative_reward", "cumulative reward at the end of each task, beside the paper's",
     fill_cumulative, false},
    {"evaluation", "final evaluation per task, beside the paper's", fill_evaluation, false},
    {"zero_shot", "return on held-out tasks", fill_zero_shot, false},
    {"protocols", "returns under every evaluation protocol", fill_protocols, false},
    {"comparisons", "paired by seed: difference and exact Wilcoxon signed-rank test",
     fill_comparisons, true},
    {"scores", "every score of every seed, from which all of the above follows", fill_scores,
     false},
};
static const table_def OVERHEAD_TABLE = {"", "cost of a training step, beside the paper's",
                                         fill_overhead, true};
static const table_def THEORY_TABLE = {"", "numerical checks", fill_theory, true};

static fgsf_status make_table(exporter *e, const group *g, const table_def *def) {
    table t;
    const char *file = pool_printf(&e->pool, *def->name ? "%s_%s" : "%s", g->name, def->name);
    TRY(table_open(&t));
    fgsf_status status = FGSF_OK;
    for (size_t i = 0; i < (def->whole ? 1 : g->narms) && status == FGSF_OK; i++) {
        status = def->fill(e, g, def->whole ? NULL : &g->arms[i], &t);
    }
    if (status == FGSF_OK) status = table_write(e, &t, file, g->title, def->caption);
    table_free(&t);
    return status;
}

fgsf_status tables_write(exporter *e) {
    for (size_t i = 0; i < e->ngroups; i++) {
        const group *g = &e->groups[i];
        for (size_t k = 0; g->paper_env && k < sizeof ENV_TABLES / sizeof ENV_TABLES[0]; k++) {
            TRY(make_table(e, g, &ENV_TABLES[k]));
        }
        if (g->has == HAS_OVERHEAD) TRY(make_table(e, g, &OVERHEAD_TABLE));
    }
    return make_table(e, &(group){.name = "theory", .title = "theory"}, &THEORY_TABLE);
}
