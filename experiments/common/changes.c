// Compares configurations with the usual settings of their methods.
#include "changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const fgsf_config *a, const fgsf_config *b, const char *key) {
    char x[FGSF_TEXT_SIZE] = "", y[FGSF_TEXT_SIZE] = "";
    fgsf_config_get(a, key, x, sizeof x);
    fgsf_config_get(b, key, y, sizeof y);
    return strcmp(x, y) == 0;
}

// Whether b has not the value of a setting that a changed. Without usual settings there is nothing to go
// by.
static bool lacks_change(const fgsf_config *a, const fgsf_config *b, char *key, size_t size) {
    char *changes = fgsf_config_changes(a);
    bool lacks = false;
    for (const char *next = changes; next && !lacks; next = strstr(next, ", ")) {
        next += 2 * (next != changes);
        snprintf(key, size, "%.*s", (int)strcspn(next, "="), next);
        lacks = !same(a, b, key);
    }
    free(changes);
    return lacks;
}

bool fgsf_changes_conflict(const fgsf_config *a, const fgsf_config *b, char *key, size_t size) {
    snprintf(key, size, "preset");
    return !same(a, b, key) || lacks_change(a, b, key, size) || lacks_change(b, a, key, size);
}
