// Run directories that were damaged: every changed byte is noticed and named, and nothing is lost.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "fgsf/version.h"
#include "support_runs.h"

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

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    GREATEST_SET_SETUP_CB(fresh, NULL);
    GREATEST_SET_TEARDOWN_CB(fresh, NULL);
    RUN_TEST(no_damage_is_resumed);
    RUN_TEST(a_run_of_another_version_says_so);
    RUN_TEST(a_file_that_someone_takes_away_is_noticed);
    RUN_TEST(pipes_folders_and_links_in_place_of_files);
    RUN_TEST(a_finished_run_that_was_changed_is_damaged);
    RUN_TEST(a_corrupted_csv_is_named);
    RUN_TEST(a_corrupted_record_is_named);
    RUN_TEST(a_changed_record_is_noticed);
    RUN_TEST(a_run_in_the_place_of_another_is_noticed);
    RUN_TEST(an_unwritable_place_is_named);
    RUN_TEST(a_full_disk_is_named_and_harms_nothing);
    GREATEST_MAIN_END();
}