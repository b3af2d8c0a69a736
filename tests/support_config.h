// Configurations for tests, and what a key of one says.
#ifndef FGSF_SUPPORT_CONFIG_H
#define FGSF_SUPPORT_CONFIG_H

#include <stdlib.h>

#include "fgsf/config.h"
#include "support_assert.h"

static inline fgsf_config made_for(const char *env, const char *preset, const char *method) {
    fgsf_config cfg;
    memset(&cfg, 0, sizeof cfg);
    if (fgsf_config_resolve(env, preset, method, &cfg) != FGSF_OK) {
        fprintf(stderr, "resolve: %s\n", fgsf_last_error());
        abort();
    }
    return cfg;
}

static inline fgsf_config made(const char *preset, const char *method) {
    return made_for(NULL, preset, method);
}

static inline const char *value_of(const fgsf_config *cfg, const char *key) {
    static char text[FGSF_TEXT_SIZE];
    if (fgsf_config_get(cfg, key, text, sizeof text) != FGSF_OK) return fgsf_last_error();
    return text;
}

#endif
