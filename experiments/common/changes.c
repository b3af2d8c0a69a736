// Compares configurations with the usual settings of their methods.
#include "changes.h"

#include <stdio.h>
#include <string.h>

bool fgsf_change_counts(const char *key) {
    static const char *const labels[] = {"seed",       "method",          "preset",
                                         "env.name",   "train.log_every", "train.checkpoint_every",
                                         "env.layout", "diag.",           "device."};
    size_t n = strcspn(key, "=");
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        size_t length = strlen(labels[i]);
        bool group = labels[i][length - 1] == '.';
        if (strncmp(labels[i], key, length) == 0 && (group || n == length)) return false;
    }
    return true;
}

static bool same(const fgsf_config *a, const fgsf_config *b, const char *key) {
    char x[FGSF_TEXT_SIZE] = "", y[FGSF_TEXT_SIZE] = "";
    fgsf_config_get(a, key, x, sizeof x);
    fgsf_config_get(b, key, y, sizeof y);
    return strcmp(x, y) == 0;
}

// The settings of a configuration's method before anything was changed.
static bool usual_of(const fgsf_config *cfg, fgsf_config *out) {
    char preset[32] = "", method[64] = "";
    fgsf_config_get(cfg, "preset", preset, sizeof preset);
    fgsf_config_get(cfg, "method", method, sizeof method);
    return fgsf_config_resolve(cfg->env.name, preset, method, out) == FGSF_OK;
}

bool fgsf_changes_conflict(const fgsf_config *a, const fgsf_config *b, char *key, size_t size) {
    fgsf_config usual_a, usual_b;
    const fgsf_key *row;
    if (!usual_of(a, &usual_a) || !usual_of(b, &usual_b)) return false; // nothing to go by
    snprintf(key, size, "preset");
    if (!same(a, b, key)) return true;
    for (size_t i = 0; (row = fgsf_config_key_at(a, i)); i++) {
        const char *name = row->name;
        bool changed = !same(a, &usual_a, name) || !same(b, &usual_b, name);
        snprintf(key, size, "%s", name);
        if (changed && fgsf_change_counts(name) && !same(a, b, name)) return true;
    }
    return false;
}
