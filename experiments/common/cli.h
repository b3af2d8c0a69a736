// The command line that all drivers share.
//
//     static const char *const methods[] = {"dqn", "sfrql", "fg-sfrql", NULL};
//     static const fgsf_cli_spec spec = {"four_rooms", "Figure 2 of the paper.", .env = "four_rooms",
//                                        .methods = methods};
//     fgsf_cli cli;
//     int code = fgsf_cli_parse(&spec, argc, argv, &cli);
//     if (code != FGSF_CLI_RUN) return code;                 // help was printed, or input was bad
//     for (int m = 0; m < cli.num_methods; m++) {
//         if (!fgsf_cli_config(&cli, cli.methods[m], cell, num, &cfg)) return FGSF_CLI_BAD;
//     }
//
// Bad input is one line on stderr that names the flag and the value, and exit code 2.
#ifndef FGSF_CLI_H
#define FGSF_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "fgsf/config.h"
#include "flags.h"

#define FGSF_CLI_RUN FGSF_FLAGS_RUN
#define FGSF_CLI_BAD FGSF_FLAGS_BAD
#define FGSF_CLI_MAX_METHODS 16
#define FGSF_CLI_MAX_SEEDS 4096
#define FGSF_CLI_MAX_SETS 256
#define FGSF_CLI_MAX_GRIDS 4
#define FGSF_CELL_SETTINGS 8

// One cell of a study: a named change of settings. A setting with a preset holds in that preset only.
typedef struct fgsf_cell {
    const char *name, *method; // method NULL: every method of the command line
    const char *about;
    fgsf_setting settings[FGSF_CELL_SETTINGS];
} fgsf_cell;

#define FGSF_SET(key, value)                                                                       \
    { NULL, key, value }

// What a driver is.
typedef struct fgsf_cli_spec {
    const char *program, *summary;
    const char *env;            // NULL: --env names it
    const char *const *methods; // default ones, NULL at the end
    const fgsf_setting *smoke;  // what --scale smoke sets besides the common values
    int num_smoke;
    const fgsf_cell *cells; // without any, methods run as they are
    int num_cells;
    const char *grid;   // the --grid of a command line without one, or NULL
    const char *preset; // the only preset that the cells are made for, or NULL
} fgsf_cli_spec;

typedef struct fgsf_cli {
    const fgsf_cli_spec *spec;
    const char *env, *preset, *scale;
    bool smoke, resume, quiet, print_config, check_device;
    const char *methods[FGSF_CLI_MAX_METHODS];
    int num_methods;
    int64_t seeds[FGSF_CLI_MAX_SEEDS];
    int num_seeds;
    const char *sets[FGSF_CLI_MAX_SETS]; // key=value, in order
    int num_sets;
    const char *grids[FGSF_CLI_MAX_GRIDS]; // key=a,b,c
    int num_grids;
    const char *cells;  // names with commas, "" for all
    const char *config; // file, or NULL
    const char *out;
    bool out_is_default;
    const char *overwrite; // NULL: no; "": ask for the name of OUT; else that name
    long jobs;             // 0: as many as the cores have room for
    int part, parts;       // --cell K/N: part K-1 of N
    // The pointers above point into these texts or into argv, so do not copy the struct.
    char method_text[512], preset_text[32], device_text[FGSF_TEXT_SIZE + 16], out_text[256];
    char threads_text[40];
} fgsf_cli;

// Reads the command line. Returns FGSF_CLI_RUN, or the exit code after printing what was asked for
// (--help, --list-keys, --list-devices, --check-device) or an error.
int fgsf_cli_parse(const fgsf_cli_spec *spec, int argc, char **argv, fgsf_cli *cli);

// Resolves and validates the configuration of a method: defaults, environment, preset, method,
// scale, the study's own `cell` settings, --config, --set. Prints the error and returns false when
// that fails.
bool fgsf_cli_config(const fgsf_cli *cli, const char *method, const fgsf_setting *cell,
                     int num_cell, fgsf_config *out);

// Prints the configuration that --print-config asks for: of the method and the first seed.
int fgsf_cli_print_config(const fgsf_cli *cli, const char *method, const fgsf_setting *cell,
                          int num_cell);

// Returns whether job `index` belongs to the part that --cell chose.
bool fgsf_cli_mine(const fgsf_cli *cli, int index);

// Prints "program: message" from fgsf_last_error and returns FGSF_CLI_BAD.
int fgsf_cli_fail(const fgsf_cli *cli);

#endif
