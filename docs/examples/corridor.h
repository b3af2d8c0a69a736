// Corridor: seven cells in a row with an exit at either end. The smallest complete environment, to be
// copied when you write your own; docs/environments.md explains it.
#ifndef FGSF_CORRIDOR_H
#define FGSF_CORRIDOR_H

#include "fgsf/env.h"

#define CORRIDOR_CELLS 7

extern const fgsf_env_def fgsf_corridor_def;

#endif
