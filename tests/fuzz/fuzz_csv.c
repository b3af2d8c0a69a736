// Fuzzes the readers of CSV files in run directories. The first byte says which: the cut back to a
// checkpoint (the second byte is its step, in hundreds), train.csv or eval.csv in a summary.
//
// Whatever is in the file: a cut keeps a prefix of it and cutting again changes nothing; summary.csv
// has the same number of fields in every line; and what is refused leaves a message of one line.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fgsf/envs.h"
#include "io.h"
#include "run_internal.h"

#define HEADER "step,task,task_step,cum_reward"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64];  // OUT
static fgsf_run place; // its one run

static void require(bool holds) {
    if (!holds) abort();
}

static void forget(void) {
    static const char *const parts[] = {"env/dqn/seed-0/train.csv",
                                        "env/dqn/seed-0/eval.csv",
                                        "env/dqn/seed-0/run.json",
                                        "env/dqn/seed-0/lock",
                                        "env/dqn/seed-0",
                                        "env/dqn",
                                        "env",
                                        "summary.csv"};
    char path[256];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s/%s", root, parts[i]);
        remove(path);
    }
    remove(root);
}

static void prepare(void) {
    fgsf_config cfg;
    fgsf_run *run = NULL;
    fgsf_run_found found;
    snprintf(root, sizeof root, "%s/fuzz-csv-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    require(mkdtemp(root) != NULL);
    atexit(forget);
    fgsf_run_id id = {root, "env", "dqn", "", 0};
    require(fgsf_envs_register() == FGSF_OK);
    require(fgsf_config_resolve("four_rooms", "clean", "dqn", &cfg) == FGSF_OK);
    require(fgsf_run_open(&id, &cfg, false, &found, &run) == FGSF_OK && run);
    fgsf_run_close(run);
    require(fgsf_run_directory(&id, place.directory, sizeof place.directory) == FGSF_OK);
    place.lock = -1;
}

static void write_input(const char *name, const uint8_t *data, size_t size) {
    char path[FGSF_PATH];
    require(fgsf_run_path(&place, name, path, sizeof path) == FGSF_OK);
    FILE *file = fopen(path, "wb");
    require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static char *read_back(const char *path, size_t *size) {
    struct stat info;
    FILE *file = fopen(path, "rb");
    require(file && fstat(fileno(file), &info) == 0);
    char *text = calloc((size_t)info.st_size + 1, 1);
    require(text && fread(text, 1, (size_t)info.st_size, file) == (size_t)info.st_size);
    fclose(file);
    *size = (size_t)info.st_size;
    return text;
}

// Notes in the record, as a checkpoint does, the lines before the first whose step is too large: what a
// cut keeps when the file is in order.
static void note_rows(const uint8_t *data, size_t size, int64_t last_step) {
    fgsf_run_file *file = fgsf_run_find_file(&place.record, "train.csv");
    char *text = calloc(size + 1, 1), *line = text;
    require(file && text);
    memcpy(text, data, size);
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        if (line > text && atoll(line) > last_step) break;
    }
    place.record.progress.steps = last_step;
    file->marks[0].bytes = line - text;
    file->marks[0].checksum = fgsf_hash(FGSF_HASH_START, text, (size_t)(line - text));
    free(text);
}

static void cut(const uint8_t *data, size_t size, int64_t last_step) {
    char path[FGSF_PATH];
    size_t kept = 0, again = 0;
    fgsf_csv *csv = NULL;
    write_input("train.csv", data, size);
    require(fgsf_run_path(&place, "train.csv", path, sizeof path) == FGSF_OK);
    note_rows(data, size, last_step);
    fgsf_status status = fgsf_csv_open(&place, "train.csv", HEADER, last_step, &csv);
    char *text = read_back(path, &kept);
    require(kept <= size && memcmp(text, data, kept) == 0);
    free(text);
    if (status != FGSF_OK) {
        require(kept == size && !strchr(fgsf_last_error(), '\n'));
        return;
    }
    require(fgsf_csv_close(csv) == FGSF_OK);
    require(fgsf_csv_open(&place, "train.csv", HEADER, last_step, &csv) == FGSF_OK);
    require(fgsf_csv_row(csv, "%lld,0,0,0", (long long)last_step + 1) == FGSF_OK);
    require(fgsf_csv_close(csv) == FGSF_OK);
    require(fgsf_csv_open(&place, "train.csv", HEADER, last_step, &csv) == FGSF_OK);
    require(fgsf_csv_close(csv) == FGSF_OK);
    free(read_back(path, &again));
    require(again == kept);
}

// Counts the fields of a line, commas inside quotes left out.
static int count_fields(const char *line, const char *end) {
    int fields = 1;
    bool quoted = false;
    for (; line < end; line++) {
        quoted ^= *line == '"';
        fields += *line == ',' && !quoted;
    }
    return quoted ? -1 : fields;
}

static void summarize(const char *name, const uint8_t *data, size_t size) {
    char path[FGSF_PATH];
    write_input("train.csv", (const uint8_t *)"task,cum_reward\n0,1\n", 20);
    write_input("eval.csv", (const uint8_t *)"", 0);
    write_input(name, data, size);
    fgsf_status status = fgsf_run_summarize(root);
    require(status == FGSF_OK || status == FGSF_ERR_FORMAT);
    require(fgsf_path_join(root, "summary.csv", path, sizeof path) == FGSF_OK);
    char *text = read_back(path, &size);
    require(strlen(text) == size && size > 0 && text[size - 1] == '\n');
    int columns = count_fields(text, strchr(text, '\n'));
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        require(count_fields(line, end) == columns);
        for (char *c = line; c < end; c++) require((unsigned char)*c >= 0x20);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    if (!*root) prepare();
    if (data[0] % 3 == 0) {
        cut(data + 2, size - 2, 100 * (int64_t)data[1]);
    } else {
        summarize(data[0] % 3 == 1 ? "train.csv" : "eval.csv", data + 2, size - 2);
    }
    return 0;
}
