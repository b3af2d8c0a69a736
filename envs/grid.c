// Reading maps. Knows nothing of what the characters mean.
#include "grid.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"

#define MAX_TEXT (1 << 20) // bytes; a map is a few hundred

fgsf_status fgsf_grid_read_text(const char *path, const char *key, char **out, int *checksum) {
    size_t length = 0;
    fgsf_status status = fgsf_io_read(path, MAX_TEXT, out, &length);
    if (status == FGSF_OK) {
        *checksum = 1 + (int)(fgsf_hash(FGSF_HASH_START, *out, length) % INT_MAX);
        return FGSF_OK;
    }
    char message[1536];
    snprintf(message, sizeof message, "%s", fgsf_last_error());
    return fgsf_fail(status, "%s: %s", key, message);
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
        FGSF_TRY(check_row(end, line_length(end), cols, rows, source, alphabet));
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
