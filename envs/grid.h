// A rectangular map of characters, as every maze of this folder is given.
//
// The text is one line per row, top row first; an empty line or the end of the text ends the map,
// and what follows it belongs to the environment. Not public: shared by the mazes only.
#ifndef FGSF_ENVS_GRID_H
#define FGSF_ENVS_GRID_H

#include "fgsf/status.h"

#define FGSF_GRID_MAX 256 // rows and columns

typedef struct fgsf_grid {
    int rows, cols;
    char *cells; // (rows, cols), owned
} fgsf_grid;

// Reads a whole file as text, to be freed with free(), with a checksum of it that is not 0. `key` names it
// in messages.
fgsf_status fgsf_grid_read_text(const char *path, const char *key, char **out, int *checksum);

// Parses the map at the start of `text`. Every character must be one of `alphabet`; `source` names
// the text in messages. `rest` (may be NULL) receives what follows the map.
fgsf_status fgsf_grid_parse(const char *text, const char *source, const char *alphabet,
                            fgsf_grid *out, const char **rest);

void fgsf_grid_free(fgsf_grid *grid);

// Returns how many cells hold the character, and stores the last one's place (either may be NULL).
int fgsf_grid_count(const fgsf_grid *grid, char what, int *row, int *col);

static inline char fgsf_grid_at(const fgsf_grid *grid, int row, int col) {
    return grid->cells[row * grid->cols + col];
}

#endif
