// One table, written as CSV and as Markdown from the same cells (table.c).
//
//     table t;
//     TRY(table_open(&t));
//     cell_text(&t, "method", "dqn");
//     cell_number(&t, "paper", 0.04);
//     table_end_row(&t);
//     fgsf_status status = table_write(e, &t, "four_rooms_returns", "four_rooms", "Returns");
//     table_free(&t);
#ifndef FGSF_NOTEBOOKS_TABLE_H
#define FGSF_NOTEBOOKS_TABLE_H

#include "export.h"

#define TABLE_STREAMS 5

typedef struct table {
    FILE *stream[TABLE_STREAMS];
    char *text[TABLE_STREAMS];
    size_t size[TABLE_STREAMS];
    size_t rows, cells;
} table;

fgsf_status table_open(table *t);
void table_free(table *t);
void cell_text(table *t, const char *column, const char *text);
void cell_number(table *t, const char *column, double x); // empty for NAN
// Empty without seeds, the value alone with one.
void cell_interval(table *t, const char *column, fgsf_stats_interval x, size_t seeds);
void table_end_row(table *t);
// Writes tables/NAME.csv and tables/NAME.md and takes note of them; an empty table is not written.
fgsf_status table_write(exporter *e, table *t, const char *name, const char *about,
                        const char *caption);

#endif
