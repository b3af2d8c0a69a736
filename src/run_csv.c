// CSV files of a run: appended row by row, cut back to the last checkpoint when a run is resumed. The
// run's record keeps length and checksum of what was there at the last two syncs; together with run.json
// before state.gguf at each checkpoint, one of them belongs to the state, whenever the process dies.
#include "run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "number.h"
#include "require.h"

#define MAX_ROW 4096

struct fgsf_csv {
    char path[FGSF_PATH];
    FILE *file;
    fgsf_run_file *record; // in the run
    int64_t bytes;
    uint64_t checksum;
};

static fgsf_status csv_error(const char *path, const char *action) {
    return fgsf_fail(FGSF_ERR_IO, "%s: cannot %s: %s", path, action, strerror(errno));
}

fgsf_run_file *fgsf_run_find_file(fgsf_run_record *record, const char *name) {
    size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (plain == 0 || strcmp(name + plain, ".csv") != 0) return NULL;
    for (int i = 0; i < FGSF_RUN_FILES; i++) {
        fgsf_run_file *file = &record->files[i];
        if (strcmp(file->name, name) == 0) return file;
        if (*file->name || strlen(name) >= sizeof file->name) continue;
        snprintf(file->name, sizeof file->name, "%s", name);
        return file;
    }
    return NULL;
}

// ---- Cutting back --------------------------------------------------------------------------------

// Reads the step at the start of a row.
static bool row_step(const char *line, int64_t *step) {
    size_t digits = strspn(line, "0123456789");
    if (digits == 0 || digits > 18 || (line[digits] != ',' && line[digits] != '\n')) return false;
    *step = strtoll(line, NULL, 10);
    return true;
}

// Whether a line is `fields` numbers; nan and inf are numbers.
static bool is_row(const char *line, int fields) {
    for (int i = 0; i < fields; i++) {
        char *end = NULL;
        fgsf_number_scan(line, &end);
        if (end == line || *line == ' ' || *end != (i + 1 < fields ? ',' : '\n')) return false;
        line = end + 1;
    }
    return true;
}

// Counts the bytes that stay: the header and the rows up to `last_step`. A last line without its
// newline was cut by a crash and is dropped.
static fgsf_status measure(fgsf_csv *csv, const char *header, int64_t last_step) {
    char *line = NULL;
    size_t capacity = 0, size = strlen(header);
    int64_t step = -1, previous = -1;
    int fields = 1;
    long number = 0;
    ssize_t n;
    bool good = true;
    for (const char *c = header; *c; c++) fields += *c == ',';
    while (good && (n = getline(&line, &capacity, csv->file)) > 0 && line[n - 1] == '\n') {
        number++;
        if (number == 1) {
            good = (size_t)n == size + 1 && memcmp(line, header, size) == 0;
        } else {
            good = strlen(line) == (size_t)n && row_step(line, &step) && step >= previous &&
                   is_row(line, fields);
        }
        if (step > last_step || !good) break;
        previous = step;
        csv->bytes += n;
        csv->checksum = fgsf_hash(csv->checksum, line, (size_t)n);
    }
    free(line);
    if (ferror(csv->file)) return csv_error(csv->path, "read");
    if (number > 1 && !good) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: line %ld: not a row of this table", csv->path,
                         number);
    }
    if (number == 0 || !good) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: line 1: expected the columns %s", csv->path, header);
    }
    return FGSF_OK;
}

static fgsf_status cut_back(fgsf_csv *csv, const char *header, int64_t last_step) {
    int fd;
    size_t size;
    FGSF_TRY(fgsf_io_open(csv->path, true, &fd, &size));
    csv->file = fdopen(fd, "r+");
    if (!csv->file) {
        close(fd);
        return csv_error(csv->path, "open");
    }
    FGSF_TRY(measure(csv, header, last_step));
    bool known = false;
    for (int i = 0; i < 2; i++) {
        known = known || (csv->record->marks[i].bytes == csv->bytes &&
                          csv->record->marks[i].checksum == csv->checksum);
    }
    if (!known) {
        return fgsf_fail(FGSF_ERR_FORMAT,
                         "%s: its rows up to step %lld are not those that run.json describes",
                         csv->path, (long long)last_step);
    }
    if (ftruncate(fileno(csv->file), csv->bytes) != 0) return csv_error(csv->path, "cut");
    // Rows are appended at the end of the file, so that its length shows if someone has shortened
    // it.
    if (fseeko(csv->file, csv->bytes, SEEK_SET) != 0 || fcntl(fd, F_SETFL, O_APPEND) != 0) {
        return csv_error(csv->path, "cut");
    }
    return FGSF_OK;
}

// ---- Writing -------------------------------------------------------------------------------------

static fgsf_status start_anew(fgsf_csv *csv, const char *header) {
    unlink(csv->path); // a link or a pipe in its place is not written through
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(csv->path, flags, 0666);
    csv->file = fd < 0 ? NULL : fdopen(fd, "a");
    if (!csv->file && fd >= 0) close(fd);
    return csv->file ? fgsf_csv_row(csv, "%s", header) : csv_error(csv->path, "write");
}

fgsf_status fgsf_csv_open(fgsf_run *run, const char *name, const char *header, int64_t last_step,
                          fgsf_csv **out) {
    FGSF_REQUIRE(run && name && header && out);
    fgsf_csv *csv = calloc(1, sizeof *csv);
    if (!csv) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", name);
    csv->checksum = FGSF_HASH_START;
    csv->record = fgsf_run_find_file(&run->record, name);
    fgsf_status status = fgsf_run_path(run, name, csv->path, sizeof csv->path);
    if (status == FGSF_OK && !csv->record) {
        status =
            fgsf_fail(FGSF_ERR_INVALID,
                      "%s: not a plain NAME.csv of less than 32 bytes, or the run has %d CSV files",
                      csv->path, FGSF_RUN_FILES);
    }
    if (status == FGSF_OK && last_step > run->record.progress.steps) {
        status =
            fgsf_fail(FGSF_ERR_FORMAT, "%s: to go on at step %lld, but run.json is of step %lld",
                      csv->path, (long long)last_step, (long long)run->record.progress.steps);
    }
    if (status == FGSF_OK) {
        status = last_step < 0 ? start_anew(csv, header) : cut_back(csv, header, last_step);
    }
    if (status == FGSF_OK) {
        memset(csv->record->marks, 0, sizeof csv->record->marks);
        status = fgsf_csv_sync(csv);
    }
    if (status == FGSF_OK) {
        *out = csv;
        return FGSF_OK;
    }
    if (csv->file) fclose(csv->file);
    free(csv);
    return status;
}

fgsf_status fgsf_csv_row(fgsf_csv *csv, const char *format, ...) {
    FGSF_REQUIRE(csv && format);
    char line[MAX_ROW];
    va_list args;
    locale_t before = fgsf_number_begin();
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fgsf_number_end(before);
    if (n < 0 || n >= MAX_ROW - 1) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s: a row is longer than %d bytes", csv->path, MAX_ROW);
    }
    line[n++] = '\n';
    if (fwrite(line, 1, (size_t)n, csv->file) != (size_t)n) return csv_error(csv->path, "write");
    csv->bytes += n;
    csv->checksum = fgsf_hash(csv->checksum, line, (size_t)n);
    return FGSF_OK;
}

fgsf_status fgsf_csv_sync(fgsf_csv *csv) {
    FGSF_REQUIRE(csv);
    struct stat ours, there;
    fgsf_run_file *record = csv->record;
    if (fflush(csv->file) != 0 || ferror(csv->file)) return csv_error(csv->path, "write");
    if (fsync(fileno(csv->file)) != 0) return csv_error(csv->path, "sync");
    if (fstat(fileno(csv->file), &ours) != 0) return csv_error(csv->path, "read");
    if (lstat(csv->path, &there) != 0 || ours.st_ino != there.st_ino ||
        ours.st_dev != there.st_dev || ours.st_size != csv->bytes) {
        return fgsf_fail(FGSF_ERR_IO, "%s: was removed, replaced or changed by someone else",
                         csv->path);
    }
    if (record->marks[0].bytes != csv->bytes) {
        record->marks[1] = record->marks[0];
        record->marks[0].bytes = csv->bytes;
        record->marks[0].checksum = csv->checksum;
    }
    return FGSF_OK;
}

fgsf_status fgsf_csv_close(fgsf_csv *csv) {
    if (!csv) return FGSF_OK;
    fgsf_status status = fgsf_csv_sync(csv);
    if (fclose(csv->file) != 0 && status == FGSF_OK) status = csv_error(csv->path, "write");
    free(csv);
    return status;
}

// ---- Verifying -----------------------------------------------------------------------------------

fgsf_status fgsf_csv_verify(const char *directory, const fgsf_run_record *record) {
    bool finished = record->status == FGSF_RUN_DONE || record->status == FGSF_RUN_DIVERGED;
    for (int i = 0; finished && i < FGSF_RUN_FILES; i++) {
        char path[FGSF_PATH], *text = NULL;
        const fgsf_run_file *file = &record->files[i];
        size_t length = 0;
        if (!*file->name) continue;
        fgsf_status status = fgsf_path_join(directory, file->name, path, sizeof path);
        if (status == FGSF_OK) status = fgsf_io_read(path, FGSF_MAX_CSV, &text, &length);
        bool same = status == FGSF_OK && (int64_t)length == file->marks[0].bytes &&
                    fgsf_hash(FGSF_HASH_START, text, length) == file->marks[0].checksum;
        free(text);
        if (status == FGSF_ERR_MEMORY) return status;
        if (!same) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: is not the file that run.json describes", path);
        }
    }
    return FGSF_OK;
}
