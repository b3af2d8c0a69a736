// The figures and tables of a folder of results, drawn by the export tool.
#ifndef FGSF_DRAW_H
#define FGSF_DRAW_H

#include <stdbool.h>

// Makes the folder OUT and its parents. Returns false, after a line that says why, when it cannot be
// written to.
bool fgsf_draw_folder(const char *program, const char *out);

// Draws OUT/export and prints its summary tables and the paths of its figures; `quiet` prints
// nothing. Without the export tool or gnuplot it says so and draws nothing. Returns false when
// drawing failed.
bool fgsf_draw(const char *program, const char *out, bool quiet);

#endif
