// Shows a Markdown table of the export on the terminal.
#ifndef FGSF_SHOW_TABLE_H
#define FGSF_SHOW_TABLE_H

#include <stdio.h>

// Prints the file with its columns aligned, without those that are 0 or empty in every row. On a narrow
// terminal the last columns are left out, which a line says.
void fgsf_show_table(FILE *out, const char *path);

#endif
