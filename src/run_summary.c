// summary.csv: one row per run, task and evaluation protocol, rebuilt from every run directory.
#include "run_internal.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "number.h"

#define MAX_LABEL 24
#define MAX_COLUMNS 64
#define LATER 3 // columns of eval.csv that came later

static const char columns[] =
    "env,method,cell,seed,status,task,heldout,cum_reward,area,"
    "reward_model,epsilon,episodes,eval_return,eval_success,eval_steps,steps,seconds,"
    "config_hash,message,eval_discounted,eval_overestimation,eval_action_gap,preset,changed,"
    "psi_error\n";

// One task of one run under one protocol; sums until they are printed. A task without evaluation has
// an empty protocol.
typedef struct outcome {
    char task[MAX_LABEL], model[MAX_LABEL], epsilon[MAX_LABEL];
    double returns, successes, steps;
    double later[LATER]; // of the columns that older files lack; NaN there
    long episodes;
} outcome;

// The reward that a task has collected after `step` training steps, from the last row of train.csv,
// the area under its curve, and the last error of psi that is known.
typedef struct collected {
    char task[MAX_LABEL];
    double step, reward, area, psi_error;
} collected;

typedef struct collection {
    outcome *outcomes;
    collected *tasks;
    size_t num_outcomes, num_tasks;
    char preset[MAX_LABEL], *changes; // "" and NULL where the usual settings are not known
} collection;

// ---- Reading CSV files ---------------------------------------------------------------------------

typedef fgsf_status (*row_function)(collection *all, char **fields);

// Splits a line at its commas; returns the number of fields, or -1 when there are too many.
static int split(char *line, char **fields) {
    int n = 0;
    for (char *rest = line; rest;) {
        if (n == MAX_COLUMNS) return -1;
        fields[n++] = strsep(&rest, ",");
    }
    return n;
}

// Finds the columns `names` in the header; those in [brackets] may be missing.
static bool find_columns(char **header, int count, const char *const *names, int n, int *at) {
    bool found = true;
    for (int k = 0; k < n; k++) {
        bool optional = names[k][0] == '[';
        size_t length = strlen(names[k]) - 2 * optional;
        at[k] = -1;
        for (int i = 0; i < count; i++) {
            bool same = strlen(header[i]) == length;
            if (same && strncmp(header[i], names[k] + optional, length) == 0) at[k] = i;
        }
        found = found && (at[k] >= 0 || optional);
    }
    return found;
}

// Calls `row` with the named columns of each whole line of a file, if there is one; a missing optional
// column is "". A last line
// without its newline is still being written, or was cut by a crash.
static fgsf_status read_rows(const char *directory, const char *name, const char *const *names,
                             int n, row_function row, collection *all) {
    char path[FGSF_PATH], *text = NULL, *fields[MAX_COLUMNS], *wanted[MAX_COLUMNS];
    int at[MAX_COLUMNS], count = 0, number = 0;
    FGSF_TRY(fgsf_path_join(directory, name, path, sizeof path));
    if (access(path, F_OK) != 0) return FGSF_OK;
    fgsf_status status = fgsf_io_read(path, FGSF_MAX_CSV, &text, NULL);
    if (status != FGSF_OK) return status;
    for (char *line = text, *end; status == FGSF_OK && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        number++;
        int got = split(line, fields);
        if (number == 1) {
            count = got;
            if (got < 0 || !find_columns(fields, got, names, n, at)) status = FGSF_ERR_FORMAT;
            continue;
        }
        for (int k = 0; got == count && k < n; k++) wanted[k] = at[k] < 0 ? "" : fields[at[k]];
        status = got == count ? row(all, wanted) : FGSF_ERR_FORMAT;
    }
    if (status == FGSF_ERR_FORMAT) {
        status = fgsf_fail(status, "%s: line %d: not a row of this table", path, number);
    }
    free(text);
    return status;
}

// Makes room for one more element; doubling would save nothing at these sizes.
static bool grow(void *items, size_t *count, size_t size) {
    void *more = realloc(*(void **)items, (*count + 1) * size);
    if (!more) return false;
    *(void **)items = more;
    memset((char *)more + *count * size, 0, size);
    (*count)++;
    return true;
}

// A label is copied into summary.csv as it is.
static bool is_label(const char *text) {
    size_t n = strlen(text);
    return n < MAX_LABEL &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") == n;
}

// Reads a number that may be missing, or "nan": then it is NaN.
static bool read_known(const char *text, double *out) {
    *out = NAN;
    return *text == '\0' || strcmp(text, "nan") == 0 || fgsf_number_read(text, out);
}

static const char *const train_columns[] = {"task", "task_step", "cum_reward", "[psi_error]"};

static fgsf_status train_row(collection *all, char **fields) {
    double step = 0, reward = 0, psi_error = NAN;
    size_t i = 0;
    if (!is_label(fields[0]) || !fgsf_number_read(fields[1], &step) ||
        !fgsf_number_read(fields[2], &reward) || !read_known(fields[3], &psi_error)) {
        return FGSF_ERR_FORMAT;
    }
    while (i < all->num_tasks && strcmp(all->tasks[i].task, fields[0]) != 0) i++;
    if (i == all->num_tasks) {
        if (!grow(&all->tasks, &all->num_tasks, sizeof *all->tasks)) {
            return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
        }
        snprintf(all->tasks[i].task, MAX_LABEL, "%s", fields[0]);
        all->tasks[i].psi_error = NAN;
    }
    collected *task = &all->tasks[i];
    task->area += (step - task->step) * (task->reward + reward) / 2;
    task->step = step;
    task->reward = reward;
    if (isfinite(psi_error)) task->psi_error = psi_error;
    return FGSF_OK;
}

static const char *const eval_columns[] = {
    "task",  "reward_model",        "epsilon",          "return",      "success",
    "steps", "[discounted_return]", "[overestimation]", "[action_gap]"};

static outcome *find_outcome(collection *all, const char *task, const char *model,
                             const char *epsilon) {
    for (size_t i = 0; i < all->num_outcomes; i++) {
        outcome *o = &all->outcomes[i];
        if (strcmp(o->task, task) == 0 && strcmp(o->model, model) == 0 &&
            strcmp(o->epsilon, epsilon) == 0) {
            return o;
        }
    }
    if (!grow(&all->outcomes, &all->num_outcomes, sizeof *all->outcomes)) return NULL;
    outcome *o = &all->outcomes[all->num_outcomes - 1];
    snprintf(o->task, sizeof o->task, "%s", task);
    snprintf(o->model, sizeof o->model, "%s", model);
    snprintf(o->epsilon, sizeof o->epsilon, "%s", epsilon);
    return o;
}

static fgsf_status eval_row(collection *all, char **fields) {
    double value[3], later[LATER];
    for (int k = 0; k < 3; k++) {
        if (!is_label(fields[k])) return FGSF_ERR_FORMAT;
        if (!fgsf_number_read(fields[3 + k], &value[k])) return FGSF_ERR_FORMAT;
    }
    for (int k = 0; k < LATER; k++) {
        if (!read_known(fields[6 + k], &later[k])) return FGSF_ERR_FORMAT;
    }
    outcome *o = find_outcome(all, fields[0], fields[1], fields[2]);
    if (!o) return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    o->returns += value[0];
    o->successes += value[1];
    o->steps += value[2];
    for (int k = 0; k < LATER; k++) o->later[k] += later[k];
    o->episodes++;
    return FGSF_OK;
}

// Adds a row without evaluation for each trained task that has none.
static fgsf_status add_unevaluated(collection *all) {
    for (size_t t = 0; t < all->num_tasks; t++) {
        size_t i = 0;
        while (i < all->num_outcomes && strcmp(all->outcomes[i].task, all->tasks[t].task) != 0) i++;
        if (i == all->num_outcomes && !find_outcome(all, all->tasks[t].task, "", "")) {
            return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
        }
    }
    return FGSF_OK;
}

// ---- Writing rows --------------------------------------------------------------------------------

static void put_quoted(FILE *out, const char *text) {
    if (*text == '\0') return;
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc((unsigned char)*text < 0x20 ? ' ' : *text, out);
    }
    putc('"', out);
}

// Returns what training left of the outcome's task, or NULL.
static const collected *find_collected(const collection *all, const outcome *o) {
    size_t t = 0;
    while (t < all->num_tasks && strcmp(all->tasks[t].task, o->task) != 0) t++;
    return t < all->num_tasks ? &all->tasks[t] : NULL;
}

static void put_outcome(FILE *out, const collected *task, const outcome *o) {
    fprintf(out, "%s,%d,", o->task, o->task[0] == 'h');
    if (task) {
        fprintf(out, "%.10g,%.10g", task->reward, task->step > 0 ? task->area / task->step : 0.0);
    } else {
        putc(',', out);
    }
    if (o->episodes == 0) {
        fprintf(out, ",,,0,,,,");
        return;
    }
    double n = (double)o->episodes;
    fprintf(out, ",%s,%s,%ld,%.10g,%.10g,%.10g,", o->model, o->epsilon, o->episodes, o->returns / n,
            o->successes / n, o->steps / n);
}

// Writes a number behind a comma; nothing where it is not known.
static void put_known(FILE *out, double value) {
    putc(',', out);
    if (isfinite(value)) fprintf(out, "%.10g", value);
}

static void put_rows(FILE *out, const fgsf_run_record *r, const char *standing,
                     const collection *all, const char *message) {
    static const outcome none = {0};
    size_t rows = all->num_outcomes ? all->num_outcomes : 1;
    for (size_t i = 0; i < rows; i++) {
        const outcome *o = all->num_outcomes ? &all->outcomes[i] : &none;
        const collected *task = find_collected(all, o);
        fprintf(out, "%s,%s,%s,%lld,%s,", r->env, r->method, r->cell, (long long)r->seed, standing);
        if (all->num_outcomes) {
            put_outcome(out, task, o);
        } else {
            fprintf(out, ",,,,,,0,,,,");
        }
        fprintf(out, "%lld,%.3f,%016llx,", (long long)r->progress.steps, r->progress.seconds,
                (unsigned long long)fgsf_config_hash(&r->config));
        put_quoted(out, message);
        for (int k = 0; k < LATER; k++) {
            put_known(out, o->episodes ? o->later[k] / (double)o->episodes : NAN);
        }
        fprintf(out, ",%s,", all->preset);
        put_quoted(out, all->changes ? all->changes : "");
        put_known(out, task ? task->psi_error : NAN);
        putc('\n', out);
    }
}

// What a walk over OUT carries.
typedef struct summary {
    FILE *out;
    size_t root;     // length of OUT, which messages leave out
    int damaged;     // runs whose files cannot be read, or are not those of run.json
    char first[800]; // what is wrong with the first one
} summary;

static void note_damage(summary *s) {
    if (s->damaged++ == 0) fgsf_text_copy(s->first, sizeof s->first, fgsf_last_error());
}

// Fails only without memory; every other problem is written into the row.
static fgsf_status put_run(summary *s, const char *directory) {
    FILE *out = s->out;
    const char *relative = directory + s->root + 1;
    fgsf_run_record r;
    collection all = {0};
    fgsf_status status = fgsf_run_read_own(directory, &r);
    if (status == FGSF_ERR_MEMORY) return status;
    if (status != FGSF_OK) { // what its place says, and why there is no more
        char whole[FGSF_PATH + 1024], message[600];
        snprintf(whole, sizeof whole, "%s: %s", relative, fgsf_last_error());
        fgsf_text_copy(message, sizeof message, whole);
        fprintf(out, ",,,,unreadable,,,,,,,0,,,,,,,");
        put_quoted(out, message);
        fputs(",,,,,,\n", out);
        note_damage(s);
        return FGSF_OK;
    }
    all.changes = fgsf_config_changes(&r.config);
    if (all.changes) fgsf_config_get(&r.config, "preset", all.preset, sizeof all.preset);
    status = fgsf_csv_verify(directory, &r);
    bool damaged = status != FGSF_OK; // its numbers would be wrong
    if (!damaged) status = read_rows(directory, "train.csv", train_columns, 4, train_row, &all);
    if (status == FGSF_OK) {
        status = read_rows(directory, "eval.csv", eval_columns, 6 + LATER, eval_row, &all);
    }
    if (status == FGSF_OK) status = add_unevaluated(&all);
    if (status != FGSF_ERR_MEMORY) {
        bool ended = damaged || r.status == FGSF_RUN_DONE || r.status == FGSF_RUN_DIVERGED;
        if (status != FGSF_OK && ended) note_damage(s); // others are resumed, or refused, by name
        put_rows(out, &r, damaged ? "damaged" : fgsf_run_status_name(r.status), &all,
                 status == FGSF_OK ? r.message : fgsf_last_error());
    }
    free(all.outcomes);
    free(all.tasks);
    free(all.changes);
    return status == FGSF_ERR_MEMORY ? status : FGSF_OK;
}

// ---- Walking OUT/<env>/<method>/seed-<k> ---------------------------------------------------------

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

// Calls itself for each level below `directory`; at the third, a directory with run.json is a run.
// versionsort puts seed-10 after seed-9.
static fgsf_status walk(summary *s, const char *directory, int depth) {
    struct dirent **entries = NULL;
    int n = scandir(directory, &entries, visible, versionsort);
    // Files beside the runs, and what another process removed since it was listed.
    if (n < 0 && (errno == ENOTDIR || errno == ENOENT) && depth > 0) return FGSF_OK;
    if (n < 0) return fgsf_fail(FGSF_ERR_IO, "%s: cannot read: %s", directory, strerror(errno));
    fgsf_status status = FGSF_OK;
    fgsf_io_remove_leftovers(directory);
    for (int i = 0; i < n; i++) {
        char path[FGSF_PATH], record[FGSF_PATH];
        if (status == FGSF_OK) {
            status = fgsf_path_join(directory, entries[i]->d_name, path, sizeof path);
        }
        if (status == FGSF_OK) status = fgsf_path_join(path, "run.json", record, sizeof record);
        if (status == FGSF_OK && depth < 2) status = walk(s, path, depth + 1);
        if (depth == 2) fgsf_io_remove_leftovers(path);
        if (status == FGSF_OK && depth == 2 && access(record, F_OK) == 0) status = put_run(s, path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

fgsf_status fgsf_run_summarize(const char *directory) {
    char path[FGSF_PATH], *text = NULL;
    size_t length = 0;
    if (!directory) return fgsf_fail(FGSF_ERR_INVALID, "fgsf_run_summarize: no directory");
    FGSF_TRY(fgsf_path_join(directory, "summary.csv", path, sizeof path));
    summary s = {.out = open_memstream(&text, &length), .root = strlen(directory)};
    if (!s.out) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", path);
    fputs(columns, s.out);
    locale_t before = fgsf_number_begin();
    fgsf_status status = walk(&s, directory, 0);
    fgsf_number_end(before);
    if (fclose(s.out) != 0 && status == FGSF_OK) {
        status = fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", path);
    }
    if (status == FGSF_OK) status = fgsf_io_write(path, text, length);
    free(text);
    if (status == FGSF_OK && s.damaged > 0) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s (damaged runs: %d, see summary.csv)", s.first,
                           s.damaged);
    }
    return status;
}
