// CSV files of a run: appended row by row, cut back to the last checkpoint when a run is resumed.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "number.h"

struct fgsf_csv {
    char path[FGSF_PATH];
    FILE *file;
};

static fgsf_status csv_error(const char *path, const char *action) {
    return fgsf_fail(FGSF_ERR_IO, "%s: cannot %s: %s", path, action, strerror(errno));
}

// Reads the step at the start of a row.
static bool row_step(const char *line, int64_t *step) {
    size_t digits = strspn(line, "0123456789");
    if (digits == 0 || digits > 18 || (line[digits] != ',' && line[digits] != '\n')) return false;
    *step = strtoll(line, NULL, 10);
    return true;
}

// Finds the length of what stays: the header and the rows up to `last_step`. A last line without
// its newline was cut by a crash and goes.
static fgsf_status kept_length(FILE *file, const char *path, const char *header, int64_t last_step,
                               off_t *length) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    int64_t step = 0, previous = -1;
    long number = 0;
    fgsf_status status = FGSF_OK;
    *length = 0;
    while ((n = getline(&line, &capacity, file)) > 0 && line[n - 1] == '\n') {
        number++;
        if (number == 1) {
            size_t size = strlen(header);
            if ((size_t)n != size + 1 || memcmp(line, header, size) != 0) {
                status =
                    fgsf_fail(FGSF_ERR_FORMAT, "%s: line 1: expected the columns %s", path, header);
                break;
            }
        } else if (!row_step(line, &step) || step < previous) {
            status =
                fgsf_fail(FGSF_ERR_FORMAT, "%s: line %ld: not a row of this table", path, number);
            break;
        } else if (step > last_step) {
            break;
        }
        previous = number == 1 ? -1 : step;
        *length += n;
    }
    if (status == FGSF_OK && ferror(file)) status = csv_error(path, "read");
    if (status == FGSF_OK && number == 0) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s: line 1: expected the columns %s", path, header);
    }
    free(line);
    return status;
}

static fgsf_status start_anew(fgsf_csv *csv, const char *header) {
    csv->file = fopen(csv->path, "we");
    if (!csv->file) return csv_error(csv->path, "write");
    return fgsf_csv_row(csv, "%s", header);
}

static fgsf_status cut_back(fgsf_csv *csv, const char *header, int64_t last_step) {
    off_t length = 0;
    csv->file = fopen(csv->path, "r+e");
    if (!csv->file) return csv_error(csv->path, "open");
    fgsf_status status = kept_length(csv->file, csv->path, header, last_step, &length);
    if (status != FGSF_OK) return status;
    if (ftruncate(fileno(csv->file), length) != 0) return csv_error(csv->path, "cut");
    if (fseeko(csv->file, length, SEEK_SET) != 0) return csv_error(csv->path, "cut");
    return FGSF_OK;
}

fgsf_status fgsf_csv_open(const fgsf_run *run, const char *name, const char *header,
                          int64_t last_step, fgsf_csv **out) {
    if (!run || !name || !header || !out) {
        return fgsf_fail(FGSF_ERR_INVALID, "fgsf_csv_open: an argument is NULL");
    }
    fgsf_csv *csv = calloc(1, sizeof *csv);
    if (!csv) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", name);
    fgsf_status status = fgsf_run_path(run, name, csv->path, sizeof csv->path);
    if (status == FGSF_OK) {
        status = last_step < 0 ? start_anew(csv, header) : cut_back(csv, header, last_step);
    }
    if (status == FGSF_OK) status = fgsf_csv_sync(csv);
    if (status == FGSF_OK) {
        setvbuf(csv->file, NULL, _IOLBF, 0); // whoever looks sees every row at once
        *out = csv;
        return FGSF_OK;
    }
    if (csv->file) fclose(csv->file);
    free(csv);
    return status;
}

fgsf_status fgsf_csv_row(fgsf_csv *csv, const char *format, ...) {
    va_list args;
    locale_t before = fgsf_number_begin();
    va_start(args, format);
    int n = vfprintf(csv->file, format, args);
    va_end(args);
    fgsf_number_end(before);
    if (n < 0 || putc('\n', csv->file) == EOF) return csv_error(csv->path, "write");
    return FGSF_OK;
}

fgsf_status fgsf_csv_sync(fgsf_csv *csv) {
    if (fflush(csv->file) != 0 || ferror(csv->file)) return csv_error(csv->path, "write");
    if (fsync(fileno(csv->file)) != 0) return csv_error(csv->path, "sync");
    return FGSF_OK;
}

fgsf_status fgsf_csv_close(fgsf_csv *csv) {
    if (!csv) return FGSF_OK;
    fgsf_status status = fgsf_csv_sync(csv);
    if (fclose(csv->file) != 0 && status == FGSF_OK) status = csv_error(csv->path, "write");
    free(csv);
    return status;
}
