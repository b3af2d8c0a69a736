// A guess of what a run costs, to start the long ones first.
#ifndef FGSF_COST_H
#define FGSF_COST_H

#include "fgsf/config.h"

// Returns a number that grows with the run's work: steps x networks updated per step x rows per
// update x parameters. Only its order means anything.
double fgsf_cost_of_run(const fgsf_config *cfg);

// Returns the number of environment steps of a run.
double fgsf_cost_steps(const fgsf_config *cfg);

#endif
