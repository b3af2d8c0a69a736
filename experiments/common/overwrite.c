// Finds the run directories of some variants, asks, and removes them.
#include "overwrite.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fgsf/run.h"

#include "say.h"

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}

// The folder of all seeds of a variant, OUT/ENV/METHOD[@CELL].
static bool family_of(const fgsf_cli *cli, const fgsf_variant *v, char *path, size_t size) {
    fgsf_run_id id = {cli->out, cli->env, v->method, v->cell, 0};
    if (fgsf_run_directory(&id, path, size) != FGSF_OK) return false;
    *strrchr(path, '/') = '\0';
    return true;
}

// The last part of OUT, without slashes behind it.
static void name_of(const char *out, char *name, size_t size) {
    size_t end = strlen(out);
    while (end > 1 && out[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && out[start - 1] != '/') start--;
    snprintf(name, size, "%.*s", (int)(end - start), out + start);
}

static bool confirmed(const fgsf_cli *cli, const char *name, int found) {
    char typed[256] = "";
    if (!*cli->overwrite && isatty(STDIN_FILENO)) {
        fprintf(stderr,
                "%s: this deletes all seeds of %d method%s in %s\n"
                "type %s to go on: ",
                cli->spec->program, found, found == 1 ? "" : "s or cells", cli->out, name);
        if (!fgets(typed, sizeof typed, stdin)) typed[0] = '\0';
        typed[strcspn(typed, "\n")] = '\0';
    } else if (!*cli->overwrite) {
        fgsf_say("%s: --overwrite deletes all seeds of %d method%s in %s: write --overwrite=%s to "
                 "confirm",
                 cli->spec->program, found, found == 1 ? "" : "s or cells", cli->out, name);
        return false;
    } else {
        snprintf(typed, sizeof typed, "%s", cli->overwrite);
    }
    if (strcmp(typed, name) == 0) return true;
    fgsf_say("%s: --overwrite: '%.80s' is not '%s', nothing was deleted", cli->spec->program, typed,
             name);
    return false;
}

bool fgsf_overwrite(const fgsf_cli *cli, const fgsf_variant *variants, int count) {
    char path[4096], name[256];
    int found = 0;
    for (int i = 0; i < count; i++) {
        found += family_of(cli, &variants[i], path, sizeof path) && access(path, F_OK) == 0;
    }
    name_of(cli->out, name, sizeof name);
    if (found == 0) return true;
    if (!confirmed(cli, name, found)) return false;
    for (int i = 0; i < count; i++) {
        if (!family_of(cli, &variants[i], path, sizeof path) || access(path, F_OK) != 0) continue;
        if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0) {
            fgsf_say("%s: %s: %s", cli->spec->program, path, strerror(errno));
            return false;
        }
    }
    return true;
}
