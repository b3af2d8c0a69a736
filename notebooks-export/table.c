// Writes one table twice, as CSV and as Markdown, from the same cells. An interval is three columns
// in the CSV and one in the Markdown.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { CSV_HEAD, CSV_BODY, MD_HEAD, MD_RULE, MD_BODY };

fgsf_status table_open(table *t) {
    *t = (table){0};
    for (int i = 0; i < TABLE_STREAMS; i++) {
        t->stream[i] = open_memstream(&t->text[i], &t->size[i]);
        if (!t->stream[i]) {
            table_free(t);
            return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
        }
    }
    return FGSF_OK;
}

void table_free(table *t) {
    for (int i = 0; i < TABLE_STREAMS; i++) {
        if (t->stream[i]) fclose(t->stream[i]);
        free(t->text[i]);
    }
    *t = (table){0};
}

// Turns a column's title into its name in the CSV: "paper, std" -> "paper_std".
static void csv_name(const char *title, char *out, size_t size) {
    size_t n = 0;
    for (; *title && n + 1 < size; title++) {
        if (strchr(" -/.", *title)) {
            if (n && out[n - 1] != '_') out[n++] = '_';
        } else if (!strchr(",()'", *title)) {
            out[n++] = *title;
        }
    }
    out[n] = '\0';
}

// Begins a cell in both bodies, and in both heads during the first row. In the CSV an interval has
// three columns.
static void begin(table *t, const char *column, bool interval) {
    static const char *const ENDINGS[] = {"", "_low", "_high"};
    if (t->rows == 0) {
        char name[64];
        csv_name(column, name, sizeof name);
        for (int i = 0; i < (interval ? 3 : 1); i++) {
            fprintf(t->stream[CSV_HEAD], "%s%s%s", t->cells || i ? "," : "", name, ENDINGS[i]);
        }
        fprintf(t->stream[MD_HEAD], "| %s ", column);
        fputs("|---", t->stream[MD_RULE]);
    }
    if (t->cells) fputc(',', t->stream[CSV_BODY]);
    fputs("| ", t->stream[MD_BODY]);
    t->cells++;
}

void cell_text(table *t, const char *column, const char *text) {
    begin(t, column, false);
    csv_put_text(t->stream[CSV_BODY], text);
    for (const char *c = text; *c; c++) {
        if (*c == '|') fputc('\\', t->stream[MD_BODY]);
        fputc(*c, t->stream[MD_BODY]);
    }
    fputc(' ', t->stream[MD_BODY]);
}

// Three digits or so: enough to read, the CSV has them all.
static void put_short(FILE *f, double x) {
    double size = fabs(x);
    int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || x == 0 ? 2 : 3;
    fprintf(f, "%.*f", digits, x);
}

void cell_number(table *t, const char *column, double x) {
    begin(t, column, false);
    csv_put_number(t->stream[CSV_BODY], x);
    if (!isnan(x) && x == floor(x) && fabs(x) < 1e9) {
        fprintf(t->stream[MD_BODY], "%.0f", x);
    } else if (!isnan(x) && x != 0 && fabs(x) < 1e-3) {
        fprintf(t->stream[MD_BODY], "%.1e", x);
    } else if (!isnan(x)) {
        put_short(t->stream[MD_BODY], x);
    }
    fputc(' ', t->stream[MD_BODY]);
}

void cell_interval(table *t, const char *column, fgsf_stats_interval x, size_t seeds) {
    begin(t, column, true);
    bool known = seeds > 1; // one seed has no interval
    csv_put_number(t->stream[CSV_BODY], seeds ? x.value : NAN);
    fputc(',', t->stream[CSV_BODY]);
    csv_put_number(t->stream[CSV_BODY], known ? x.low : NAN);
    fputc(',', t->stream[CSV_BODY]);
    csv_put_number(t->stream[CSV_BODY], known ? x.high : NAN);
    if (seeds) put_short(t->stream[MD_BODY], x.value);
    if (known) {
        fputs(" [", t->stream[MD_BODY]);
        put_short(t->stream[MD_BODY], x.low);
        fputs(", ", t->stream[MD_BODY]);
        put_short(t->stream[MD_BODY], x.high);
        fputs("]", t->stream[MD_BODY]);
    }
    fputc(' ', t->stream[MD_BODY]);
}

void table_end_row(table *t) {
    if (t->rows == 0) {
        fputc('\n', t->stream[CSV_HEAD]);
        fputs("|\n", t->stream[MD_HEAD]);
        fputs("|\n", t->stream[MD_RULE]);
    }
    fputc('\n', t->stream[CSV_BODY]);
    fputs("|\n", t->stream[MD_BODY]);
    t->cells = 0;
    t->rows++;
}

static fgsf_status write_text(exporter *e, const char *name, const char *ending,
                              const char *const *parts, size_t n) {
    FILE *out = NULL;
    const char *path = pool_printf(&e->pool, "%s/tables/%s.%s", e->stage, name, ending);
    TRY(file_open(path, &out));
    for (size_t i = 0; i < n; i++) fputs(parts[i], out);
    return file_close(out, path);
}

fgsf_status table_write(exporter *e, table *t, const char *name, const char *about,
                        const char *caption) {
    bool failed = false;
    if (t->rows == 0) return FGSF_OK;
    for (int i = 0; i < TABLE_STREAMS; i++) {
        failed = fclose(t->stream[i]) != 0 || failed;
        t->stream[i] = NULL;
    }
    if (failed) return fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    const char *title = pool_printf(&e->pool, "### %s: %s\n\n", about, caption);
    const char *const csv_parts[] = {t->text[CSV_HEAD], t->text[CSV_BODY]};
    const char *const md_parts[] = {title, t->text[MD_HEAD], t->text[MD_RULE], t->text[MD_BODY]};
    TRY(write_text(e, name, "csv", csv_parts, 2));
    TRY(write_text(e, name, "md", md_parts, 4));
    made_add(e, (artefact){.name = name, .group = about, .caption = caption});
    return FGSF_OK;
}
