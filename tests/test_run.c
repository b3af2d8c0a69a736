// Run directories: layout, locks, refusal, resumption, crashes, full disks, summary.csv.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "fgsf/run.h"
#include "fgsf/version.h"
#include "support_assert.h"

#define COLUMNS "step,task,task_step,cum_reward"

static char out[64]; // this test's own directory

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw) {
    (void)info, (void)flag, (void)ftw;
    return remove(path);
}

static void fresh(void *unused) {
    (void)unused;
    snprintf(out, sizeof out, "test_run.%ld", (long)getpid());
    nftw(out, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static fgsf_config config(void) {
    fgsf_config cfg;
    if (fgsf_config_resolve(NULL, "clean", "fg-sfrql", &cfg) != FGSF_OK) abort();
    return cfg;
}

static fgsf_run_id id_of(int64_t seed) {
    return (fgsf_run_id){out, "four_rooms", "fg-sfrql", "", seed};
}

static bool says(const char *part) {
    if (strstr(fgsf_last_error(), part)) return true;
    fprintf(stderr, "expected '%s' in: %s\n", part, fgsf_last_error());
    return false;
}

static char *content(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    return text;
}

static const char *in_run(const fgsf_run_id *id, const char *name) {
    static char path[4096];
    char directory[2048];
    if (fgsf_run_directory(id, directory, sizeof directory) != FGSF_OK) abort();
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

// Opens a run, writes `text` as its eval.csv and finishes it.
static fgsf_status make_run(const fgsf_run_id *id, const fgsf_config *cfg, fgsf_run_status end) {
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_status status = fgsf_run_open(id, cfg, false, &found, &run);
    if (status != FGSF_OK) return status;
    fgsf_run_progress progress = {1.5, 400, 399};
    status = fgsf_run_finish(run, end, &progress, "");
    fgsf_run_close(run);
    return status;
}

TEST a_run_is_recorded(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = {out, "four_rooms", "fg-sfrql", "shared+avg.n=5", 3};
    fgsf_run *run = NULL;
    fgsf_run_found found;
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_FOUND_NOTHING, found);
    char directory[256], expected[256];
    fgsf_run_directory(&id, directory, sizeof directory);
    snprintf(expected, sizeof expected, "%s/four_rooms/fg-sfrql@shared+avg.n=5/seed-3", out);
    ASSERT_STR_EQ(expected, directory);
    fgsf_run_record r;
    ASSERT_EQ(FGSF_OK, fgsf_run_read(directory, &r));
    ASSERT_EQ(FGSF_RUN_RUNNING, r.status);
    fgsf_run_progress progress = {2.25, 1000, 998};
    ASSERT_EQ(FGSF_OK, fgsf_run_finish(run, FGSF_RUN_DIVERGED, &progress, "loss \"inf\"\n at 7"));
    fgsf_run_close(run);
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_run_read(directory, &r));
    ASSERT_EQ(FGSF_RUN_DIVERGED, r.status);
    ASSERT_STR_EQ("four_rooms", r.env);
    ASSERT_STR_EQ("fg-sfrql", r.method);
    ASSERT_STR_EQ("shared+avg.n=5", r.cell);
    ASSERT_EQ(3, r.seed);
    ASSERT_EQ(3, r.config.seed);
    ASSERT_EQ(1000, r.progress.steps);
    ASSERT_EQ(998, r.progress.optimizer_steps);
    ASSERT_EQ(2.25, r.progress.seconds);
    ASSERT_STR_EQ("loss \"inf\"? at 7", r.message);
    ASSERT_EQ(fgsf_config_hash(&cfg), fgsf_config_hash(&r.config));
    PASS();
}

TEST a_finished_run_is_left_alone(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    for (int end = FGSF_RUN_DONE; end <= FGSF_RUN_DIVERGED; end++) {
        id.seed = end;
        ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, (fgsf_run_status)end));
        char before[8192];
        snprintf(before, sizeof before, "%s", content(in_run(&id, "run.json")));
        for (int resume = 0; resume < 2; resume++) {
            ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, resume, &found, &run));
            ASSERT_EQ(FGSF_FOUND_FINISHED, found);
            ASSERT_EQ(NULL, run);
        }
        ASSERT_EQ(FGSF_OK, fgsf_run_mark_failed(&id, "x"));
        ASSERT_STR_EQ(before, content(in_run(&id, "run.json")));
    }
    PASS();
}

TEST an_unfinished_run_needs_resume(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_run_progress progress = {3, 10, 9};
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_OK, fgsf_run_update(run, &progress));
    fgsf_run_close(run);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT(says("--resume"));
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &run));
    ASSERT_EQ(FGSF_FOUND_UNFINISHED, found);
    progress.seconds = 4;
    ASSERT_EQ(FGSF_OK, fgsf_run_update(run, &progress));
    fgsf_run_close(run);
    ASSERT_EQ(FGSF_OK, fgsf_run_mark_failed(&id, "killed by signal 9"));
    fgsf_run_record r;
    char directory[256];
    fgsf_run_directory(&id, directory, sizeof directory);
    ASSERT_EQ(FGSF_OK, fgsf_run_read(directory, &r));
    ASSERT_EQ(FGSF_RUN_FAILED, r.status);
    ASSERT_EQ(7.0, r.progress.seconds); // over both processes
    ASSERT_STR_EQ("killed by signal 9", r.message);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &run)); // a failed run may be retried
    ASSERT_EQ(FGSF_FOUND_UNFINISHED, found);
    fgsf_run_close(run);
    PASS();
}

TEST another_configuration_is_refused(void) {
    fgsf_config cfg = config(), other = cfg;
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    other.learner.lr = 0.125;
    id.seed = 1;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_open(&id, &other, true, &found, &run));
    ASSERT(says("sf.lr=0.125"));
    ASSERT(says("seed-0"));
    ASSERT_EQ(-1, access(in_run(&id, "."), F_OK));          // nothing was made
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE)); // a new seed of the same one is fine
    id.cell = "fast";
    ASSERT_EQ(FGSF_OK, make_run(&id, &other, FGSF_RUN_DONE)); // and so is another cell
    other.seed = 77;                                          // the seed is no part of it
    id.seed = 77;
    ASSERT_EQ(FGSF_OK, make_run(&id, &other, FGSF_RUN_DONE));
    PASS();
}

TEST a_run_is_locked_while_it_is_open(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL, *second = NULL;
    fgsf_run_found found;
    int ready[2], go[2];
    char byte = 0;
    ASSERT_EQ(0, pipe(ready) | pipe(go));
    pid_t child = fork();
    if (child == 0) {
        bool ok = fgsf_run_open(&id, &cfg, false, &found, &run) == FGSF_OK && run;
        close(go[1]);
        if (write(ready[1], ok ? "y" : "n", 1) != 1) _exit(1);
        if (read(go[0], &byte, 1) < 0) _exit(1);
        _exit(0); // without closing: the lock goes with the process
    }
    ASSERT_EQ(1, read(ready[0], &byte, 1));
    ASSERT_EQ('y', byte);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &second));
    ASSERT_EQ(FGSF_FOUND_BUSY, found);
    ASSERT_EQ(NULL, second);
    ASSERT_EQ(FGSF_OK, fgsf_run_mark_failed(&id, "not mine"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &second));
    ASSERT_EQ(FGSF_FOUND_UNFINISHED, found);
    ASSERT(strstr(content(in_run(&id, "run.json")), "\"running\""));
    fgsf_run_close(second);
    for (int i = 0; i < 2; i++) close(ready[i]), close(go[i]);
    PASS();
}

// Writes rows for steps from+1..to, one each 10 steps.
static fgsf_status rows(fgsf_csv *csv, int from, int to) {
    fgsf_status status = FGSF_OK;
    for (int step = from + 10; step <= to && status == FGSF_OK; step += 10) {
        status = fgsf_csv_row(csv, "%d,0,%d,%.9g", step, step, step / 7.0);
    }
    return status;
}

TEST a_resumed_csv_equals_an_uninterrupted_one(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_OK, fgsf_csv_open(run, "whole.csv", COLUMNS, -1, &csv));
    ASSERT_EQ(FGSF_OK, rows(csv, 0, 500));
    ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
    char whole[8192];
    snprintf(whole, sizeof whole, "%s", content(in_run(&id, "whole.csv")));
    // A crash at any byte after the checkpoint at step 200.
    ASSERT_OK(fgsf_run_update(run, &(fgsf_run_progress){1, 200, 1}));
    ASSERT_EQ(FGSF_OK, fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv));
    ASSERT_EQ(FGSF_OK, rows(csv, 0, 200));
    ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
    size_t safe = strlen(content(in_run(&id, "train.csv")));
    for (size_t cut = safe; cut <= strlen(whole); cut++) {
        char torn[8192];
        snprintf(torn, sizeof torn, "%.*s", (int)cut, whole);
        put(in_run(&id, "train.csv"), torn);
        ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_csv_open(run, "train.csv", COLUMNS, 200, &csv));
        ASSERT_EQ(FGSF_OK, rows(csv, 200, 500));
        ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
        ASSERT_STR_EQ(whole, content(in_run(&id, "train.csv")));
    }
    fgsf_run_close(run);
    PASS();
}

// A run with checkpoints at steps 100 and 200 of which the process then died; `known` says whether
// run.json was written after the second sync. Returns the length of train.csv at the first.
static size_t interrupted(const fgsf_run_id *id, const fgsf_config *cfg, bool known) {
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

static fgsf_status resume_at(const fgsf_run_id *id, const fgsf_config *cfg, int64_t step) {
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    fgsf_status status = fgsf_run_open(id, cfg, true, &found, &run);
    if (status == FGSF_OK) status = fgsf_csv_open(run, "train.csv", COLUMNS, step, &csv);
    if (status == FGSF_OK) status = fgsf_csv_close(csv);
    fgsf_run_close(run);
    return status;
}

TEST rows_belong_to_the_state_whenever_the_process_dies(void) {
    fgsf_config cfg = config();
    for (int known = 0; known < 2; known++) {
        fgsf_run_id id = id_of(known);
        interrupted(&id, &cfg, known);
        // The state is that of the first checkpoint, or of the second once run.json knows its rows.
        ASSERT_EQ(known ? FGSF_OK : FGSF_ERR_FORMAT, resume_at(&id, &cfg, 200));
        if (known) { // rows and run.json of a backup, with a state that is newer than both
            ASSERT_EQ(FGSF_ERR_FORMAT, resume_at(&id, &cfg, 500));
            ASSERT(says("run.json is of step 200"));
        }
        ASSERT_OK(resume_at(&id, &cfg, 100));
        ASSERT_EQ(FGSF_ERR_FORMAT, resume_at(&id, &cfg, 90)); // a state of nowhere
        ASSERT(says("train.csv: its rows up to step 90"));
    }
    PASS();
}

TEST no_damage_is_resumed(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    size_t size = interrupted(&id, &cfg, true);
    const char *path = in_run(&id, "train.csv");
    char whole[8192], changed[8192];
    snprintf(whole, sizeof whole, "%s", content(path));
    for (size_t i = 0; i < size; i++) {
        for (int kind = 0; kind < 4; kind++) { // another byte, one more, one less, the rest missing
            static const char others[] = "0,\n9";
            char other = others[i % 4] == whole[i] ? '7' : others[i % 4];
            snprintf(changed, sizeof changed, "%.*s%.*s%s", (int)i, whole, kind < 2,
                     (char[]){other, '\0'}, kind == 3 ? "" : whole + i + (kind == 0 || kind == 2));
            if (strcmp(changed, whole) == 0) continue;
            put(path, changed);
            fgsf_status status = resume_at(&id, &cfg, 100);
            ASSERT_EQm(changed, FGSF_ERR_FORMAT, status);
            ASSERT(says("train.csv: "));
            ASSERT_STR_EQ(changed, content(path)); // left for inspection
        }
    }
    put(path, whole);
    ASSERT_OK(resume_at(&id, &cfg, 100));
    PASS();
}

// A run of another version whose keys are not understood says which version wrote it.
TEST a_run_of_another_version_says_so(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run_record record;
    interrupted(&id, &cfg, true);
    const char *path = in_run(&id, "run.json");
    static char text[1 << 16], directory[2048];
    ASSERT_OK(fgsf_run_directory(&id, directory, sizeof directory));
    snprintf(text, sizeof text, "%s", content(path));
    char *key = strstr(text, "loss.scale"), *version = strstr(text, fgsf_version());
    ASSERT(key && version && strlen(fgsf_version()) == 5);
    memcpy(key, "lost.scale", 10);
    put(path, text);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_read(directory, &record));
    ASSERT(!says("wrote it"));
    memcpy(version, "0.1.0", 5);
    put(path, text);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_read(directory, &record));
    ASSERT(says("'lost.scale'") && says("FGSF 0.1.0 wrote it"));
    PASS();
}

TEST a_file_that_someone_takes_away_is_noticed(void) {
    fgsf_config cfg = config();
    for (int kind = 0; kind < 3; kind++) {
        fgsf_run_id id = id_of(kind);
        fgsf_run *run = NULL;
        fgsf_run_found found;
        fgsf_csv *csv = NULL;
        ASSERT_OK(fgsf_run_open(&id, &cfg, false, &found, &run));
        ASSERT_OK(fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv));
        ASSERT_OK(rows(csv, 0, 100));
        ASSERT_OK(fgsf_csv_sync(csv));
        const char *path = in_run(&id, "train.csv");
        if (kind == 2) ASSERT_EQ(0, truncate(path, 20));
        if (kind < 2) unlink(path);
        if (kind == 1) put(path, COLUMNS "\n");
        ASSERT_OK(rows(csv, 100, 200));
        ASSERT_EQ(FGSF_ERR_IO, fgsf_csv_sync(csv));
        ASSERT(says("train.csv: was removed, replaced or changed"));
        ASSERT_EQ(FGSF_ERR_IO, fgsf_csv_close(csv));
        fgsf_run_close(run);
    }
    PASS();
}

TEST pipes_folders_and_links_in_place_of_files(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    interrupted(&id, &cfg, true);
    char victim[128];
    snprintf(victim, sizeof victim, "%s/victim", out);
    put(victim, COLUMNS "\n");
    alarm(20); // a blocking open fails the test
    for (int kind = 0; kind < 3; kind++) {
        const char *path = in_run(&id, "train.csv");
        remove(path);
        ASSERT_EQ(0, kind == 0   ? mkfifo(path, 0666)
                     : kind == 1 ? mkdir(path, 0777)
                                 : symlink("../../../victim", path));
        ASSERT_EQ(FGSF_ERR_IO, resume_at(&id, &cfg, 100));
        ASSERT(says("train.csv"));
        if (kind != 1) { // begun anew, it is replaced
            fgsf_run *run = NULL;
            fgsf_run_found found;
            fgsf_csv *csv = NULL;
            ASSERT_OK(fgsf_run_open(&id, &cfg, true, &found, &run));
            ASSERT_OK(fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv));
            ASSERT_OK(fgsf_csv_close(csv));
            fgsf_run_close(run);
        }
    }
    ASSERT_STR_EQ(COLUMNS "\n", content(victim));
    static const char *const names[] = {"run.json", "lock"};
    for (int i = 0; i < 2; i++) {
        remove(in_run(&id, names[i]));
        ASSERT_EQ(0, mkfifo(in_run(&id, names[i]), 0666));
        resume_at(&id, &cfg, 100); // whatever it says, it says it
    }
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT(says("run.json: is not a regular file"));
    alarm(0);
    PASS();
}

TEST a_finished_run_that_was_changed_is_damaged(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    fgsf_run_progress progress = {1, 1, 1};
    ASSERT_OK(fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_OK(fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv));
    ASSERT_OK(rows(csv, 0, 100));
    ASSERT_OK(fgsf_csv_close(csv));
    ASSERT_OK(fgsf_run_finish(run, FGSF_RUN_DONE, &progress, ""));
    fgsf_run_close(run);
    ASSERT_OK(fgsf_run_summarize(out));
    char path[128], whole[8192];
    snprintf(path, sizeof path, "%s/summary.csv", out);
    ASSERT(strstr(content(path), "four_rooms,fg-sfrql,,0,done,0,0,14.28"));
    snprintf(whole, sizeof whole, "%s", content(in_run(&id, "train.csv")));
    static const char *const changed[] = {COLUMNS "\n10,0,10,1.42857143\n", "", NULL};
    for (int i = 0; i < 3; i++) { // cut, emptied, removed
        if (changed[i]) put(in_run(&id, "train.csv"), changed[i]);
        if (!changed[i]) remove(in_run(&id, "train.csv"));
        ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
        ASSERT(says("train.csv: is not the file that run.json describes"));
        ASSERT(strstr(content(path), "four_rooms,fg-sfrql,,0,damaged,,,,,"));
        ASSERT(strstr(content(path), "train.csv: is not the file"));
        ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_verify(in_run(&id, ".")));
        ASSERT(says("train.csv: is not the file that run.json describes"));
    }
    put(in_run(&id, "train.csv"), whole);
    ASSERT_OK(fgsf_run_summarize(out));
    ASSERT_OK(fgsf_run_verify(in_run(&id, ".")));
    PASS();
}

TEST a_corrupted_csv_is_named(void) {
    static const char *const bad[] = {"", "step,task\n10,0\n", COLUMNS "\n10,0,0,1\nx,0,0,1\n",
                                      COLUMNS "\n20,0,0,1\n10,0,0,1\n", COLUMNS "\n,0,0,1\n"};
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_OK(fgsf_run_update(run, &(fgsf_run_progress){1, 100, 1}));
    ASSERT_EQ(FGSF_ERR_IO, fgsf_csv_open(run, "train.csv", COLUMNS, 100, &csv)); // not there
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(in_run(&id, "train.csv"), bad[i]);
        ASSERT_EQm(bad[i], FGSF_ERR_FORMAT, fgsf_csv_open(run, "train.csv", COLUMNS, 100, &csv));
        ASSERT(says("train.csv: line"));
        ASSERT_STR_EQ(bad[i], content(in_run(&id, "train.csv"))); // left for inspection
    }
    fgsf_run_close(run);
    PASS();
}

TEST a_corrupted_record_is_named(void) {
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"schema\": \"fgsf.run/9\"}",
                                      "{\"schema\": \"fgsf.run/1\", \"env\": 3}"};
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(in_run(&id, "run.json"), bad[i]);
        ASSERT_EQm(bad[i], FGSF_ERR_FORMAT, fgsf_run_open(&id, &cfg, true, &found, &run));
        ASSERT(says("run.json"));
        ASSERT_STR_EQ(bad[i], content(in_run(&id, "run.json")));
    }
    // The summary says so and goes on with the others.
    id.seed = 1;
    ASSERT_EQ(FGSF_ERR_FORMAT, make_run(&id, &cfg, FGSF_RUN_DONE));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT(says("run.json"));
    char path[128];
    snprintf(path, sizeof path, "%s/summary.csv", out);
    ASSERT(strstr(content(path), "unreadable"));
    PASS();
}

// Any byte of run.json, numbers and names that could well be others included.
TEST a_changed_record_is_noticed(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run_record changed;
    char directory[256];
    static char whole[1 << 13];
    ASSERT_OK(make_run(&id, &cfg, FGSF_RUN_DONE));
    ASSERT_OK(fgsf_run_directory(&id, directory, sizeof directory));
    const char *path = in_run(&id, "run.json");
    snprintf(whole, sizeof whole, "%s", content(path));
    size_t accepted = 0, length = strlen(whole);
    for (size_t i = 0; i < length; i++) {
        char before = whole[i];
        whole[i] = before == '7' ? '8' : '7';
        put(path, whole);
        whole[i] = before;
        if (fgsf_run_read(directory, &changed) != FGSF_OK) continue;
        accepted++;
    }
    ASSERT_EQ(0u, accepted);
    // Taken as a configuration, and without its first line, it is noticed too.
    char *gamma = strstr(whole, "\"train.gamma\": 0.95"), *seal = strchr(whole, '\n');
    ASSERT(gamma && seal);
    gamma[17] = '1';
    put(path, whole);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_config_load(&cfg, path));
    ASSERT(says("run.json: its checksum"));
    gamma[17] = '9';
    put(path, whole);
    ASSERT_OK(fgsf_run_read(directory, &changed));
    ASSERT_OK(fgsf_config_load(&cfg, path));
    memset(seal + 1, ' ', strcspn(seal + 1, "\n"));
    put(path, whole);
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_read(directory, &changed));
    PASS();
}

// A run that was copied to the place of another seed would count twice.
TEST a_run_in_the_place_of_another_is_noticed(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0), other = id_of(1);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    ASSERT_OK(make_run(&id, &cfg, FGSF_RUN_DONE));
    ASSERT_OK(make_run(&other, &cfg, FGSF_RUN_DONE));
    put(in_run(&other, "run.json"), content(in_run(&id, "run.json")));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_look(&other, &found));
    ASSERT(says("is the record of another run, four_rooms/fg-sfrql/seed-0"));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_open(&other, &cfg, true, &found, &run));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_mark_failed(&other, "x"));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT(says("seed-1/run.json"));
    ASSERT_OK(fgsf_run_look(&id, &found));
    PASS();
}

TEST names_stay_inside_the_directory(void) {
    static const char *const bad[] = {"", "..", "a/b", "a,b", ".x", "a b", "a\"b", "\xc3\xa4"};
    char path[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fgsf_run_id id = {out, "four_rooms", bad[i], "", 0};
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_directory(&id, path, sizeof path));
        id = (fgsf_run_id){out, bad[i], "dqn", "", 0};
        ASSERT_EQ(FGSF_ERR_INVALID, fgsf_run_directory(&id, path, sizeof path));
        id = (fgsf_run_id){out, "four_rooms", "dqn", bad[i], 0};
        ASSERT_EQ(*bad[i] ? FGSF_ERR_INVALID : FGSF_OK, fgsf_run_directory(&id, path, sizeof path));
    }
    PASS();
}

TEST an_unwritable_place_is_named(void) {
    fgsf_config cfg = config();
    fgsf_run *run = NULL;
    fgsf_run_found found;
    put(out, "a file");
    fgsf_run_id id = id_of(0);
    ASSERT_EQ(FGSF_ERR_IO, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT(says(out));
    ASSERT_EQ(FGSF_ERR_IO, fgsf_run_summarize(out));
    ASSERT_STR_EQ("a file", content(out));
    id.out = "/proc/nowhere";
    ASSERT_EQ(FGSF_ERR_IO, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT(says("/proc/nowhere"));
    PASS();
}

// A full disk, as a limit on file sizes: an error that names the file, and old content that stays.
TEST a_full_disk_is_named_and_harms_nothing(void) {
    fgsf_config cfg = config();
    fgsf_run_id id = id_of(0);
    fgsf_run *run = NULL;
    fgsf_run_found found;
    fgsf_csv *csv = NULL;
    struct rlimit old, small = {1000, 0};
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, false, &found, &run));
    ASSERT_EQ(FGSF_OK, fgsf_csv_open(run, "train.csv", COLUMNS, -1, &csv));
    fgsf_run_progress progress = {1, 100, 1};
    ASSERT_OK(rows(csv, 0, 100)); // a checkpoint at step 100
    ASSERT_OK(fgsf_csv_sync(csv));
    ASSERT_OK(fgsf_run_update(run, &progress));
    char before[8192];
    snprintf(before, sizeof before, "%s", content(in_run(&id, "run.json")));
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    fgsf_status record = fgsf_run_update(run, &progress);
    bool record_named = says("run.json: cannot write");
    fgsf_status row = rows(csv, 100, 2000);
    fgsf_status sync = row == FGSF_OK ? fgsf_csv_sync(csv) : row;
    bool csv_named = says("train.csv: cannot write");
    fgsf_status closed = fgsf_csv_close(csv);
    setrlimit(RLIMIT_FSIZE, &old);
    ASSERT_EQ(FGSF_ERR_IO, record);
    ASSERT_EQ(FGSF_ERR_IO, sync);
    ASSERT_EQ(FGSF_ERR_IO, closed);
    ASSERT(record_named);
    ASSERT(csv_named);
    ASSERT_STR_EQ(before, content(in_run(&id, "run.json")));
    fgsf_run_close(run);
    // No temporary file is left, and the run goes on from its last good row.
    char directory[256];
    fgsf_run_directory(&id, directory, sizeof directory);
    DIR *dir = opendir(directory);
    for (struct dirent *e; (e = readdir(dir));) ASSERT(!strstr(e->d_name, ".tmp"));
    closedir(dir);
    ASSERT_EQ(FGSF_OK, fgsf_run_open(&id, &cfg, true, &found, &run));
    ASSERT_EQm(fgsf_last_error(), FGSF_OK, fgsf_csv_open(run, "train.csv", COLUMNS, 100, &csv));
    ASSERT_EQ(FGSF_OK, fgsf_csv_close(csv));
    fgsf_run_close(run);
    PASS();
}

#define CHANGED "clean,\"env.slip=0.1, sf.lr=0.0003\""

TEST the_summary_covers_everything(void) {
    fgsf_config cfg = config();
    ASSERT_OK(fgsf_config_set(&cfg, "sf.lr", "3e-4", NULL));
    ASSERT_OK(fgsf_config_set(&cfg, "env.slip", "0.1", NULL));
    fgsf_run_id id = id_of(10);
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    put(in_run(&id, "train.csv"), "step,task,task_step,cum_reward,loss,psi_error\n"
                                  "200,0,200,1.5,0,0.75\n400,0,400,2.5,0,nan\n"
                                  "600,1,200,-3,0,nan\n800,1,40");
    put(in_run(&id, "eval.csv"), "task,episode,reward_model,epsilon,return,steps,success,"
                                 "discounted_return,overestimation\n"
                                 "0,0,learned,0,2,10,1,1,0.5\n0,1,learned,0,4,20,0,2.5,1\n"
                                 "0,0,true,0.03,5,30,1,3,-1\nh0,0,learned,0,1,100,0,0.5,nan\n");
    id.seed = 9;
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_FAILED));
    id = (fgsf_run_id){out, "reacher", "dqn", "c1", 0};
    ASSERT_EQ(FGSF_OK, make_run(&id, &cfg, FGSF_RUN_DONE));
    put(in_run(&id, "train.csv"), "step,task,task_step,cum_reward,loss\nnonsense\n");
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT(says("train.csv: line 2"));
    char path[128], expected[4096], hash[32];
    snprintf(path, sizeof path, "%s/summary.csv", out);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)fgsf_config_hash(&cfg));
    snprintf(
        expected, sizeof expected,
        "env,method,cell,seed,status,task,heldout,cum_reward,area,reward_model,epsilon,"
        "episodes,eval_return,eval_success,eval_steps,steps,seconds,config_hash,message,"
        "eval_discounted,eval_overestimation,eval_action_gap,preset,changed,psi_error\n"
        "four_rooms,fg-sfrql,,9,failed,,,,,,,0,,,,400,1.500,%s,,,,," CHANGED ",\n"
        "four_rooms,fg-sfrql,,10,done,0,0,2.5,1.375,learned,0,2,3,0.5,15,400,1.500,%s,,1.75,0.75,"
        "," CHANGED ",0.75\n"
        "four_rooms,fg-sfrql,,10,done,0,0,2.5,1.375,true,0.03,1,5,1,30,400,1.500,%s,,3,-1,," CHANGED
        ",0.75\n"
        "four_rooms,fg-sfrql,,10,done,h0,1,,,learned,0,1,1,0,100,400,1.500,%s,,0.5,,," CHANGED ",\n"
        "four_rooms,fg-sfrql,,10,done,1,0,-3,-1.5,,,0,,,,400,1.500,%s,,,,," CHANGED ",\n"
        "reacher,dqn,c1,0,done,,,,,,,0,,,,400,1.500,%s,"
        "\"%s/reacher/dqn@c1/seed-0/train.csv: line 2: not a row of this table\",,,," CHANGED ",\n",
        hash, hash, hash, hash, hash, hash, out);
    ASSERT_STR_EQ(expected, content(path));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_run_summarize(out));
    ASSERT_STR_EQ(expected, content(path));
    remove(in_run(&id, "train.csv"));
    // An evaluation that is older than the discounted return is read without it.
    id = id_of(10);
    put(in_run(&id, "eval.csv"), "task,episode,reward_model,epsilon,return,steps,success\n"
                                 "0,0,learned,0,2,10,1\n");
    ASSERT_EQ(FGSF_OK, fgsf_run_summarize(out));
    ASSERT(strstr(content(path), "learned,0,1,2,1,10,400,1.500"));
    ASSERT(strstr(content(path), ",,,,," CHANGED ",0.75\nfour_rooms,fg-sfrql,,10,done,1,0"));
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    GREATEST_SET_SETUP_CB(fresh, NULL);
    GREATEST_SET_TEARDOWN_CB(fresh, NULL);
    RUN_TEST(a_run_is_recorded);
    RUN_TEST(a_finished_run_is_left_alone);
    RUN_TEST(an_unfinished_run_needs_resume);
    RUN_TEST(another_configuration_is_refused);
    RUN_TEST(a_run_is_locked_while_it_is_open);
    RUN_TEST(a_resumed_csv_equals_an_uninterrupted_one);
    RUN_TEST(rows_belong_to_the_state_whenever_the_process_dies);
    RUN_TEST(no_damage_is_resumed);
    RUN_TEST(a_run_of_another_version_says_so);
    RUN_TEST(a_file_that_someone_takes_away_is_noticed);
    RUN_TEST(pipes_folders_and_links_in_place_of_files);
    RUN_TEST(a_finished_run_that_was_changed_is_damaged);
    RUN_TEST(a_corrupted_csv_is_named);
    RUN_TEST(a_corrupted_record_is_named);
    RUN_TEST(a_changed_record_is_noticed);
    RUN_TEST(a_run_in_the_place_of_another_is_noticed);
    RUN_TEST(names_stay_inside_the_directory);
    RUN_TEST(an_unwritable_place_is_named);
    RUN_TEST(a_full_disk_is_named_and_harms_nothing);
    RUN_TEST(the_summary_covers_everything);
    GREATEST_MAIN_END();
}
