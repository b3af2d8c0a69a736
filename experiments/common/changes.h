// Decides which runs may be compared: those that differ only in their methods.
#ifndef FGSF_CHANGES_H
#define FGSF_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "fgsf/config.h"

// Returns whether two runs must not be compared: their presets differ, or one of them changed a
// setting that the other does not have. `key` then gets the first such key.
bool fgsf_changes_conflict(const fgsf_config *a, const fgsf_config *b, char *key, size_t size);

#endif
