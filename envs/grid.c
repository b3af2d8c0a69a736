// Reading maps. Knows nothing of what the characters mean.
#include "grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT (1 << 20) // bytes; a map is a few hundred

fgsf_status fgsf_grid_read_text(const char *path, const char *key, char **out) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return fgsf_fail(FGSF_ERR_IO, "%s: cannot open '%s': %s", key, path, strerror(errno));
    char *text = malloc(MAX_TEXT + 1);
    if (!text) {
        fclose(file);
        return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", key);
    }
    size_t length = fread(text, 1, MAX_TEXT + 1, file);
    int broken = ferror(file);
    fclose(file);
    fgsf_status status = FGSF_OK;
    if (broken) {
        status = fgsf_fail(FGSF_ERR_IO, "%s: cannot read '%s'", key, path);
    } else if (length > MAX_TEXT) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' is larger than a megabyte", key, path);
    } else if (memchr(text, '\0', length)) {
        status = fgsf_fail(FGSF_ERR_FORMAT, "%s: '%s' is not a text file", key, path);
    }
    if (status != FGSF_OK) {
        free(text);
        return status;
    }
    text[length] = '\0';
    *out = text;
    return FGSF_OK;
}

// The length of a line without its end, be that \n or \r\n.
static size_t line_length(const char *line) {
    return strcspn(line, "\r\n");
}

static const char *next_line(const char *line) {
    line += line_length(line);
    if (*line == '\r') line++;
    if (*line == '\n') line++;
    return line;
}

static fgsf_status check_row(const char *line, size_t length, size_t cols, int row,
                             const char *source, const char *alphabet) {
    if (length != cols) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: row %d has %zu cells, row 0 has %zu", source, row,
                         length, cols);
    }
    size_t good = strspn(line, alphabet);
    if (good < length) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: row %d, column %zu: '%c' is not one of \"%s\"",
                         source, row, good, line[good], alphabet);
    }
    return FGSF_OK;
}

fgsf_status fgsf_grid_parse(const char *text, const char *source, const char *alphabet,
                            fgsf_grid *out, const char **rest) {
    size_t cols = line_length(text);
    if (cols == 0) return fgsf_fail(FGSF_ERR_FORMAT, "%s: the map is empty", source);
    int rows = 0;
    const char *end = text;
    for (; line_length(end) > 0; end = next_line(end), rows++) {
        fgsf_status status = check_row(end, line_length(end), cols, rows, source, alphabet);
        if (status != FGSF_OK) return status;
    }
    if (rows > FGSF_GRID_MAX || cols > FGSF_GRID_MAX) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s: a map of %d x %zu cells is larger than %d x %d",
                         source, rows, cols, FGSF_GRID_MAX, FGSF_GRID_MAX);
    }
    char *cells = malloc((size_t)rows * cols);
    if (!cells) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", source);
    for (int row = 0; row < rows; row++, text = next_line(text)) {
        memcpy(cells + (size_t)row * cols, text, cols);
    }
    *out = (fgsf_grid){.rows = rows, .cols = (int)cols, .cells = cells};
    if (rest) *rest = next_line(end);
    return FGSF_OK;
}

void fgsf_grid_free(fgsf_grid *grid) {
    free(grid->cells);
    *grid = (fgsf_grid){0};
}

int fgsf_grid_count(const fgsf_grid *grid, char what, int *row, int *col) {
    int count = 0;
    for (int i = 0; i < grid->rows * grid->cols; i++) {
        if (grid->cells[i] != what) continue;
        count++;
        if (row) *row = i / grid->cols;
        if (col) *col = i % grid->cols;
    }
    return count;
}
