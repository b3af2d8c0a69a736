// Writes a figure's data and gnuplot script, and runs gnuplot on it. The script stands beside its
// data and redraws the figure on its own: gnuplot NAME.gp
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export.h"

// The look of every figure, and what the bodies build on: `get` is a column's value in the rows of
// one series and panel, and undefined, so not drawn, in all others; `tic` doubles the % in a name,
// because gnuplot takes the names on an axis for formats.
static const char STYLE[] =
    "is(column_name, value) = strcol(column_name) eq value\n"
    "in(s, p) = is(SERIES_COLUMN, s) && is(PANEL_COLUMN, p)\n"
    "get(s, p, column_name) = in(s, p) ? column(column_name) : NaN\n"
    "hex(colour) = int('0x'.colour[2:7])\n"
    "rgb(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? hex(COLOUR[i]) : 0))\n"
    "tic(s) = strstrt(s, '%') \\\n"
    "    ? s[1:strstrt(s, '%')].'%'.tic(s[strstrt(s, '%')+1:*]) : s\n"
    "\n"
    "do for [EXT in 'png svg'] {\n"
    "reset\n"
    "if (EXT eq 'png') {\n"
    "    set terminal pngcairo size WIDTH,HEIGHT font 'DejaVu Sans,10' noenhanced\n"
    "} else {\n"
    "    set terminal svg size WIDTH,HEIGHT font 'DejaVu Sans,12' noenhanced "
    "background rgb 'white'\n"
    "}\n"
    "set output NAME.'.'.EXT\n"
    "set encoding utf8\n"
    "set datafile separator comma\n"
    "set datafile columnheaders\n"
    "set datafile missing ''\n"
    "set tics nomirror scale 0.5\n"
    "set border 3 lc rgb '#444444'\n"
    "set grid lc rgb '#E6E6E6' lt 1 lw 1\n"
    "set style fill solid 1 noborder\n"
    "unset key\n";

static const char END[] = "unset output\n"
                          "}\n";

// gnuplot's comparison of text ends at a comma, quoted or not, and it reads backslashes in data as
// escapes, so names in its data have neither.
static char name_char(char c) {
    const char *const FROM = ",\"\\";
    const char *at = c ? strchr(FROM, c) : NULL;
    return (unsigned char)c < ' ' ? ' ' : at ? ";'/"[at - FROM] : c;
}

void plot_put_name(plot *f, const char *name) {
    for (; *name; name++) fputc(name_char(*name), f->csv);
}

static void put_quoted(FILE *f, const char *text, bool is_name) {
    fputc('\'', f);
    for (; *text; text++) {
        char c = is_name ? name_char(*text) : *text;
        if (c == '\'') fputc('\'', f);
        fputc((unsigned char)c < ' ' ? ' ' : c, f);
    }
    fputc('\'', f);
}

void plot_text(plot *f, const char *name, const char *value) {
    fprintf(f->defs, "%s = ", name);
    put_quoted(f->defs, value, false);
    fputc('\n', f->defs);
}

void plot_number(plot *f, const char *name, double value) {
    fprintf(f->defs, "%s = %.9g\n", name, value);
}

static void put_array(plot *f, const char *name, const char *const *values, size_t n,
                      bool are_names) {
    fprintf(f->defs, "array %s[%zu] = [", name, n);
    for (size_t i = 0; i < n; i++) {
        if (i) fputs(", ", f->defs);
        put_quoted(f->defs, values[i], are_names);
    }
    fputs("]\n", f->defs);
}

void plot_array(plot *f, const char *name, const char *const *values, size_t n) {
    put_array(f, name, values, n, false);
}

void plot_grid(plot *f, size_t panels, size_t columns, int panel_width, int panel_height) {
    size_t cols = panels < columns ? panels : columns;
    size_t rows = (panels + columns - 1) / columns;
    plot_number(f, "ROWS", (double)rows);
    plot_number(f, "COLS", (double)cols);
    f->width = (int)cols * panel_width + 40;
    f->height = (int)rows * panel_height + 110;
}

void plot_panels(plot *f, const char *series_column, const char *panel_column, const names *panels,
                 const char *word) {
    plot_text(f, "SERIES_COLUMN", series_column);
    plot_text(f, "PANEL_COLUMN", panel_column);
    put_array(f, "PANEL", panels->v, panels->n, true);
    plot_text(f, "PANEL_WORD", word);
}

void plot_series(plot *f, const names *series, const names *colours) {
    put_array(f, "SERIES", series->v, series->n, true);
    plot_array(f, "COLOUR", colours->v, colours->n);
}

fgsf_status series_add(pool *p, names *series, names *colours, const char *name,
                       const char *colour) {
    if (names_find(series, name, NULL)) return FGSF_OK;
    TRY(names_add(p, series, name));
    TRY(pool_push(p, &colours->v, &colours->n, sizeof *colours->v));
    colours->v[colours->n - 1] = colour;
    return FGSF_OK;
}

void plot_interval_row(plot *f, fgsf_stats_interval y) {
    const double values[] = {y.value, y.low, y.high};
    for (int i = 0; i < 3; i++) {
        fputc(',', f->csv);
        csv_put_number(f->csv, values[i]);
    }
}

void plot_seeds(plot *f, size_t seeds) {
    if (f->seeds_min == 0 || seeds < f->seeds_min) f->seeds_min = seeds;
    if (seeds > f->seeds_max) f->seeds_max = seeds;
}

void csv_put_text(FILE *f, const char *text) {
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text == '\n' ? ' ' : *text, f);
    }
    fputc('"', f);
}

void csv_put_number(FILE *f, double x) {
    if (!isnan(x)) fprintf(f, "%.9g", x);
}

// "four_rooms (clean): final return, n = 3 to 5 seeds (smoke)"
static fgsf_status make_title(exporter *e, const group *g, const figure *fig, const plot *f,
                              const char **out) {
    const char *preset = g->narms && g->arms[0].nruns ? arm_example(&g->arms[0])->preset : NULL;
    const char *label = f->seeds_min ? fgsf_stats_label(f->seeds_min) : "";
    const char *head = NULL;
    const char *tail = "";
    for (size_t i = 0; i < g->narms && preset; i++) {
        for (size_t j = 0; j < g->arms[i].nruns && preset; j++) {
            const char *other = g->arms[i].runs[j]->preset;
            if (!other || strcmp(other, preset) != 0) preset = NULL;
        }
    }
    TRY(pool_printf(&e->pool, &head, preset ? "%s (%s)" : "%s", g->title, preset));
    if (f->seeds_min && f->seeds_min == f->seeds_max) {
        TRY(pool_printf(&e->pool, &tail, ", n = %zu seed%s", f->seeds_min,
                        f->seeds_min == 1 ? "" : "s"));
    } else if (f->seeds_min) {
        TRY(pool_printf(&e->pool, &tail, ", n = %zu to %zu seeds", f->seeds_min, f->seeds_max));
    }
    return pool_printf(&e->pool, out, "%s: %s%s%s%s%s", head, fig->caption, tail,
                       *label ? " [" : "", label, *label ? "]" : "");
}

static fgsf_status write_script(exporter *e, const char *name, const char *title, const char *defs,
                                const figure *fig, const plot *f) {
    const char *path = NULL;
    FILE *out = NULL;
    TRY(pool_printf(&e->pool, &path, "%s/figures/%s.gp", e->stage, name));
    TRY(file_open(path, &out));
    fprintf(out, "# Draws the .png and the .svg from the .csv beside it: gnuplot %s.gp\n", name);
    fprintf(out, "NAME = '%s'\nDATA = '%s.csv'\nTITLE = ", name, name);
    put_quoted(out, title, false);
    fprintf(out, "\nWIDTH = %d\nHEIGHT = %d\n%s", f->width, f->height, defs);
    fprintf(out, "%s%s%s", STYLE, fig->body, END);
    return file_close(out, path);
}

// Collects the data and the definitions of one figure in memory.
static fgsf_status collect(exporter *e, const group *g, const figure *fig, plot *f, char **data,
                           char **defs) {
    size_t data_size = 0;
    size_t defs_size = 0;
    f->csv = open_memstream(data, &data_size);
    f->defs = open_memstream(defs, &defs_size);
    fgsf_status status = FGSF_OK;
    if (!f->csv || !f->defs) status = fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    if (status == FGSF_OK) status = fig->write(e, g, f);
    if (f->csv && fclose(f->csv) != 0) status = fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    if (f->defs && fclose(f->defs) != 0) status = fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    return status;
}

static fgsf_status write_figure(exporter *e, const group *g, const figure *fig, const plot *f,
                                const char *data, const char *defs) {
    const char *name = NULL;
    const char *title = NULL;
    const char *path = NULL;
    FILE *out = NULL;
    TRY(pool_printf(&e->pool, &name, *fig->name ? "%s_%s" : "%s", g->name, fig->name));
    TRY(make_title(e, g, fig, f, &title));
    TRY(pool_printf(&e->pool, &path, "%s/figures/%s.csv", e->stage, name));
    TRY(file_open(path, &out));
    fputs(data, out);
    TRY(file_close(out, path));
    TRY(write_script(e, name, title, defs, fig, f));
    TRY(pool_printf(&e->pool, &path, "%s.gp", name));
    TRY(gnuplot_run(e, "figures", path));
    return made_add(e, (artefact){.is_figure = true,
                                  .name = name,
                                  .group = g->title,
                                  .caption = title,
                                  .redraw = fig->redraw});
}

static fgsf_status try_figure(exporter *e, const group *g, const figure *fig) {
    plot f = {.width = 900, .height = 480};
    char *data = NULL;
    char *defs = NULL;
    if ((fig->needs & ~g->has) != 0) return FGSF_OK;
    fgsf_status status = collect(e, g, fig, &f, &data, &defs);
    if (status == FGSF_OK && f.rows > 0) status = write_figure(e, g, fig, &f, data, defs);
    free(data);
    free(defs);
    return status;
}

fgsf_status figures_write(exporter *e) {
    const figure *const all[] = {training_figures, evaluation_figures, study_figures,
                                 picture_figures};
    for (size_t i = 0; i < e->ngroups; i++) {
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            for (const figure *fig = all[k]; fig->name; fig++) {
                TRY(try_figure(e, &e->groups[i], fig));
            }
        }
    }
    return FGSF_OK;
}

// ---- running gnuplot ----------------------------------------------------------------------------

// Runs gnuplot in `dir` with its messages in gnuplot.log there; *code is its exit code.
static fgsf_status spawn(const char *dir, const char *const *args, int *code) {
    pid_t child = fork();
    if (child == 0) {
        if (chdir(dir) != 0 || !freopen("gnuplot.log", "w", stderr) || dup2(2, 1) < 0) _exit(126);
        execvp(args[0], (char *const *)args);
        _exit(errno == ENOENT ? 127 : 126);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0) return fgsf_fail(FGSF_ERR_IO, "gnuplot: %s", strerror(errno));
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (*code == 127) {
        return fgsf_fail(FGSF_ERR_IO, "gnuplot is not installed (Debian package gnuplot-nox)");
    }
    return FGSF_OK;
}

fgsf_status gnuplot_check(exporter *e) {
    static const char *const ARGS[] = {"gnuplot", "--version", NULL};
    int code = 0;
    TRY(spawn(e->stage, ARGS, &code));
    return code ? fgsf_fail(FGSF_ERR_IO, "gnuplot --version failed with code %d", code) : FGSF_OK;
}

fgsf_status gnuplot_run(exporter *e, const char *dir, const char *script) {
    const char *const args[] = {"gnuplot", "-d", script, NULL};
    const char *path = NULL;
    char *log = NULL;
    size_t size = 0;
    int code = 0;
    TRY(pool_printf(&e->pool, &path, "%s/%s", e->stage, dir));
    TRY(spawn(path, args, &code));
    TRY(pool_printf(&e->pool, &path, "%s/%s/gnuplot.log", e->stage, dir));
    TRY(file_read(&e->pool, path, &log, &size));
    unlink(path);
    if (code == 0) return FGSF_OK; // what it says then are warnings, such as an empty range
    for (size_t i = 0; i < size; i++) log[i] = log[i] == '\n' ? ' ' : log[i];
    return fgsf_fail(FGSF_ERR_IO, "gnuplot failed on %s: %s", script, log);
}
