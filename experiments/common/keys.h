// The key table for people: as text for --list-keys, as Markdown for docs/config.md.
#ifndef FGSF_KEYS_H
#define FGSF_KEYS_H

#include <stdbool.h>
#include <stdio.h>

#include "fgsf/config.h"

// Prints every key with its default, range and meaning.
void fgsf_keys_print(FILE *out);

// Prints docs/config.md: keys, what presets and methods set, and the environments' tables. Returns
// false when a table is wrong (fgsf_last_error).
bool fgsf_keys_markdown(FILE *out);

#endif
