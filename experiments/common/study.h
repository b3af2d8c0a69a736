// A study: variants (method and settings) times seeds, each one run in a process of its own.
//
//     static const fgsf_setting b0[] = {{NULL, "gradient.kind", "semi"}};
//     static const fgsf_variant variants[] = {{"sfrql", "B0", b0, 1}};
//     return fgsf_study_run(&cli, variants, 1);
//
// A run trains, checkpoints, evaluates and leaves its run directory; afterwards OUT/summary.csv is
// rebuilt and the figures are drawn into OUT/export.
#ifndef FGSF_STUDY_H
#define FGSF_STUDY_H

#include "cli.h"

#define FGSF_STUDY_MAX_VARIANTS 64

// One line of a study. `cell` tells variants of one method apart ("" without).
typedef struct fgsf_variant {
    const char *method, *cell;
    const fgsf_setting *settings;
    int num_settings;
} fgsf_variant;

// Keeps, in place, the variants whose cells stand in the comma-separated list (all when it is empty) and
// returns how many; or says which cell does not exist and returns -1.
int fgsf_study_choose(const fgsf_cli *cli, const char *cells, fgsf_variant *variants, int count);

// Runs all variants with all seeds of the command line; returns the driver's exit code.
int fgsf_study_run(const fgsf_cli *cli, const fgsf_variant *variants, int num_variants);

// Runs the methods of the command line, as they are.
int fgsf_study_run_methods(const fgsf_cli *cli);

#endif
