// Aligns the columns of a Markdown table. Cells of the export hold no '|'.
#include "show_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define MAX_COLUMNS 32

typedef struct layout {
    int count, width[MAX_COLUMNS];
    bool eventful[MAX_COLUMNS]; // not "0" or empty in every row
    bool cut;                   // some columns are left out
} layout;

// Characters, not bytes: continuation bytes of UTF-8 take no place.
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static char *trim(char *text) {
    text += strspn(text, " ");
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--) text[n - 1] = '\0';
    return text;
}

// Splits "| a | b |" and returns the number of cells.
static int split(char *line, char **cells) {
    int n = 0;
    line[strcspn(line, "\n")] = '\0';
    char *rest = line + 1;
    for (char *end; n < MAX_COLUMNS && (end = strchr(rest, '|')); rest = end + 1) {
        *end = '\0';
        cells[n++] = trim(rest);
    }
    return n;
}

static void measure(FILE *file, layout *l) {
    char *line = NULL, *cells[MAX_COLUMNS];
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) {
        if (line[0] != '|') continue;
        int n = split(line, cells);
        for (int i = 0; i < n; i++) {
            bool rule = strncmp(cells[i], "---", 3) == 0;
            int width = rule ? 0 : width_of(cells[i]);
            if (width > l->width[i]) l->width[i] = width;
            bool says = *cells[i] && strcmp(cells[i], "0") != 0;
            if (l->count > 0 && !rule && says) l->eventful[i] = true;
        }
        l->count = n > l->count ? n : l->count;
    }
    free(line);
}

// Leaves out the last columns where a terminal is too narrow for them.
static void fit(layout *l, FILE *out) {
    struct winsize window;
    bool terminal = ioctl(fileno(out), TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    int used = 0;
    for (int i = 0; terminal && i < l->count; i++) {
        if (!l->eventful[i]) continue;
        used += l->width[i] + (used ? 2 : 0);
        if (used <= window.ws_col) continue;
        l->cut = true;
        l->eventful[i] = false;
    }
}

static void print_row(FILE *out, const layout *l, char **cells, int n) {
    bool rule = n > 0 && strncmp(cells[0], "---", 3) == 0, first = true;
    int pad = 0; // owed to the column before
    for (int i = 0; i < n; i++) {
        if (!l->eventful[i]) continue;
        fprintf(out, "%*s", first ? 0 : pad + 2, "");
        first = false;
        for (int k = 0; rule && k < l->width[i]; k++) putc('-', out);
        if (!rule) fputs(cells[i], out);
        pad = rule ? 0 : l->width[i] - width_of(cells[i]);
    }
    putc('\n', out);
}

void fgsf_show_table(FILE *out, const char *path) {
    layout l = {0};
    char *line = NULL, *cells[MAX_COLUMNS];
    size_t capacity = 0;
    FILE *file = fopen(path, "r");
    if (!file) return;
    measure(file, &l);
    fit(&l, out);
    rewind(file);
    while (getline(&line, &capacity, file) > 0) {
        if (line[0] == '|') {
            print_row(out, &l, cells, split(line, cells));
        } else if (line[0] != '\n') {
            fputs(line + (line[0] == '#' ? strspn(line, "# ") : 0), out);
        }
    }
    if (l.cut) fprintf(out, "more columns: %s\n", path);
    free(line);
    fclose(file);
}
