// Private header of the exporter: run directories in; figures, tables and a notebook out.
//
// How data flow: csv.c, runs.c and summary.c read, groups.c sorts runs into arms, scores.c
// reduces arms to numbers, compare.c sets one arm against another, fig_*.c and tables.c write them,
// plot.c fills the templates and runs gnuplot, notebook.c binds all together.
// Everything allocated lives in one pool until the program ends, which it does when there is no more
// memory. Every other call that can fail returns an fgsf_status and leaves one line in
// fgsf_last_error; main.c prints it.
#ifndef FGSF_NOTEBOOKS_EXPORT_H
#define FGSF_NOTEBOOKS_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fgsf/stats.h"
#include "fgsf/status.h"

#define TRY(call) FGSF_TRY(call)

// ---- pool.c: memory, names and files ------------------------------------------------------------

typedef struct names {
    const char **v;
    size_t n;
} names;

void pool_free(void);
void *pool_get(size_t count, size_t size); // zeros
void *memory_get(size_t size);             // to be freed
// Appends a copy of *item to *(T **)items, which holds *n of them.
void pool_push(void *items, size_t *n, const void *item, size_t size);
const char *pool_printf(const char *format, ...) FGSF_PRINTF(1, 2);
void names_add(names *list, const char *name); // once, whatever the calls
bool names_find(const names *list, const char *name, size_t *at);
size_t names_longest(const names *list);
void names_sort(names *list, int (*order)(const char *, const char *));
const char *text_join(const char *list, const char *separator, const char *item);

fgsf_status file_read(const char *path, char **text, size_t *size);
fgsf_status file_open(const char *path, FILE **out);
fgsf_status file_close(FILE *f, const char *path); // fails when anything written to f failed
// Lists a folder in alphabetical order, without hidden files.
fgsf_status file_list(const char *path, names *out);
void file_remove_tree(const char *path);

// ---- csv.c --------------------------------------------------------------------------------------

typedef struct csv_row {
    size_t line; // for messages
    char **field;
} csv_row;

typedef struct csv {
    const char *path;
    names columns;
    csv_row *row;
    size_t rows;
    names notes; // lines that begin with '#', without it
} csv;

typedef struct csv_list {
    csv *v;
    size_t n;
} csv_list;

fgsf_status csv_read(const char *path, csv *out);
// Parses `size` bytes with a zero behind them; fields point into the text, which is changed.
fgsf_status csv_parse(const char *path, char *text, size_t size, csv *out);
bool csv_find(const csv *t, const char *name, size_t *col);
// Finds the columns of a list such as "task,step".
fgsf_status csv_need(const csv *t, const char *wanted, size_t *cols);
const char *csv_text(const csv *t, size_t row, size_t col);
fgsf_status csv_number(const csv *t, size_t row, size_t col, double *out); // finite
fgsf_status csv_maybe(const csv *t, size_t row, size_t col, double *out);  // NAN when empty or nan
// The value of a line "# key: value".
const char *csv_note(const csv *t, const char *key, const char *otherwise);
fgsf_status csv_fail(const csv *t, size_t row, size_t col, const char *what);

// ---- runs.c -------------------------------------------------------------------------------------

// One run directory, or what a summary.csv kept of one. A table with no columns was not there.
typedef struct run {
    const char *dir, *env, *layout, *method, *cell, *status, *preset; // "" for none
    long seed;
    double lr; // of the network that learns the task; NAN when not recorded, like the next three
    double seconds, steps_per_task, eval_epsilon;
    const char *eval_reward;
    const char *changed; // as fgsf_config_changes has it; NULL: not recorded
    names changes;       // the same one by one, "key=value" each
    const char *hash;    // of its configuration, if an older summary says nothing else; or NULL
    csv train, eval, policy_map, trajectory;
    bool summary_only; // no directory: `ends` stands for train, means for the episodes of eval
    csv ends;          // task, cum_reward and perhaps area at the end of each task
} run;

// Tables that stand for themselves: the files of one name, or of one pattern.
enum table_kind { OVERHEAD, SCALING, THEORY, THEORY_CURVE, NTABLES };

typedef struct corpus {
    bool partial; // unfinished runs count too, with the training curves that they have so far
    run *runs;
    size_t nruns;
    csv_list tables[NTABLES];
} corpus;

// Reads everything below root except what earlier exports left there.
fgsf_status runs_read(const char *root, corpus *out);
fgsf_status run_parse(const char *path, const char *text, size_t size, run *out);
// Makes the configuration of a run again, from its preset and what it changed.
fgsf_status run_configure(run *r);
void run_set_changed(run *r, const char *changed); // and its changes

// ---- summary.c ----------------------------------------------------------------------------------

// Adds the runs of a summary.csv whose directories do not lie below its folder.
fgsf_status summary_read(const char *path, corpus *out);

// ---- groups.c -----------------------------------------------------------------------------------

// What a group offers and a figure needs.
enum data {
    HAS_RUNS = 1, // of an environment, finished or not
    HAS_TRAIN = 2,
    HAS_EVAL = 4,
    HAS_PAIRS = 8, // at least two methods to compare
    HAS_ABLATION = 16,
    HAS_GRID = 32, // one setting that cells vary
    HAS_MAP = 64,
    HAS_TRAJECTORY = 128,
    HAS_OVERHEAD = 256,
    HAS_SCALING = 512,
    HAS_CURVE = 1024,
    HAS_CHECKS = 2048, // numerical, of the theory
};

enum shape { CIRCLE, SQUARE, UP, DOWN, DIAMOND, PENTAGON, SHAPES };

// How a method is drawn in every figure; dash and shape tell methods apart in grey print.
typedef struct look {
    const char *colour;
    int dash;         // 1 solid, 2 dashes, 3 dots, 4 dash-dot, 5 dash-dot-dot
    enum shape shape; // of its points, which are filled where the line is solid
} look;

// The runs of one method (or of one cell of a study), sorted by seed.
typedef struct arm {
    const char *method, *cell, *label; // cell: "" for none
    names parts;                       // of the cell: "semi", "sf.lr=3e-4" of semi+sf.lr=3e-4
    const char *name;                  // in figures: without what all arms share
    look look;
    run **runs; // finished ones
    size_t nruns;
    const run *example; // the first of them that has a directory, else the first; NULL without any
    size_t unfinished, diverged;
} arm;

typedef struct arm_list {
    const arm **v;
    size_t n;
} arm_list;

// What one set of figures is about: an environment, one arm's picture, or one study file.
typedef struct group {
    const char *name;  // as files begin
    const char *title; // as figures begin
    const char *about; // behind the title: study, preset, changed settings
    const char *env, *paper_env, *layout;
    arm *arms;
    size_t narms;
    arm_list shown; // in the figures that are not about cells
    arm_list cells; // with runs, in the order of cells_sort
    csv_list sources;
    const char *varied; // HAS_GRID: the key
    unsigned has;
} group;

typedef struct group_list {
    group *v;
    size_t n;
} group_list;

fgsf_status groups_make(const char *root, const corpus *runs, group_list *out);
bool group_has_one_method(const group *g);
// Whether a piece of the arm's cell tells it from others: not when all have it, nor when it is a usual
// setting that no other arm varies.
bool piece_tells(const group *g, const arm *a, const char *piece);
look method_look(const char *method);
const char *method_paper_name(const char *method); // NULL when the paper has none
// The look of a gradient or target network that the name begins with, or another one.
look named_look(const char *name, look otherwise);
look palette(size_t i);                         // for series that are not methods
int cell_compare(const char *a, const char *b); // with numbers in the order of their size

// ---- scores.c -----------------------------------------------------------------------------------

// The first NSHOWN stand in every table and figure of scores; those about values follow, which runs may
// lack. All of them are compared.
enum metric {
    CUMULATIVE,
    DISCOUNTED,
    SUCCESS,
    GOAL_STEPS,
    RETURN,
    ZERO_SHOT,
    NSHOWN,
    OVERESTIMATION = NSHOWN,
    ACTION_GAP,
    PSI_ERROR,
    NCOMPARED,
    AREA = NCOMPARED,
    NMETRICS
};

// Scores of one arm, (seeds, tasks); seeds is 0 when the arm has none.
typedef struct scores {
    fgsf_stats_scores s;
    names tasks;
    const long *seed;     // (seeds)
    const char *protocol; // how returns were evaluated, such as "learned, epsilon 0"
} scores;

// A seed-averaged curve.
#define MAX_POINTS 101
typedef struct curve {
    size_t n, seeds;
    double x[MAX_POINTS];
    fgsf_stats_interval y[MAX_POINTS];
} curve;

const char *metric_title(enum metric metric);
fgsf_status scores_of(const arm *a, enum metric metric, scores *out);
// Like scores_of, with returns from one protocol only.
fgsf_status scores_under(const arm *a, enum metric metric, const char *protocol, scores *out);
fgsf_status protocols_of(const arm *a, enum metric metric, names *out);
// The columns [first, last) of the tasks.
scores scores_tasks(const scores *in, size_t first, size_t last);
fgsf_status train_tasks(const arm *a, names *out); // of any run, in order
fgsf_status cumulative_curve(const arm *a, const char *task, curve *out);
// The column of train.csv averaged in at most 100 bins of steps, over seeds geometrically for a
// logarithmic axis; n is 0 when nothing is recorded.
fgsf_status diagnostic_curve(const arm *a, const char *column, bool geometric, curve *out);
fgsf_status mean_interval(const scores *in, fgsf_stats_interval *out);
fgsf_status iqm_interval(const scores *in, fgsf_stats_interval *out);

// Tasks in learning order: the first, which no earlier policy helps, the later ones, and those whose
// reward was seen before.
typedef struct part {
    const char *name;
    size_t first, last; // [first, last)
} part;
#define MAX_PARTS 4
size_t parts_of(const group *g, size_t tasks, part out[MAX_PARTS]); // all tasks first

// ---- compare.c ----------------------------------------------------------------------------------

// Two arms to compare.
typedef struct arm_pair {
    const arm *a, *b;
} arm_pair;

// a minus b, paired by seed.
typedef struct comparison {
    size_t pairs, wins; // wins: pairs in which a is larger
    fgsf_stats_interval difference;
    fgsf_stats_wilcoxon_result test;
} comparison;

// The pairs to compare: first those that differ only in the gradient, then fg-sfrql against the
// rest (without it, all against all), then the steps of the ablation and each cell with the full
// and the semi-gradient.
void pairs_of(const group *g, arm_pair **out, size_t *n);
// Over the tasks of one part; pairs is 0 when the arms share no seed or have other tasks.
fgsf_status compare(arm_pair pair, enum metric metric, const part *tasks, comparison *out);
// Sorts cells: first those of the gradient ablation, from the published semi-gradient to the full one.
void cells_sort(arm_list *cells);
// What a cell of it is in words; NULL for other cells.
const char *ablation_words(const char *cell);

// ---- paper.c ------------------------------------------------------------------------------------

typedef struct paper_values {
    csv cumulative, evaluation, overhead, hyper, code; // no columns when not found
} paper_values;

fgsf_status paper_read(const char *dir, paper_values *out);
// The published value of an arm; NAN for a cell. `t` is ref->cumulative or ref->evaluation.
double paper_value(const csv *t, const group *g, const arm *a, const char *task,
                   const char *column);
// Whether the arm is a method of the paper in the preset `compat`, with nothing changed, and trained for
// as many steps per task as the published figure shows, so that a gap means something.
bool paper_scale(const paper_values *ref, const group *g, const arm *a);
double paper_milliseconds(const paper_values *ref, const char *method);
// The authors' code as we ran it, mean over its seeds at the learning rate nearest to the arm's; NAN
// for a cell and where the rate is not known.
double code_value(const paper_values *ref, const group *g, const arm *a, const char *task,
                  const char *column);

// ---- plot.c -------------------------------------------------------------------------------------

typedef struct exporter exporter;

// A file of templates/, compiled in.
typedef struct export_template {
    const char *name, *text;
} export_template;

extern const export_template export_templates[]; // ends with an empty row
const char *template_text(const char *name);     // "" when there is none

typedef struct plot plot;

typedef struct figure {
    const char *name; // file name behind the group's; "" for the group's own
    unsigned needs;
    const char *caption;
    fgsf_status (*write)(const group *g, plot *f);
    const char *body;     // the gnuplot template
    unsigned first, last; // what is drawn, [first, last), where `write` draws more than one thing
} figure;

// One figure being written: its data go to csv, its gnuplot definitions to script.
struct plot {
    const figure *of;
    const paper_values *paper;
    FILE *csv, *script;
    size_t rows;                 // of data; a figure without any is not made
    int width, height;           // pixels
    size_t seeds_min, seeds_max; // for the title; 0 when seeds do not apply
    names series, panels;
    look *looks; // (series)
    const char *series_column, *panel_column, *panel_word;
};

// Adds a series to the legend, if it is new.
void plot_series(plot *f, const char *series, look how);
// Begins a row of data with the names of its series and panel, which are added if they are new.
void plot_point(plot *f, const char *series, look how, const char *panel);
// Goes on with ",value,low,high,seeds"; the title tells how many seeds there were.
void plot_interval(plot *f, fgsf_stats_interval y, size_t seeds);
void plot_text(plot *f, const char *name, const char *value);
void plot_number(plot *f, const char *name, double value);
void plot_array(plot *f, const char *name, const char *const *values, size_t n);
// Panels in rows of `columns`; call it when all points are written.
void plot_grid(plot *f, size_t columns, int panel_width, int panel_height);
void csv_put_text(FILE *f, const char *text); // quoted where needed
void csv_put_number(FILE *f, double x);       // empty for NAN

// ---- what is made -------------------------------------------------------------------------------

// A figure or table that was written, in the order of the notebook.
typedef struct artefact {
    bool is_figure;
    const char *name, *group, *caption;
} artefact;

struct exporter {
    const char *runs, *out, *stage, *paper_dir;
    int lock; // on the stage: it is in use
    corpus corpus;
    paper_values paper;
    group_list groups;
    artefact *made;
    size_t nmade;
};

// One line of a figure with intervals, and its definitions; `zero` is as templates/intervals.gp says.
void plot_row(plot *f, const char *label, look how, const char *quantity, fgsf_stats_interval y,
              size_t seeds);
// The second label is that of the panels behind the first, NULL for the same.
void plot_rows(plot *f, const char *first_xlabel, const char *second_xlabel, int zero);
// Rows of the figure's metrics for these arms.
fgsf_status plot_scores(plot *f, const arm_list *arms);

extern const figure training_figures[]; // each ends with an empty row
extern const figure evaluation_figures[];
extern const figure study_figures[];
extern const figure picture_figures[];

fgsf_status figures_write(exporter *e);
fgsf_status gnuplot_check(exporter *e);
fgsf_status tables_write(exporter *e);
fgsf_status notebook_write(exporter *e);

#endif
