// The tables: a summary, ours beside the paper's, comparisons between methods, and every score. Each
// is written twice from the same cells: as CSV, where an interval has three columns, and as Markdown.
#include <math.h>
#include <string.h>

#include "export.h"

typedef struct cell {
    const char *column, *text; // text: NULL for a number
    fgsf_stats_interval x;     // a number is its value, and NAN an empty cell
    bool is_interval;
} cell;

// A row ends where its first column comes again.
typedef struct table {
    const paper_values *paper;
    cell *cells;
    size_t n;
} table;

// ---- cells --------------------------------------------------------------------------------------

static void add_cell(table *t, cell c) {
    pool_push(&t->cells, &t->n, &c, sizeof c);
}

static void cell_text(table *t, const char *column, const char *text) {
    add_cell(t, (cell){.column = column, .text = text});
}

static void cell_number(table *t, const char *column, double x) {
    add_cell(t, (cell){.column = column, .x = {.value = x}});
}

// Empty without seeds, the value alone with one, which has no interval.
static void cell_interval(table *t, const char *column, fgsf_stats_interval x, size_t seeds) {
    if (seeds < 2) x.low = x.high = NAN;
    if (seeds < 1) x.value = NAN;
    add_cell(t, (cell){.column = column, .x = x, .is_interval = true});
}

// The mean of scores, which is also stored unless `mean` is NULL.
static fgsf_status cell_mean(table *t, const char *column, const scores *s, double *mean) {
    fgsf_stats_interval y = {0};
    if (s->s.seeds) TRY(mean_interval(s, &y));
    if (mean) *mean = y.value;
    cell_interval(t, column, y, s->s.seeds);
    return FGSF_OK;
}

// ---- writing ------------------------------------------------------------------------------------

// Writes a column's title as a name: "paper, std" is paper_std.
static void put_column(FILE *f, const char *title, const char *ending) {
    char last = '_';
    for (; *title; title++) {
        bool gap = strchr(" -/.", *title) != NULL;
        if (gap ? last == '_' : strchr(",()'", *title) != NULL) continue;
        last = gap ? '_' : *title;
        fputc(last, f);
    }
    fputs(ending, f);
}

static void write_csv(FILE *f, const table *t, size_t width) {
    static const char *const ENDINGS[] = {"", "_low", "_high"};
    for (size_t i = 0; i < width; i++) {
        for (int k = 0; k < (t->cells[i].is_interval ? 3 : 1); k++) {
            if (i || k) fputc(',', f);
            put_column(f, t->cells[i].column, ENDINGS[k]);
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        const cell *c = &t->cells[i];
        const double values[] = {c->x.value, c->x.low, c->x.high};
        fputc(i % width ? ',' : '\n', f);
        if (c->text) csv_put_text(f, c->text);
        for (int k = 0; k < (c->is_interval ? 3 : 1) && !c->text; k++) {
            if (k) fputc(',', f);
            csv_put_number(f, values[k]);
        }
    }
    fputc('\n', f);
}

// Three digits or so: enough to read, the CSV has them all.
static void put_short(FILE *f, double x) {
    double size = fabs(x);
    int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || x == 0 ? 2 : 3;
    fprintf(f, "%.*f", digits, x);
}

static void put_number(FILE *f, double x) {
    if (x == floor(x) && fabs(x) < 1e9) {
        fprintf(f, "%.0f", x);
    } else if (fabs(x) < 1e-3) {
        fprintf(f, "%.1e", x);
    } else {
        put_short(f, x);
    }
}

static void put_interval(FILE *f, fgsf_stats_interval x) {
    put_short(f, x.value);
    if (isnan(x.low)) return;
    fputs(" [", f);
    put_short(f, x.low);
    fputs(", ", f);
    put_short(f, x.high);
    fputc(']', f);
}

static void write_md(FILE *f, const table *t, size_t width) {
    for (size_t i = 0; i < width; i++) fprintf(f, "| %s ", t->cells[i].column);
    fputs("|\n", f);
    for (size_t i = 0; i < width; i++) fputs("|---", f);
    for (size_t i = 0; i < t->n; i++) {
        const cell *c = &t->cells[i];
        fputs(i % width ? "| " : "|\n| ", f);
        for (const char *at = c->text; at && *at; at++) {
            if (*at == '|') fputc('\\', f);
            fputc(*at, f);
        }
        if (!c->text && !isnan(c->x.value)) {
            c->is_interval ? put_interval(f, c->x) : put_number(f, c->x.value);
        }
        fputc(' ', f);
    }
    fputs("|\n", f);
}

// Writes tables/NAME.csv and tables/NAME.md and takes note of them; an empty table is not written.
static fgsf_status write_table(exporter *e, const table *t, artefact a) {
    FILE *f = NULL;
    size_t width = 1;
    if (t->n == 0) return FGSF_OK;
    while (width < t->n && strcmp(t->cells[width].column, t->cells[0].column) != 0) width++;
    const char *path = pool_printf("%s/tables/%s.csv", e->stage, a.name);
    TRY(file_open(path, &f));
    write_csv(f, t, width);
    TRY(file_close(f, path));
    path = pool_printf("%s/tables/%s.md", e->stage, a.name);
    TRY(file_open(path, &f));
    fprintf(f, "### %s: %s\n\n", a.group, a.caption);
    write_md(f, t, width);
    TRY(file_close(f, path));
    pool_push(&e->made, &e->nmade, &a, sizeof a);
    return FGSF_OK;
}

// ---- per task, beside the paper -----------------------------------------------------------------

static void cell_head(table *t, const arm *a, const char *task, size_t seeds) {
    cell_text(t, "method", a->label);
    cell_text(t, "task", task);
    cell_number(t, "seeds", (double)seeds);
    cell_text(t, "label", fgsf_stats_label(seeds));
}

static fgsf_status fill_cumulative(const group *g, const arm *a, table *t) {
    static const char COLUMN[] = "cum_reward_end"; // in both files
    scores reward, area;
    TRY(scores_of(a, CUMULATIVE, &reward));
    TRY(scores_of(a, AREA, &area));
    for (size_t k = 0; k < reward.tasks.n && reward.s.seeds; k++) {
        const char *task = reward.tasks.v[k];
        double mean, paper = paper_value(&t->paper->cumulative, g, a, task, COLUMN);
        scores one = scores_tasks(&reward, k, k + 1);
        scores under = area.s.seeds ? scores_tasks(&area, k, k + 1) : area;
        cell_head(t, a, task, reward.s.seeds);
        TRY(cell_mean(t, "cumulative reward", &one, &mean));
        cell_number(t, "paper", paper);
        cell_number(t, "gap", paper_scale(t->paper, g, a) ? mean - paper : NAN);
        cell_number(t, "authors' code", code_value(t->paper, g, a, task, COLUMN));
        TRY(cell_mean(t, "area under the curve / steps", &under, NULL));
    }
    return FGSF_OK;
}

static fgsf_status fill_returns(const group *g, const arm *a, table *t, enum metric metric) {
    const csv *published = &t->paper->evaluation;
    scores s;
    TRY(scores_of(a, metric, &s));
    for (size_t k = 0; k < s.tasks.n && s.s.seeds; k++) {
        const char *task = s.tasks.v[k];
        double mean, paper = paper_value(published, g, a, task, "mean");
        scores one = scores_tasks(&s, k, k + 1);
        cell_head(t, a, task, s.s.seeds);
        cell_text(t, "protocol", s.protocol);
        TRY(cell_mean(t, "return", &one, &mean));
        if (metric == ZERO_SHOT) continue;
        cell_number(t, "paper", paper);
        cell_number(t, "paper, std", paper_value(published, g, a, task, "std"));
        cell_number(t, "gap", paper_scale(t->paper, g, a) ? mean - paper : NAN);
        cell_number(t, "authors' code", code_value(t->paper, g, a, task, "eval_mean"));
    }
    return FGSF_OK;
}

static fgsf_status fill_evaluation(const group *g, const arm *a, table *t) {
    return fill_returns(g, a, t, RETURN);
}

static fgsf_status fill_zero_shot(const group *g, const arm *a, table *t) {
    return fill_returns(g, a, t, ZERO_SHOT);
}

// ---- over all tasks -----------------------------------------------------------------------------

static double mean_minutes(const arm *a) {
    double sum = 0;
    for (size_t i = 0; i < a->nruns; i++) sum += a->runs[i]->seconds;
    return sum / 60 / (double)a->nruns;
}

// The arm, and the means of the metrics [first, last), of which *seeds counts the scores.
static fgsf_status cell_means(const arm *a, enum metric first, enum metric last, table *t,
                              size_t *seeds) {
    cell_text(t, "method", a->label);
    cell_number(t, "seeds", (double)a->nruns);
    cell_text(t, "label", fgsf_stats_label(a->nruns));
    for (enum metric k = first; k < last; k++) {
        scores s;
        TRY(scores_of(a, k, &s));
        TRY(cell_mean(t, metric_title(k), &s, NULL));
        *seeds += s.s.seeds;
    }
    return FGSF_OK;
}

static fgsf_status fill_values(const group *g, const arm *a, table *t) {
    (void)g;
    size_t seeds = 0, before = t->n;
    TRY(cell_means(a, NSHOWN, NCOMPARED, t, &seeds));
    if (seeds == 0) t->n = before;
    return FGSF_OK;
}

static fgsf_status fill_summary(const group *g, const arm *a, table *t) {
    (void)g;
    size_t seeds = 0;
    TRY(cell_means(a, 0, NSHOWN, t, &seeds));
    cell_number(t, "minutes per run", a->nruns ? mean_minutes(a) : NAN);
    cell_number(t, "unfinished", (double)a->unfinished);
    cell_number(t, "diverged", (double)a->diverged);
    return FGSF_OK;
}

// The same for the first task, which nothing helps, the later ones, and those that come again.
static fgsf_status fill_parts(const group *g, const arm *a, table *t) {
    part parts[MAX_PARTS];
    scores all;
    TRY(scores_of(a, CUMULATIVE, &all));
    size_t n = all.s.seeds ? parts_of(g, all.tasks.n, parts) : 0;
    for (size_t j = 1; j < n; j++) {
        cell_text(t, "method", a->label);
        cell_text(t, "tasks", parts[j].name);
        cell_number(t, "seeds", (double)all.s.seeds);
        for (enum metric k = 0; k < ZERO_SHOT; k++) {
            scores s, some = {0};
            TRY(scores_of(a, k, &s));
            bool fits = s.s.seeds && s.tasks.n == all.tasks.n;
            if (fits) some = scores_tasks(&s, parts[j].first, parts[j].last);
            TRY(cell_mean(t, metric_title(k), &some, NULL));
        }
    }
    return FGSF_OK;
}

static fgsf_status fill_protocols(const group *g, const arm *a, table *t) {
    (void)g;
    static const enum metric METRICS[] = {RETURN, ZERO_SHOT};
    for (size_t k = 0; k < 2; k++) {
        names protocols = {0};
        TRY(protocols_of(a, METRICS[k], &protocols));
        for (size_t j = 0; j < protocols.n; j++) {
            fgsf_stats_interval iqm;
            scores s;
            TRY(scores_under(a, METRICS[k], protocols.v[j], &s));
            TRY(iqm_interval(&s, &iqm));
            cell_text(t, "method", a->label);
            cell_text(t, "tasks", METRICS[k] == RETURN ? "trained" : "held-out");
            cell_text(t, "protocol", protocols.v[j]);
            cell_number(t, "seeds", (double)s.s.seeds);
            TRY(cell_mean(t, "return", &s, NULL));
            cell_interval(t, "return, IQM", iqm, s.s.seeds);
        }
    }
    return FGSF_OK;
}

// ---- comparisons --------------------------------------------------------------------------------

static fgsf_status fill_comparisons(const group *g, const arm *a, table *t) {
    (void)a;
    arm_pair *pairs = NULL;
    size_t n = 0;
    pairs_of(g, &pairs, &n);
    for (size_t i = 0; i < n; i++) {
        for (enum metric k = 0; k < NCOMPARED; k++) {
            part parts[MAX_PARTS];
            scores s;
            TRY(scores_of(pairs[i].a, k, &s));
            size_t num_parts = k == ZERO_SHOT ? 1 : parts_of(g, s.tasks.n, parts);
            if (k == ZERO_SHOT) parts[0] = (part){"new", 0, s.tasks.n};
            for (size_t j = 0; j < num_parts; j++) {
                comparison c;
                TRY(compare(pairs[i], k, &parts[j], &c));
                if (c.pairs == 0) continue;
                cell_text(t, "method", pairs[i].a->label);
                cell_text(t, "against", pairs[i].b->label);
                cell_text(t, "quantity", metric_title(k));
                cell_text(t, "tasks", parts[j].name);
                cell_number(t, "paired seeds", (double)c.pairs);
                cell_number(t, "larger on", (double)c.wins);
                cell_text(t, "label", fgsf_stats_label(c.pairs));
                cell_interval(t, "mean difference", c.difference, c.pairs);
                cell_number(t, "Wilcoxon p", c.test.p_value);
                cell_number(t, "rank-biserial", c.test.rank_biserial);
            }
        }
    }
    return FGSF_OK;
}

// ---- raw scores, overhead and theory ------------------------------------------------------------

static fgsf_status fill_scores(const group *g, const arm *a, table *t) {
    (void)g;
    for (enum metric k = 0; k < NMETRICS; k++) {
        scores s;
        TRY(scores_of(a, k, &s));
        for (size_t j = 0; j < s.s.seeds * s.s.tasks; j++) {
            cell_text(t, "method", a->label);
            cell_text(t, "seed", pool_printf("%ld", s.seed[j / s.s.tasks]));
            cell_text(t, "quantity", metric_title(k));
            cell_text(t, "task", s.tasks.v[j % s.s.tasks]);
            cell_number(t, "score", s.s.x[j]);
        }
    }
    return FGSF_OK;
}

static fgsf_status fill_overhead(const group *g, const arm *a, table *t) {
    (void)a;
    const csv *in = g->sources.v;
    size_t cols[2];
    TRY(csv_need(in, "method,mean_ms", cols));
    for (size_t row = 0; row < in->rows; row++) {
        const char *method = csv_text(in, row, cols[0]);
        double x = NAN, ours = 0, paper = paper_milliseconds(t->paper, method);
        TRY(csv_number(in, row, cols[1], &ours));
        for (size_t col = 0; col < in->columns.n; col++) {
            if (col == cols[0]) {
                cell_text(t, "method", method);
            } else {
                TRY(csv_maybe(in, row, col, &x));
                cell_number(t, in->columns.v[col], x);
            }
        }
        cell_number(t, "paper_ms", paper);
        cell_number(t, "ours / paper", ours / paper);
    }
    return FGSF_OK;
}

static fgsf_status fill_checks(const group *g, const arm *a, table *t) {
    (void)a;
    for (size_t i = 0; i < g->sources.n; i++) {
        const csv *in = &g->sources.v[i];
        size_t cols[6];
        TRY(csv_need(in, "study,quantity,expected,measured,tolerance,pass", cols));
        for (size_t row = 0; row < in->rows; row++) {
            for (size_t k = 0; k < 6; k++) {
                cell_text(t, in->columns.v[cols[k]], csv_text(in, row, cols[k]));
            }
        }
    }
    return FGSF_OK;
}

static const struct table_def {
    const char *name; // file name behind the group's; "" for the group's own
    unsigned needs;
    const char *caption;
    // Adds the rows of one arm, or of the whole group.
    fgsf_status (*fill)(const group *g, const arm *a, table *t);
    bool whole;
} TABLES[] = {
    {"summary", HAS_RUNS, "mean over seeds and tasks, with 95 % intervals", fill_summary, false},
    {"values", HAS_RUNS, "overestimation, action gap and error of psi, with 95 % intervals",
     fill_values, false},
    {"parts", HAS_RUNS,
     "the same for the first task, later ones, and those whose reward comes again", fill_parts,
     false},
    {"cumulative_reward", HAS_RUNS, "cumulative reward at the end of each task, beside the paper's",
     fill_cumulative, false},
    {"evaluation", HAS_RUNS, "final evaluation per task, beside the paper's", fill_evaluation,
     false},
    {"zero_shot", HAS_RUNS, "return on held-out tasks", fill_zero_shot, false},
    {"protocols", HAS_RUNS, "returns under every evaluation protocol", fill_protocols, false},
    {"comparisons", HAS_RUNS, "paired by seed: difference and exact Wilcoxon signed-rank test",
     fill_comparisons, true},
    {"scores", HAS_RUNS, "every score of every seed, from which all of the above follows",
     fill_scores, false},
    {"", HAS_OVERHEAD, "cost of a training step, beside the paper's", fill_overhead, true},
    {"", HAS_CHECKS, "numerical checks", fill_checks, true},
};

static fgsf_status make_table(exporter *e, const group *g, const struct table_def *def) {
    table t = {.paper = &e->paper};
    artefact a = {.group = g->title, .caption = def->caption};
    if ((def->needs & ~g->has) != 0) return FGSF_OK;
    a.name = pool_printf(*def->name ? "%s_%s" : "%s", g->name, def->name);
    for (size_t i = 0; i < (def->whole ? 1 : g->narms); i++) {
        TRY(def->fill(g, def->whole ? NULL : &g->arms[i], &t));
    }
    return write_table(e, &t, a);
}

fgsf_status tables_write(exporter *e) {
    for (size_t i = 0; i < e->groups.n; i++) {
        for (size_t k = 0; k < sizeof TABLES / sizeof TABLES[0]; k++) {
            TRY(make_table(e, &e->groups.v[i], &TABLES[k]));
        }
    }
    return FGSF_OK;
}
