// Run directories for tests: a folder of the test's own, runs in it, and what they wrote.
#ifndef FGSF_SUPPORT_RUNS_H
#define FGSF_SUPPORT_RUNS_H

#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "fgsf/run.h"
#include "support_assert.h"

#define COLUMNS "step,task,task_step,cum_reward"

static char out[64]; // this test's own directory

static char out[64]; // this test's own directory

static inline int remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw) {
    (void)info, (void)flag, (void)ftw;
    return remove(path);
}

static inline void fresh(void *unused) {
    (void)unused;
    snprintf(out, sizeof out, "test_run.%ld", (long)getpid());
    nftw(out, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline fgsf_config config(void) {
    fgsf_config cfg;
    if (fgsf_config_resolve(NULL, "clean", "fg-sfrql", &cfg) != FGSF_OK) abort();
    return cfg;
}

static inline fgsf_run_id id_of(int64_t seed) {
    return (fgsf_run_id){out, "four_rooms", "fg-sfrql", "", seed};
}

static inline char *content(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    return text;
}

static inline const char *in_run(const fgsf_run_id *id, const char *name) {
    static char path[4096];
    char directory[2048];
    if (fgsf_run_directory(id, directory, sizeof directory) != FGSF_OK) abort();
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static inline void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

// Opens a run, writes `text` as its eval.csv and finishes it.
static inline fgsf_status make_run(const fgsf_run_id *id, const fgsf_config *cfg,
                                   fgsf_run_status end) {
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_status status = fgsf_run_open(id, cfg, false, &found, &run);
    if (status != FGSF_OK) return status;
    fgsf_run_progress progress = {1.5, 400, 399};
    status = fgsf_run_finish(run, end, &progress, "");
    fgsf_run_close(run);
    return status;
}

// Writes rows for steps from+1..to, one each 10 steps.
static inline fgsf_status rows(fgsf_csv *csv, int from, int to) {
    fgsf_status status = FGSF_OK;
    for (int step = from + 10; step <= to && status == FGSF_OK; step += 10) {
        status = fgsf_csv_row(csv, "%d,0,%d,%.9g", step, step, step / 7.0);
    }
    return status;
}

// A run with checkpoints at steps 100 and 200 of which the process then died; `known` says whether
// run.json was written after the second sync. Returns the length of train.csv at the first.
static inline size_t interrupted(const fgsf_run_id *id, const fgsf_config *cfg, bool known) {
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    fgsf_run_progress progress = {1, 100, 1};
    bool good = fgsf_run_open(id, cfg, false, &found, &run) == FGSF_OK && run &&
                fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv) == FGSF_OK &&
                rows(csv, 0, 100) == FGSF_OK && fgsf_csv_sync(csv) == FGSF_OK &&
                fgsf_run_update(run, &progress) == FGSF_OK;
    size_t first = good ? strlen(content(in_run(id, "train.csv"))) : 0;
    progress.steps = 200;
    good = good && rows(csv, 100, 200) == FGSF_OK && fgsf_csv_sync(csv) == FGSF_OK &&
           (!known || fgsf_run_update(run, &progress) == FGSF_OK) && rows(csv, 200, 250) == FGSF_OK;
    if (!good || fgsf_csv_close(csv) != FGSF_OK) abort();
    fgsf_run_close(run);
    return first;
}

static inline fgsf_status resume_at(const fgsf_run_id *id, const fgsf_config *cfg, int64_t step) {
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    fgsf_status status = fgsf_run_open(id, cfg, true, &found, &run);
    if (status == FGSF_OK) status = fgsf_csv_open(run, "train.csv", COLUMNS, step, &csv);
    if (status == FGSF_OK) status = fgsf_csv_close(csv);
    fgsf_run_close(run);
    return status;
}

#endif
