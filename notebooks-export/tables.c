// The tables: ours beside the paper's, a summary, comparisons between methods, and every score.
#include <math.h>
#include <string.h>

#include "table.h"

typedef fgsf_status (*fill_fn)(exporter *e, const group *g, table *t);

// ---- per task, beside the paper -----------------------------------------------------------------

static void cell_head(table *t, const arm *a, const char *task, size_t seeds) {
    cell_text(t, "method", a->label);
    cell_text(t, "task", task);
    cell_number(t, "seeds", (double)seeds);
    cell_text(t, "label", fgsf_stats_label(seeds));
}

static fgsf_status task_interval(exporter *e, const scores *s, size_t task,
                                 fgsf_stats_interval *out) {
    scores one;
    TRY(scores_task(&e->pool, s, task, &one));
    return mean_interval(&one, out);
}

static fgsf_status fill_cumulative(exporter *e, const group *g, table *t) {
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        scores reward;
        scores area;
        TRY(scores_of(&e->pool, a, CUMULATIVE, &reward));
        TRY(scores_of(&e->pool, a, AREA, &area));
        for (size_t k = 0; k < reward.tasks.n && reward.s.seeds; k++) {
            const char *task = reward.tasks.v[k];
            fgsf_stats_interval y;
            fgsf_stats_interval under = {0};
            double paper = a->cell ? NAN : paper_cumulative(&e->paper, g, a->method, task);
            double code = code_value(&e->paper, g->env, a->method, task, arm_example(a)->lr,
                                     "cum_reward_end");
            TRY(task_interval(e, &reward, k, &y));
            if (area.s.seeds) TRY(task_interval(e, &area, k, &under));
            cell_head(t, a, task, reward.s.seeds);
            cell_interval(t, "cumulative reward", y, reward.s.seeds);
            cell_number(t, "paper", paper);
            cell_number(t, "gap", paper_scale(&e->paper, g, a) ? y.value - paper : NAN);
            cell_number(t, "authors' code", a->cell ? NAN : code);
            cell_interval(t, "area under the curve / steps", under, area.s.seeds);
            table_end_row(t);
        }
    }
    return FGSF_OK;
}

static fgsf_status fill_returns(exporter *e, const group *g, table *t, enum metric metric) {
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
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
                cell_number(t, "gap", paper_scale(&e->paper, g, a) ? y.value - paper : NAN);
                cell_number(t, "authors' code", a->cell ? NAN : code);
            }
            table_end_row(t);
        }
    }
    return FGSF_OK;
}

static fgsf_status fill_evaluation(exporter *e, const group *g, table *t) {
    return fill_returns(e, g, t, RETURN);
}

static fgsf_status fill_zero_shot(exporter *e, const group *g, table *t) {
    return fill_returns(e, g, t, ZERO_SHOT);
}

// ---- over all tasks -----------------------------------------------------------------------------

static double mean_minutes(const arm *a) {
    double sum = 0;
    for (size_t i = 0; i < a->nruns; i++) sum += a->runs[i]->seconds;
    return sum / 60 / (double)a->nruns;
}

static fgsf_status fill_summary(exporter *e, const group *g, table *t) {
    static const enum metric METRICS[] = {CUMULATIVE, RETURN, ZERO_SHOT};
    for (size_t i = 0; i < g->narms; i++) {
        const arm *a = &g->arms[i];
        cell_text(t, "method", a->label);
        cell_number(t, "seeds", (double)a->nruns);
        cell_text(t, "label", fgsf_stats_label(a->nruns));
        for (size_t k = 0; k < 3; k++) {
            char iqm_name[64];
            fgsf_stats_interval mean = {0};
            fgsf_stats_interval iqm = {0};
            scores s;
            TRY(scores_of(&e->pool, a, METRICS[k], &s));
            if (s.s.seeds) TRY(mean_interval(&s, &mean));
            if (s.s.seeds) TRY(iqm_interval(&s, &iqm));
            snprintf(iqm_name, sizeof iqm_name, "%s, IQM", metric_title(METRICS[k]));
            cell_interval(t, metric_title(METRICS[k]), mean, s.s.seeds);
            cell_interval(t, iqm_name, iqm, s.s.seeds);
        }
        cell_number(t, "minutes per run", a->nruns ? mean_minutes(a) : NAN);
        cell_number(t, "unfinished", (double)a->unfinished);
        cell_number(t, "diverged", (double)a->diverged);
        table_end_row(t);
    }
    return FGSF_OK;
}

static fgsf_status fill_protocols(exporter *e, const group *g, table *t) {
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT};
    for (size_t i = 0; i < g->narms; i++) {
        for (size_t k = 0; k < 2; k++) {
            names protocols = {0};
            TRY(protocols_of(&e->pool, &g->arms[i], METRICS[k], &protocols));
            for (size_t j = 0; j < protocols.n; j++) {
                fgsf_stats_interval mean;
                fgsf_stats_interval iqm;
                scores s;
                TRY(scores_under(&e->pool, &g->arms[i], METRICS[k], protocols.v[j], &s));
                TRY(mean_interval(&s, &mean));
                TRY(iqm_interval(&s, &iqm));
                cell_text(t, "method", g->arms[i].label);
                cell_text(t, "tasks", METRICS[k] == RETURN ? "trained" : "held-out");
                cell_text(t, "protocol", protocols.v[j]);
                cell_number(t, "seeds", (double)s.s.seeds);
                cell_interval(t, "return", mean, s.s.seeds);
                cell_interval(t, "return, IQM", iqm, s.s.seeds);
                table_end_row(t);
            }
        }
    }
    return FGSF_OK;
}

// ---- comparisons --------------------------------------------------------------------------------

static double seed_mean(const scores *s, size_t seed) {
    double sum = 0;
    for (size_t k = 0; k < s->s.tasks; k++) sum += s->s.x[seed * s->s.tasks + k];
    return sum / (double)s->s.tasks;
}

// Task means of the seeds that both have, as pairs.
static fgsf_status pair_seeds(exporter *e, const scores *a, const scores *b, double **x, double **y,
                              double **d, size_t *n) {
    TRY(pool_get(&e->pool, a->s.seeds, sizeof **x, x));
    TRY(pool_get(&e->pool, a->s.seeds, sizeof **y, y));
    TRY(pool_get(&e->pool, a->s.seeds, sizeof **d, d));
    *n = 0;
    for (size_t i = 0; i < a->s.seeds; i++) {
        for (size_t j = 0; j < b->s.seeds; j++) {
            if (a->seed[i] != b->seed[j]) continue;
            (*x)[*n] = seed_mean(a, i);
            (*y)[*n] = seed_mean(b, j);
            (*d)[*n] = (*x)[*n] - (*y)[*n];
            (*n)++;
        }
    }
    return FGSF_OK;
}

static fgsf_status put_comparison(exporter *e, table *t, arm_pair pair, enum metric metric) {
    fgsf_stats_interval better;
    fgsf_stats_interval difference = {0};
    fgsf_stats_wilcoxon_result test = {.p_value = NAN};
    scores a;
    scores b;
    double *x = NULL;
    double *y = NULL;
    double *d = NULL;
    size_t n = 0;
    TRY(scores_of(&e->pool, pair.a, metric, &a));
    TRY(scores_of(&e->pool, pair.b, metric, &b));
    if (!scores_comparable(&a, &b)) return FGSF_OK;
    TRY(improvement_interval(&a, &b, &better));
    TRY(pair_seeds(e, &a, &b, &x, &y, &d, &n));
    if (n) {
        scores differences = {.s = {.x = d, .seeds = n, .tasks = 1}};
        TRY(mean_interval(&differences, &difference));
        TRY(fgsf_stats_wilcoxon(x, y, n, &test));
    }
    cell_text(t, "method", pair.a->label);
    cell_text(t, "against", pair.b->label);
    cell_text(t, "quantity", metric_title(metric));
    cell_number(t, "paired seeds", (double)n);
    cell_text(t, "label", fgsf_stats_label(n));
    cell_interval(t, "mean difference", difference, n);
    cell_number(t, "Wilcoxon p", test.p_value);
    cell_number(t, "rank-biserial", n ? test.rank_biserial : NAN);
    size_t fewest = a.s.seeds < b.s.seeds ? a.s.seeds : b.s.seeds;
    cell_interval(t, "P(improvement)", better, fewest);
    table_end_row(t);
    return FGSF_OK;
}

static const arm *arm_of_cell(const arm *const *arms, size_t n, const char *cell) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(arms[i]->cell, cell) == 0) return arms[i];
    }
    return NULL;
}

// The primary contrast and the steps from the published semi-gradient to the full gradient.
static fgsf_status ablation_pairs(exporter *e, const group *g, arm_pair **out, size_t *n) {
    static const char *const STEPS[][2] = {{"B1", "B0"}, {"C2", "A0"}, {"C1", "C2"}, {"B0", "C1"},
                                           {"B3", "B0"}, {"A1", "B1"}, {"A1", "B3"}, {"A1", "A0"}};
    const arm **arms = NULL;
    size_t count = 0;
    TRY(ablation_arms(e, g, &arms, &count));
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        const arm *a = arm_of_cell(arms, count, STEPS[i][0]);
        const arm *b = arm_of_cell(arms, count, STEPS[i][1]);
        if (!a || !b) continue;
        TRY(pool_push(&e->pool, out, n, sizeof **out));
        (*out)[*n - 1] = (arm_pair){a, b};
    }
    for (size_t i = 1; i < count; i++) { // the same cell with the full and the semi-gradient
        if (strcmp(arms[i]->cell, arms[i - 1]->cell) != 0) continue;
        bool first = strncmp(arms[i - 1]->method, "fg-", 3) == 0;
        TRY(pool_push(&e->pool, out, n, sizeof **out));
        (*out)[*n - 1] = (arm_pair){arms[i - first], arms[i - !first]};
    }
    return FGSF_OK;
}

static fgsf_status fill_comparisons(exporter *e, const group *g, table *t) {
    static const enum metric METRICS[] = {CUMULATIVE, RETURN, ZERO_SHOT};
    arm_pair *pairs = NULL;
    size_t n = 0;
    TRY(pairs_of(e, g, &pairs, &n));
    TRY(ablation_pairs(e, g, &pairs, &n));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 3; k++) TRY(put_comparison(e, t, pairs[i], METRICS[k]));
    }
    return FGSF_OK;
}

// ---- raw scores, overhead and theory ------------------------------------------------------------

static fgsf_status fill_scores(exporter *e, const group *g, table *t) {
    static const enum metric METRICS[] = {CUMULATIVE, AREA, RETURN, ZERO_SHOT};
    for (size_t i = 0; i < g->narms; i++) {
        for (size_t k = 0; k < 4; k++) {
            scores s;
            TRY(scores_of(&e->pool, &g->arms[i], METRICS[k], &s));
            for (size_t j = 0; j < s.s.seeds * s.s.tasks; j++) {
                cell_text(t, "method", g->arms[i].label);
                cell_number(t, "seed", (double)s.seed[j / s.s.tasks]);
                cell_text(t, "quantity", metric_title(METRICS[k]));
                cell_text(t, "task", s.tasks.v[j % s.s.tasks]);
                cell_number(t, "score", s.s.x[j]);
                table_end_row(t);
            }
        }
    }
    return FGSF_OK;
}

static fgsf_status fill_overhead(exporter *e, const group *g, table *t) {
    const csv *in = g->source;
    size_t method = 0;
    size_t mean = 0;
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

static fgsf_status fill_theory(exporter *e, const group *g, table *t) {
    static const char *const COLUMNS[] = {"study",    "quantity",  "expected",
                                          "measured", "tolerance", "pass"};
    (void)g;
    for (size_t i = 0; i < e->corpus.ntheory; i++) {
        const csv *in = &e->corpus.theory[i];
        size_t cols[6];
        TRY(csv_need(in, COLUMNS, 6, cols));
        for (size_t row = 0; row < in->rows; row++) {
            for (size_t k = 0; k < 6; k++) cell_text(t, COLUMNS[k], csv_text(in, row, cols[k]));
            table_end_row(t);
        }
    }
    return FGSF_OK;
}

static fgsf_status make_table(exporter *e, const group *g, const char *name, const char *caption,
                              fill_fn fill) {
    const char *file = NULL;
    table t;
    TRY(pool_printf(&e->pool, &file, "%s%s%s", g->name, *name ? "_" : "", name));
    TRY(table_open(&t));
    fgsf_status status = fill(e, g, &t);
    if (status == FGSF_OK) status = table_write(e, &t, file, g->title, caption);
    table_free(&t);
    return status;
}

static const struct {
    const char *name, *caption;
    fill_fn fill;
} ENV_TABLES[] = {
    {"summary", "mean and interquartile mean over seeds and tasks, with 95 % intervals",
     fill_summary},
    {"cumulative_reward", "cumulative reward at the end of each task, beside the paper's",
     fill_cumulative},
    {"evaluation", "final evaluation per task, beside the paper's", fill_evaluation},
    {"zero_shot", "return on held-out tasks", fill_zero_shot},
    {"protocols", "returns under every evaluation protocol", fill_protocols},
    {"comparisons", "paired by seed: difference, Wilcoxon signed-rank test, P(improvement)",
     fill_comparisons},
    {"scores", "every score of every seed, from which all of the above follows", fill_scores},
};

fgsf_status tables_write(exporter *e) {
    for (size_t i = 0; i < e->ngroups; i++) {
        const group *g = &e->groups[i];
        for (size_t k = 0; g->paper_env && k < sizeof ENV_TABLES / sizeof ENV_TABLES[0]; k++) {
            TRY(make_table(e, g, ENV_TABLES[k].name, ENV_TABLES[k].caption, ENV_TABLES[k].fill));
        }
        if (g->has == HAS_OVERHEAD) {
            TRY(make_table(e, g, "", "cost of a training step, beside the paper's", fill_overhead));
        }
    }
    group theory = {.name = "theory", .title = "theory"};
    return make_table(e, &theory, "", "numerical checks", fill_theory);
}
