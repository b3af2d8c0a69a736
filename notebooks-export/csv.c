// Reads CSV files strictly: a header, then rows of equally many fields, columns found by name.
// Lines that begin with # are notes. What is wrong is reported with file, line and column.
#include <math.h>
#include <string.h>

#include "export.h"
#include "number.h"

// Ends the line at `text` and returns where the next one begins.
static char *cut_line(char *text) {
    char *end = strchr(text, '\n');
    char *next = end + 1;
    if (end > text && end[-1] == '\r') end--;
    *end = '\0';
    return next;
}

// Takes one field off *rest in place, unquoting it; *rest is NULL behind the last field.
static fgsf_status take_field(const char *path, size_t line, char **rest, char **out) {
    char *from = *rest;
    if (*from != '"') {
        char *comma = strchr(from, ',');
        *out = from;
        *rest = comma ? comma + 1 : NULL;
        if (comma) *comma = '\0';
        return FGSF_OK;
    }
    char *to = from++;
    *out = to;
    while (*from && !(from[0] == '"' && from[1] != '"')) {
        if (*from == '"') from++;
        *to++ = *from++;
    }
    if (*from != '"' || (from[1] != ',' && from[1] != '\0')) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: a quoted field does not end", path, line);
    }
    *rest = from[1] == ',' ? from + 2 : NULL;
    *to = '\0';
    return FGSF_OK;
}

static fgsf_status read_header(csv *t, char *text, size_t line) {
    for (char *rest = text; rest;) {
        char *name = NULL;
        TRY(take_field(t->path, line, &rest, &name));
        if (*name == '\0') {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: column %zu has no name", t->path, line,
                             t->columns.n + 1);
        }
        if (csv_find(t, name, NULL)) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: column '%s' occurs twice", t->path, line,
                             name);
        }
        names_add(&t->columns, name);
    }
    return FGSF_OK;
}

static fgsf_status read_row(csv *t, char *text, size_t line) {
    size_t n = 0;
    char **fields = pool_get(t->columns.n, sizeof *fields);
    for (char *rest = text; rest; n++) {
        char *field = NULL;
        TRY(take_field(t->path, line, &rest, &field));
        if (n < t->columns.n) fields[n] = field;
    }
    if (n != t->columns.n) {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: %zu fields where the header has %zu", t->path,
                         line, n, t->columns.n);
    }
    pool_push(&t->row, &t->rows, &(csv_row){line, fields}, sizeof *t->row);
    return FGSF_OK;
}

// Control characters would break messages and figures, and no file of ours has any.
static fgsf_status check_text(const char *path, const char *text, size_t size) {
    size_t line = 1;
    for (size_t i = 0; i < size; i++) {
        bool is_end = text[i] == '\n' || (text[i] == '\r' && text[i + 1] == '\n');
        if ((unsigned char)text[i] < ' ' && text[i] != '\t' && !is_end) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: a control character", path, line);
        }
        line += text[i] == '\n';
    }
    if (size && text[size - 1] != '\n') {
        return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: the last line is cut short", path, line);
    }
    return FGSF_OK;
}

fgsf_status csv_read(const char *path, csv *out) {
    char *text = NULL;
    size_t size = 0;
    TRY(file_read(path, &text, &size));
    return csv_parse(path, text, size, out);
}

fgsf_status csv_parse(const char *path, char *text, size_t size, csv *out) {
    csv t = {.path = path};
    TRY(check_text(path, text, size));
    for (size_t line = 1; *text; line++) {
        char *next = cut_line(text);
        if (*text == '#') {
            names_add(&t.notes, text + 1);
        } else if (*text && t.columns.n == 0) {
            TRY(read_header(&t, text, line));
        } else if (*text) {
            TRY(read_row(&t, text, line));
        }
        text = next;
    }
    if (t.columns.n == 0) return fgsf_fail(FGSF_ERR_FORMAT, "%s: empty, not even a header", path);
    *out = t;
    return FGSF_OK;
}

bool csv_find(const csv *t, const char *name, size_t *col) {
    return names_find(&t->columns, name, col);
}

fgsf_status csv_need(const csv *t, const char *wanted, size_t *cols) {
    for (; *wanted; cols++) {
        int length = (int)strcspn(wanted, ",");
        const char *name = pool_printf("%.*s", length, wanted);
        if (!csv_find(t, name, cols)) {
            return fgsf_fail(FGSF_ERR_FORMAT, "%s: no column '%s'", t->path, name);
        }
        wanted += length + (wanted[length] == ',');
    }
    return FGSF_OK;
}

const char *csv_text(const csv *t, size_t row, size_t col) {
    return t->row[row].field[col];
}

fgsf_status csv_fail(const csv *t, size_t row, size_t col, const char *what) {
    return fgsf_fail(FGSF_ERR_FORMAT, "%s:%zu: column '%s': '%s' %s", t->path, t->row[row].line,
                     t->columns.v[col], csv_text(t, row, col), what);
}

fgsf_status csv_maybe(const csv *t, size_t row, size_t col, double *out) {
    const char *text = csv_text(t, row, col);
    char *end = NULL;
    if (*text == '\0') {
        *out = NAN;
        return FGSF_OK;
    }
    double value = fgsf_number_scan(text, &end);
    if (end == text || *end != '\0') return csv_fail(t, row, col, "is not a number");
    *out = isfinite(value) ? value : NAN;
    return FGSF_OK;
}

fgsf_status csv_number(const csv *t, size_t row, size_t col, double *out) {
    double value = NAN;
    TRY(csv_maybe(t, row, col, &value));
    if (isnan(value)) return csv_fail(t, row, col, "is not a finite number");
    *out = value;
    return FGSF_OK;
}

const char *csv_note(const csv *t, const char *key, const char *otherwise) {
    size_t length = strlen(key);
    for (size_t i = 0; i < t->notes.n; i++) {
        const char *text = t->notes.v[i] + strspn(t->notes.v[i], " ");
        if (strncmp(text, key, length) == 0 && text[length] == ':') {
            return text + length + 1 + strspn(text + length + 1, " ");
        }
    }
    return otherwise;
}
