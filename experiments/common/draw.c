// Starts the export tool and shows what it made.
#include "draw.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"
#include "show_table.h"

#define MAX_LISTED 12 // figures; the folder has them all

// Finds the export tool: in the build folder, or installed beside the driver.
static bool find_export(char *tool, size_t size) {
    static const char *const places[] = {"/../notebooks-export/export", "/fgsf-export"};
    ssize_t length = readlink("/proc/self/exe", tool, size - 64);
    bool found = false;
    tool[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(tool, '/');
    for (int i = 0; i < 2 && slash && !found; i++) {
        snprintf(slash, 64, "%s", places[i]);
        found = access(tool, X_OK) == 0;
    }
    return found;
}

// Prints the summary tables that the export has written.
static void print_tables(const char *target) {
    char pattern[4096];
    glob_t found;
    // OUT is a name, not a pattern: escape its special characters.
    size_t used = 0;
    for (const char *c = target; *c && used + 64 < sizeof pattern; c++) {
        if (strchr("*?[\\", *c)) pattern[used++] = '\\';
        pattern[used++] = *c;
    }
    snprintf(pattern + used, sizeof pattern - used, "/tables/*_summary.md");
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            putchar('\n');
            fgsf_show_table(stdout, found.gl_pathv[i]);
        }
        globfree(&found);
    }
    fflush(stdout);
}

static bool in_path(const char *program) {
    char path[4096];
    const char *rest = getenv("PATH");
    for (size_t n; rest && *rest; rest += n + (rest[n] == ':')) {
        n = strcspn(rest, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, rest, program);
        if (n > 0 && access(path, X_OK) == 0) return true;
    }
    return false;
}

bool fgsf_draw_folder(const char *program, const char *out) {
    char part[4096];
    snprintf(part, sizeof part, "%s", out);
    for (char *c = part + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(part, 0777);
        *c = '/';
    }
    bool made = mkdir(part, 0777) == 0 || errno == EEXIST;
    if (made && access(part, W_OK | X_OK) == 0) return true;
    fgsf_say("%s: --out '%s': %s", program, out, strerror(errno));
    return false;
}

// Lists the figures that the export reports, and passes on what it notes about runs.
static void list_figures(FILE *lines, const char *target) {
    char *line = NULL, name[256];
    size_t capacity = 0;
    int count = 0;
    while (getline(&line, &capacity, lines) > 0) {
        if (strncmp(line, "note", 4) == 0) fputs(line, stdout);
        if (sscanf(line, "figure figures/%255s", name) != 1) continue;
        if (count == 0) printf("\nFigures:\n");
        if (count++ < MAX_LISTED) printf("    %s/figures/%s\n", target, name);
    }
    if (count > MAX_LISTED) printf("    and %d more\n", count - MAX_LISTED);
    free(line);
}

// Runs the export tool; what it prints waits in `lines`. Returns whether it ended well.
static bool run_export(const char *tool, const char *out, const char *target, FILE *lines) {
    pid_t pid = fork();
    if (pid == 0) {
        if (dup2(fileno(lines), STDOUT_FILENO) < 0) _exit(127);
        execl(tool, tool, "-o", target, "--", out, (char *)NULL);
        _exit(127);
    }
    int code = 0;
    return pid > 0 && waitpid(pid, &code, 0) >= 0 && code == 0;
}

bool fgsf_draw(const char *program, const char *out, bool quiet) {
    char tool[4096], target[4096];
    bool built = find_export(tool, sizeof tool);
    snprintf(target, sizeof target, "%s/export", out);
    if (!built || !in_path("gnuplot")) {
        fgsf_say("%s: no figures: %s", program,
                 built ? "gnuplot is not installed" : "the export tool is not built");
        return true;
    }
    fflush(stdout);
    FILE *lines = tmpfile();
    bool drawn = lines && run_export(tool, out, target, lines);
    if (!drawn) fgsf_say("%s: the figures of %s could not be drawn", program, out);
    if (drawn && !quiet) {
        print_tables(target);
        rewind(lines);
        list_figures(lines, target);
        fflush(stdout);
    }
    if (lines) fclose(lines);
    return drawn;
}
