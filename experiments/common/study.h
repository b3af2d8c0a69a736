// A study: the variants of a driver times seeds, each one run in a process of its own.
//
//     static const fgsf_cli_spec spec = {"four_rooms", "Four Rooms.", "four_rooms", methods};
//     int main(int argc, char **argv) { return fgsf_study_main(&spec, argc, argv); }
//
// A run trains, checkpoints, evaluates and leaves its run directory. Afterwards OUT/summary.csv is
// rebuilt and the figures are drawn into OUT/export.
#ifndef FGSF_STUDY_H
#define FGSF_STUDY_H

#include "cli.h"

// Reads the command line, runs what it asks for and returns the driver's exit code.
int fgsf_study_main(const fgsf_cli_spec *spec, int argc, char **argv);

#endif
