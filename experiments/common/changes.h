// Which runs may be compared: those that differ in their methods alone.
#ifndef FGSF_CHANGES_H
#define FGSF_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "fgsf/config.h"

// Returns whether a change of this key (the text up to '=') makes other runs of it. Logging,
// diagnostics and the device do not.
bool fgsf_change_counts(const char *key);

// Returns whether two runs must not be compared: their presets differ, or a key does that one of them
// changed of its method's settings. `key` then gets the first such key.
bool fgsf_changes_conflict(const fgsf_config *a, const fgsf_config *b, char *key, size_t size);

#endif
