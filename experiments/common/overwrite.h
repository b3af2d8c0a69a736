// --overwrite: deletes runs, after its user has said by name which folder is meant.
#ifndef FGSF_OVERWRITE_H
#define FGSF_OVERWRITE_H

#include <stdbool.h>

#include "cells.h"

// Deletes every seed of these variants in OUT. On a terminal it asks for the name of OUT first, unless
// --overwrite=NAME gave it; elsewhere that form is needed. Returns false, after a line that says why,
// when nothing was deleted although something is there.
bool fgsf_overwrite(const fgsf_cli *cli, const fgsf_variant *variants, int count);

#endif
