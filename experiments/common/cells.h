// What a study runs: its cells, times the values of each --grid, times the methods.
//
//     fgsf_variant *variants = NULL;
//     int count = fgsf_cells_expand(&cli, &variants);      // -1 after a message
//     ...
//     fgsf_cells_free(variants);
//
// A variant is named after its cell and its values: "semi+sf.lr=3e-4". Keys of successor features are
// not varied for DQN, and the other way round: sf.lr leaves dqn as it is. Join keys that change together
// with '/', and their values too: sf.lr/sf.lr_prior=1e-4/1e-6,3e-4/3e-6. Write a list of numbers with
// 'x': net.hidden=64x64,256x256.
#ifndef FGSF_CELLS_H
#define FGSF_CELLS_H

#include "fgsf/run.h"

#include "cli.h"

#define FGSF_GRID_KEYS 4 // of one --grid
#define FGSF_VARIANT_SETTINGS (FGSF_CELL_SETTINGS + FGSF_CLI_MAX_GRIDS * FGSF_GRID_KEYS)

// One line of a study: a method and the settings that it changes.
typedef struct fgsf_variant {
    const char *method, *about;
    char cell[FGSF_RUN_NAME]; // "" without changes
    fgsf_setting settings[FGSF_VARIANT_SETTINGS];
    int num_settings;
} fgsf_variant;

// Makes the variants that --methods, --cells and --grid choose; returns how many, or -1 after a line
// that says what is wrong.
int fgsf_cells_expand(const fgsf_cli *cli, fgsf_variant **out);

// Prints them, for --cells list.
void fgsf_cells_print(const fgsf_variant *variants, int count);

void fgsf_cells_free(fgsf_variant *variants);

#endif
