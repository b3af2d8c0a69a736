// Loads shared objects with environments and networks in them.
#include "plugins.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "fgsf/envs.h"

#include "say.h"

typedef fgsf_status register_function(void);

static char watching[4096] = "experiments/run watch"; // the command, for fgsf_plugins_watch

static bool load(const char *program, const char *path) {
    // A name without a slash would be searched for in the system's folders.
    char local[4096];
    snprintf(local, sizeof local, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *object = dlopen(local, RTLD_NOW | RTLD_LOCAL);
    void *symbol = object ? dlsym(object, "fgsf_plugin_register") : NULL;
    if (!symbol) {
        fgsf_say("%s: --plugin '%.200s': %s", program, path, dlerror());
        return false;
    }
    register_function *function;
    memcpy(&function, &symbol, sizeof function); // ISO C has no cast between the two
    if (function() == FGSF_OK) return true;
    const char *why = fgsf_last_error();
    fgsf_say("%s: --plugin '%.200s': %s", program, path,
             *why ? why : "fgsf_plugin_register failed without a message");
    return false;
}

const char *fgsf_plugins_watch(void) {
    return watching;
}

bool fgsf_plugins_load(const char *program, int *argc, char **argv) {
    const char *slash = *argc > 0 ? strrchr(argv[0], '/') : NULL;
    bool installed = *argc > 0 && strncmp(slash ? slash + 1 : argv[0], "fgsf-", 5) == 0;
    if (installed) strcpy(watching, "fgsf-watch");
    int kept = 1;
    if (fgsf_envs_register() != FGSF_OK) {
        fgsf_say("%s: %s", program, fgsf_last_error());
        return false;
    }
    for (int i = 1; i < *argc; i++) {
        bool joined = strncmp(argv[i], "--plugin=", 9) == 0;
        if (!joined && strcmp(argv[i], "--plugin") != 0) {
            argv[kept++] = argv[i];
            continue;
        }
        const char *path = joined ? argv[i] + 9 : i + 1 < *argc ? argv[++i] : "";
        if (!*path) {
            fgsf_say("%s: --plugin needs a file", program);
            return false;
        }
        if (!load(program, path)) return false;
        size_t used = strlen(watching);
        snprintf(watching + used, sizeof watching - used, " --plugin '%s'", path);
    }
    argv[kept] = NULL;
    *argc = kept;
    return true;
}
