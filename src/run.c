// Run directories and run.json. CSV files are in run_csv.c, summary.csv in run_summary.c.
#include "run_internal.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "config_table.h"
#include "fgsf/version.h"
#include "io.h"
#include "require.h"

#define MAX_RECORD ((size_t)1 << 20)
#define MAX_NUMBER 1000000000000000 // in run.json

static const char *const status_names[] = {"running", "done", "diverged", "failed"};

const char *fgsf_run_status_name(fgsf_run_status status) {
    return (unsigned)status < 4 ? status_names[status] : "unknown";
}

// ---- Paths ---------------------------------------------------------------------------------------

fgsf_status fgsf_path_join(const char *a, const char *b, char *path, size_t size) {
    int n = snprintf(path, size, "%s/%s", a, b);
    if (n > 0 && (size_t)n < size) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "%.200s/%.100s: the path is too long", a, b);
}

// A name becomes part of a path and a field of CSV files, so only plain characters are allowed.
static fgsf_status check_name(const char *what, const char *name, bool empty_is_fine) {
    size_t n = strlen(name);
    bool plain =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+=") == n;
    if (plain && n < FGSF_RUN_NAME && (n > 0 || empty_is_fine) && name[0] != '.') return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "%s '%.80s': use letters, digits and _ - . + = (not first a dot), at most %d",
                     what, name, FGSF_RUN_NAME - 1);
}

// Writes OUT/<env>/<method>[@<cell>], where the seeds of one configuration lie.
static fgsf_status family_directory(const fgsf_run_id *id, char *path, size_t size) {
    if (!id || !id->out || !id->env || !id->method || !*id->out) {
        return fgsf_fail(FGSF_ERR_INVALID, "a run needs an output directory, environment, method");
    }
    const char *cell = id->cell ? id->cell : "";
    FGSF_TRY(check_name("environment", id->env, false));
    FGSF_TRY(check_name("method", id->method, false));
    FGSF_TRY(check_name("cell", cell, true));
    FGSF_REQUIRE(id->seed >= 0 && id->seed <= MAX_NUMBER);
    int n =
        snprintf(path, size, "%s/%s/%s%s%s", id->out, id->env, id->method, *cell ? "@" : "", cell);
    if (n > 0 && (size_t)n < size) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "%.200s: the path is too long", id->out);
}

fgsf_status fgsf_run_directory(const fgsf_run_id *id, char *path, size_t size) {
    FGSF_REQUIRE(path);
    char family[FGSF_PATH], seed[40];
    FGSF_TRY(family_directory(id, family, sizeof family));
    snprintf(seed, sizeof seed, "seed-%lld", (long long)id->seed);
    return fgsf_path_join(family, seed, path, size);
}

fgsf_status fgsf_run_path(const fgsf_run *run, const char *name, char *path, size_t size) {
    FGSF_REQUIRE(run && name && path);
    return fgsf_path_join(run->directory, name, path, size);
}

// ---- Reading run.json ----------------------------------------------------------------------------

static fgsf_status read_name(const cJSON *json, const char *path, const char *key, char *out,
                             size_t size) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= size) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s: expected a text of at most %zu bytes", path, key,
                         size - 1);
    }
    snprintf(out, size, "%s", item->valuestring);
    return FGSF_OK;
}

static fgsf_status read_number(const cJSON *json, const char *path, const char *key, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= MAX_NUMBER)) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s: expected a number from 0 on", path, key);
    }
    *out = item->valuedouble;
    return FGSF_OK;
}

static fgsf_status read_status(const cJSON *json, const char *path, fgsf_run_status *out) {
    char name[16];
    FGSF_TRY(read_name(json, path, "status", name, sizeof name));
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, status_names[i]) != 0) continue;
        *out = (fgsf_run_status)i;
        return FGSF_OK;
    }
    return fgsf_fail(FGSF_ERR_FORMAT, "%s: status: '%s' is not a status", path, name);
}

// Reads "BYTES CHECKSUM".
static bool read_mark(const cJSON *item, int64_t *bytes, uint64_t *checksum) {
    const char *text = cJSON_IsString(item) ? item->valuestring : "";
    size_t digits = strspn(text, "0123456789");
    const char *sum = text + digits + 1;
    if (digits < 1 || digits > 15 || text[digits] != ' ' || strlen(sum) != 16 ||
        strspn(sum, "0123456789abcdef") != 16) {
        return false;
    }
    *bytes = strtoll(text, NULL, 10);
    *checksum = strtoull(sum, NULL, 16);
    return *bytes > 0;
}

// Versions before this one did not write it.
static fgsf_status read_files(const cJSON *json, const char *path, fgsf_run_record *r) {
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(json, "files"), *item;
    bool good = !files || cJSON_IsObject(files);
    for (item = files ? files->child : NULL; item && good; item = item->next) {
        fgsf_run_file *file = fgsf_run_find_file(r, item->string);
        int count = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;
        good = file && file->marks[0].bytes == 0 && (count == 1 || count == 2);
        for (int k = 0; k < count && good; k++) {
            good = read_mark(cJSON_GetArrayItem(item, k), &file->marks[k].bytes,
                             &file->marks[k].checksum);
        }
    }
    return good ? FGSF_OK : fgsf_fail(FGSF_ERR_FORMAT, "%s: files: not what was written", path);
}

// A configuration of another version may not be understood; then the message says whose it is.
static fgsf_status read_config(const cJSON *json, const char *path, fgsf_config *cfg) {
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(json, "fgsf_version");
    fgsf_status status =
        fgsf_config_read_json(cfg, cJSON_GetObjectItemCaseSensitive(json, "config"), path, false);
    if (status == FGSF_OK || !cJSON_IsString(version) ||
        strcmp(version->valuestring, fgsf_version()) == 0) {
        return status;
    }
    char why[1024];
    snprintf(why, sizeof why, "%s", fgsf_last_error());
    return fgsf_fail(status, "%s (FGSF %.20s wrote it, this is %s)", why, version->valuestring,
                     fgsf_version());
}

static fgsf_status read_record(const cJSON *json, const char *path, fgsf_run_record *r) {
    char schema[32];
    double seed = 0, steps = 0, updates = 0;
    FGSF_TRY(read_name(json, path, "schema", schema, sizeof schema));
    if (strcmp(schema, FGSF_RUN_SCHEMA) != 0) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: schema: '%s' is not " FGSF_RUN_SCHEMA, path, schema);
    }
    FGSF_TRY(read_name(json, path, "env", r->env, sizeof r->env));
    FGSF_TRY(read_name(json, path, "method", r->method, sizeof r->method));
    FGSF_TRY(read_name(json, path, "cell", r->cell, sizeof r->cell));
    FGSF_TRY(read_name(json, path, "message", r->message, sizeof r->message));
    FGSF_TRY(read_status(json, path, &r->status));
    FGSF_TRY(read_number(json, path, "seed", &seed));
    FGSF_TRY(read_number(json, path, "steps", &steps));
    FGSF_TRY(read_number(json, path, "optimizer_steps", &updates));
    FGSF_TRY(read_number(json, path, "seconds", &r->progress.seconds));
    FGSF_TRY(read_files(json, path, r));
    // They become fields of summary.csv.
    if (check_name("env", r->env, false) != FGSF_OK ||
        check_name("method", r->method, false) != FGSF_OK ||
        check_name("cell", r->cell, true) != FGSF_OK) {
        char why[256];
        snprintf(why, sizeof why, "%s", fgsf_last_error());
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: %s", path, why);
    }
    r->seed = (int64_t)seed;
    r->progress.steps = (int64_t)steps;
    r->progress.optimizer_steps = (int64_t)updates;
    // Keys that this run's version did not have yet keep the defaults.
    FGSF_TRY(fgsf_config_resolve(NULL, "clean", "fg-sfrql", &r->config));
    return read_config(json, path, &r->config);
}

typedef fgsf_status (*record_reader)(const cJSON *json, const char *path, fgsf_run_record *r);

static fgsf_status read_with(record_reader reader, const char *directory, fgsf_run_record *out) {
    char path[FGSF_PATH], *text = NULL;
    cJSON *json = NULL;
    fgsf_run_record record;
    memset(&record, 0, sizeof record);
    fgsf_status status = fgsf_path_join(directory, "run.json", path, sizeof path);
    if (status == FGSF_OK) status = fgsf_io_read(path, MAX_RECORD, &text, NULL);
    if (status == FGSF_OK) status = fgsf_json_parse(text, path, &json);
    if (status == FGSF_OK) status = reader(json, path, &record);
    if (status == FGSF_OK && fgsf_json_is_sealed(json)) status = fgsf_io_check_seal(text, path);
    if (status == FGSF_OK) *out = record;
    cJSON_Delete(json);
    free(text);
    return status;
}

fgsf_status fgsf_run_read(const char *directory, fgsf_run_record *out) {
    FGSF_REQUIRE(directory && out);
    return read_with(read_record, directory, out);
}

fgsf_status fgsf_run_read_own(const char *directory, fgsf_run_record *r) {
    FGSF_TRY(fgsf_run_read(directory, r));
    char place[3 * FGSF_RUN_NAME + 64];
    int n = snprintf(place, sizeof place, "/%s/%s%s%s/seed-%lld", r->env, r->method,
                     *r->cell ? "@" : "", r->cell, (long long)r->seed);
    size_t length = strlen(directory), size = (size_t)n;
    if (length > size && strcmp(directory + length - size, place) == 0) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_FORMAT, "%s/run.json: is the record of another run, %s", directory,
                     place + 1);
}

static fgsf_status read_seals(const cJSON *json, const char *path, fgsf_run_record *r) {
    fgsf_status status = read_status(json, path, &r->status);
    return status != FGSF_OK ? status : read_files(json, path, r);
}

fgsf_status fgsf_run_verify(const char *directory) {
    fgsf_run_record record;
    FGSF_REQUIRE(directory);
    fgsf_status status = read_with(read_seals, directory, &record);
    return status != FGSF_OK ? status : fgsf_csv_verify(directory, &record);
}

// ---- Writing run.json ----------------------------------------------------------------------------

// Copies a text for JSON: quotes and backslashes escaped, control characters made spaces.
static void escape(const char *text, char *out, size_t size) {
    size_t used = 0;
    for (; *text && used + 3 < size; text++) {
        if (*text == '"' || *text == '\\') out[used++] = '\\';
        out[used++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    out[used] = '\0';
}

// Writes the processor's name, or "unknown".
static void cpu_name(char *out, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(out, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = '\0';
        escape(colon + 2, out, size);
        break;
    }
    if (file) fclose(file);
}

// Writes `"NAME": ["BYTES CHECKSUM", ...]` for every file.
static void print_files(const fgsf_run_record *r, char *out, size_t size) {
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < FGSF_RUN_FILES; i++) {
        const fgsf_run_file *f = &r->files[i];
        for (int k = 0; k < 2 && f->marks[k].bytes > 0; k++) {
            used += (size_t)snprintf(out + used, size - used, "%s%s%s%s\"%lld %016llx\"",
                                     k || !used ? "" : ", ", k ? ", " : "\"", k ? "" : f->name,
                                     k ? "" : "\": [", (long long)f->marks[k].bytes,
                                     (unsigned long long)f->marks[k].checksum);
        }
        if (f->marks[0].bytes > 0) used += (size_t)snprintf(out + used, size - used, "]");
    }
}

static fgsf_status write_record(const fgsf_run *run) {
    const fgsf_run_record *r = &run->record;
    char path[FGSF_PATH], cpu[256], message[2 * sizeof r->message], files[FGSF_RUN_FILES * 160];
    FGSF_TRY(fgsf_run_path(run, "run.json", path, sizeof path));
    cpu_name(cpu, sizeof cpu);
    escape(r->message, message, sizeof message);
    print_files(r, files, sizeof files);
    char *config = fgsf_config_to_json(&r->config), *text = NULL;
    if (!config) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", path);
    int n =
        asprintf(&text,
                 FGSF_SEAL "\"schema\": \"%s\",\n\"env\": \"%s\",\n\"method\": \"%s\",\n"
                           "\"cell\": \"%s\",\n\"seed\": %lld,\n\"status\": \"%s\",\n"
                           "\"message\": \"%s\",\n\"steps\": %lld,\n\"optimizer_steps\": %lld,\n"
                           "\"seconds\": %lld.%03d,\n\"fgsf_version\": \"%s\",\n"
                           "\"commit\": \"%s\",\n\"ggml_version\": \"%s\",\n\"cpu\": \"%s\",\n"
                           "\"files\": {%s},\n\"config_hash\": \"%016llx\",\n\"config\": %s}\n",
                 FGSF_RUN_SCHEMA, r->env, r->method, r->cell, (long long)r->seed,
                 fgsf_run_status_name(r->status), message, (long long)r->progress.steps,
                 (long long)r->progress.optimizer_steps, (long long)r->progress.seconds,
                 (int)(1000 * (r->progress.seconds - (double)(long long)r->progress.seconds)),
                 fgsf_version(), fgsf_commit(), fgsf_ggml_version(), cpu, files,
                 (unsigned long long)fgsf_config_hash(&r->config), config);
    free(config);
    if (n < 0) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", path);
    fgsf_io_seal(text, (size_t)n);
    fgsf_status status = fgsf_io_write(path, text, (size_t)n);
    free(text);
    return status;
}

static fgsf_status set_progress(fgsf_run *run, const fgsf_run_progress *progress) {
    FGSF_REQUIRE(run);
    if (!progress) return FGSF_OK;
    double seconds = progress->seconds + run->earlier_seconds;
    FGSF_REQUIRE(seconds >= 0 && seconds <= MAX_NUMBER && progress->steps >= 0 &&
                 progress->steps <= MAX_NUMBER && progress->optimizer_steps >= 0 &&
                 progress->optimizer_steps <= MAX_NUMBER);
    run->record.progress = *progress;
    run->record.progress.seconds = seconds;
    return FGSF_OK;
}

fgsf_status fgsf_run_update(fgsf_run *run, const fgsf_run_progress *progress) {
    FGSF_TRY(set_progress(run, progress));
    return write_record(run);
}

fgsf_status fgsf_run_finish(fgsf_run *run, fgsf_run_status status,
                            const fgsf_run_progress *progress, const char *message) {
    FGSF_REQUIRE((unsigned)status <= FGSF_RUN_FAILED);
    FGSF_TRY(set_progress(run, progress));
    run->record.status = status;
    fgsf_text_copy(run->record.message, sizeof run->record.message, message);
    return write_record(run);
}

// ---- Refusing another configuration --------------------------------------------------------------

// Compares the configuration of a run with `cfg`, except for the seed and the device.
static fgsf_status compare_config(const char *directory, const fgsf_config *cfg) {
    fgsf_run_record old;
    FGSF_TRY(fgsf_run_read(directory, &old));
    const fgsf_key *key;
    for (size_t i = 0; (key = fgsf_config_key_at(cfg, i)); i++) {
        char a[FGSF_TEXT_SIZE], b[FGSF_TEXT_SIZE];
        fgsf_key_print(&old.config, key, false, a, sizeof a);
        fgsf_key_print(cfg, key, false, b, sizeof b);
        if (strcmp(a, b) == 0 || !fgsf_key_matters(key)) continue;
        return fgsf_fail(FGSF_ERR_INVALID,
                         "%s holds a run with %s=%.200s, this one has %s=%.200s: use another --out",
                         directory, key->name, a, key->name, b);
    }
    return FGSF_OK;
}

fgsf_status fgsf_run_check(const fgsf_run_id *id, const fgsf_config *cfg) {
    FGSF_REQUIRE(cfg);
    char family[FGSF_PATH], directory[FGSF_PATH], record[FGSF_PATH];
    fgsf_status status = family_directory(id, family, sizeof family);
    if (status != FGSF_OK) return status;
    DIR *dir = opendir(family);
    if (!dir && errno == ENOENT) return FGSF_OK;
    if (!dir) return fgsf_fail(FGSF_ERR_IO, "%s: cannot open: %s", family, strerror(errno));
    const struct dirent *entry;
    while (status == FGSF_OK && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "seed-", 5) != 0) continue;
        status = fgsf_path_join(family, entry->d_name, directory, sizeof directory);
        if (status == FGSF_OK) {
            status = fgsf_path_join(directory, "run.json", record, sizeof record);
        }
        if (status == FGSF_OK && access(record, F_OK) == 0) status = compare_config(directory, cfg);
    }
    closedir(dir);
    return status;
}

// ---- Opening and closing -------------------------------------------------------------------------

// Takes the run's lock; *fd is -1 when another process has it.
static fgsf_status take_lock(const char *directory, int *fd) {
    char path[FGSF_PATH];
    FGSF_TRY(fgsf_path_join(directory, "lock", path, sizeof path));
    *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0) return fgsf_fail(FGSF_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return FGSF_OK;
    int error = errno;
    close(*fd);
    *fd = -1;
    if (error == EWOULDBLOCK) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_IO, "%s: cannot lock: %s", path, strerror(error));
}

// Returns whether another process holds the run's lock.
static bool is_locked(const char *directory) {
    char path[FGSF_PATH];
    if (fgsf_path_join(directory, "lock", path, sizeof path) != FGSF_OK) return false;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

fgsf_status fgsf_run_look(const fgsf_run_id *id, fgsf_run_found *found) {
    FGSF_REQUIRE(found);
    char directory[FGSF_PATH], path[FGSF_PATH];
    fgsf_run_record record;
    FGSF_TRY(fgsf_run_directory(id, directory, sizeof directory));
    FGSF_TRY(fgsf_path_join(directory, "run.json", path, sizeof path));
    *found = FGSF_FOUND_NOTHING;
    if (access(path, F_OK) != 0) return FGSF_OK;
    bool busy = is_locked(directory); // first: a run that ends in between is then read as finished
    FGSF_TRY(fgsf_run_read_own(directory, &record));
    bool finished = record.status == FGSF_RUN_DONE || record.status == FGSF_RUN_DIVERGED;
    *found = finished ? FGSF_FOUND_FINISHED : busy ? FGSF_FOUND_BUSY : FGSF_FOUND_UNFINISHED;
    return FGSF_OK;
}

// Looks at what the locked directory holds and fills the record that the run starts from.
static fgsf_status inspect(fgsf_run *run, const fgsf_run_id *id, const fgsf_config *cfg,
                           bool resume, fgsf_run_found *found) {
    char path[FGSF_PATH];
    fgsf_run_record *r = &run->record;
    FGSF_TRY(fgsf_run_path(run, "run.json", path, sizeof path));
    if (access(path, F_OK) != 0) {
        *found = FGSF_FOUND_NOTHING;
        snprintf(r->env, sizeof r->env, "%s", id->env);
        snprintf(r->method, sizeof r->method, "%s", id->method);
        snprintf(r->cell, sizeof r->cell, "%s", id->cell ? id->cell : "");
        r->seed = id->seed;
        r->config = *cfg;
        r->config.seed = id->seed;
        return write_record(run);
    }
    FGSF_TRY(fgsf_run_read_own(run->directory, r));
    bool finished = r->status == FGSF_RUN_DONE || r->status == FGSF_RUN_DIVERGED;
    *found = finished ? FGSF_FOUND_FINISHED : FGSF_FOUND_UNFINISHED;
    if (finished) return FGSF_OK;
    if (!resume) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s holds an unfinished run: add --resume to finish it",
                         run->directory);
    }
    run->earlier_seconds = r->progress.seconds;
    r->status = FGSF_RUN_RUNNING;
    r->message[0] = '\0';
    return FGSF_OK; // run.json stays until the run is known to go on
}

fgsf_status fgsf_run_open(const fgsf_run_id *id, const fgsf_config *cfg, bool resume,
                          fgsf_run_found *found, fgsf_run **out) {
    FGSF_REQUIRE(cfg && found && out);
    *out = NULL;
    FGSF_TRY(fgsf_run_check(id, cfg));
    fgsf_run *run = calloc(1, sizeof *run);
    if (!run) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", id->out);
    run->lock = -1;
    fgsf_status status = fgsf_run_directory(id, run->directory, sizeof run->directory);
    if (status == FGSF_OK) status = fgsf_io_make_directory(run->directory);
    if (status == FGSF_OK) status = take_lock(run->directory, &run->lock);
    *found = FGSF_FOUND_BUSY;
    if (status == FGSF_OK) fgsf_io_remove_leftovers(run->directory);
    if (status == FGSF_OK && run->lock >= 0) status = inspect(run, id, cfg, resume, found);
    bool usable = *found == FGSF_FOUND_NOTHING || *found == FGSF_FOUND_UNFINISHED;
    if (status == FGSF_OK && usable) {
        *out = run;
        return FGSF_OK;
    }
    fgsf_run_close(run);
    return status;
}

void fgsf_run_close(fgsf_run *run) {
    if (!run) return;
    if (run->lock >= 0) close(run->lock); // gives the lock back
    free(run);
}

fgsf_status fgsf_run_mark_failed(const fgsf_run_id *id, const char *message) {
    FGSF_REQUIRE(id);
    char path[FGSF_PATH];
    fgsf_run *run = calloc(1, sizeof *run);
    if (!run) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a run");
    run->lock = -1;
    fgsf_status status = fgsf_run_directory(id, run->directory, sizeof run->directory);
    if (status == FGSF_OK) status = fgsf_run_path(run, "run.json", path, sizeof path);
    if (status == FGSF_OK && access(path, F_OK) == 0) {
        status = take_lock(run->directory, &run->lock);
        if (status == FGSF_OK && run->lock >= 0) {
            status = fgsf_run_read_own(run->directory, &run->record);
            if (status == FGSF_OK && run->record.status == FGSF_RUN_RUNNING) {
                status = fgsf_run_finish(run, FGSF_RUN_FAILED, NULL, message);
            }
        }
    }
    fgsf_run_close(run);
    return status;
}
