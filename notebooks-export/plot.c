// Writes a figure's data and gnuplot script, and runs gnuplot on it. The script is made of the
// templates in templates/ and stands beside its data: gnuplot NAME.gp draws the figure again.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export.h"
#include "jobs.h"

// Pixels that a character and a line of a title take.
#define TITLE_CHAR 7
#define TITLE_LINE 17

// ---- templates ----------------------------------------------------------------------------------

const char *template_text(const char *name) {
    const export_template *t = export_templates;
    while (t->name && strcmp(t->name, name) != 0) t++;
    return t->name ? t->text : "";
}

// Writes a text in which @KEY@ stands for a value and @name@ for the template name.gp, without its
// last newline. Values are written as they are; BODY is a template.
static void put_template(FILE *out, const char *text, const template_value *values) {
    for (const char *at = text; *at; at++) {
        size_t n = *at == '@' ? strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                               "abcdefghijklmnopqrstuvwxyz")
                              : 0;
        if (n == 0 || at[n + 1] != '@') {
            if (*at != '\n' || at[1]) fputc(*at, out);
            continue;
        }
        char file[64];
        const template_value *v = values;
        while (v->key && (strlen(v->key) != n || strncmp(v->key, at + 1, n) != 0)) v++;
        snprintf(file, sizeof file, "%.*s.gp", (int)n, at + 1);
        bool is_value = v->key && strcmp(v->key, "BODY") != 0;
        if (is_value) {
            size_t length = strlen(v->value);
            bool ends = length && v->value[length - 1] == '\n';
            fwrite(v->value, 1, length - ends, out);
        } else {
            put_template(out, v->key ? v->value : template_text(file), values);
        }
        at += n + 1;
    }
}

// ---- data and definitions -----------------------------------------------------------------------

// gnuplot's comparison of text ends at a comma, quoted or not, it reads backslashes in data as escapes,
// and takes a line that begins with # as a comment, so names in its data have none of them.
static char name_char(char c) {
    const char *const FROM = ",\"\\#";
    const char *at = c ? strchr(FROM, c) : NULL;
    return (unsigned char)c < ' ' ? ' ' : at ? ";'/*"[at - FROM] : c;
}

static void put_name(FILE *f, const char *name) {
    for (; *name; name++) fputc(name_char(*name), f);
}

void plot_series(exporter *e, plot *f, const char *series, look how) {
    if (names_find(&f->series, series, NULL)) return;
    size_t n = f->series.n;
    names_add(&e->pool, &f->series, series);
    pool_push(&e->pool, &f->looks, &n, &how, sizeof how);
}

void plot_point(exporter *e, plot *f, const char *series, look how, const char *panel) {
    plot_series(e, f, series, how);
    names_add(&e->pool, &f->panels, panel);
    put_name(f->csv, series);
    fputc(',', f->csv);
    put_name(f->csv, panel);
    f->rows++;
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

void plot_grid(plot *f, size_t columns, int panel_width, int panel_height) {
    size_t panels = f->panels.n;
    size_t cols = panels < columns ? panels : columns;
    size_t rows = (panels + columns - 1) / columns;
    plot_number(f, "ROWS", (double)rows);
    plot_number(f, "COLS", (double)cols);
    f->width = (int)cols * panel_width + 40;
    f->height = (int)rows * panel_height + 110;
}

// The series with their looks, and the panels.
static void put_names(plot *f) {
    plot_text(f, "SERIES_COLUMN", f->series_column);
    plot_text(f, "PANEL_COLUMN", f->panel_column);
    plot_text(f, "PANEL_WORD", f->panel_word);
    put_array(f, "PANEL", f->panels.v, f->panels.n, true);
    put_array(f, "SERIES", f->series.v, f->series.n, true);
    fprintf(f->defs, "array COLOUR[%zu] = [", f->series.n);
    for (size_t i = 0; i < f->series.n; i++) {
        fprintf(f->defs, "%s'%s'", i ? ", " : "", f->looks[i].colour);
    }
    fprintf(f->defs, "]\narray DASH[%zu] = [", f->series.n);
    for (size_t i = 0; i < f->series.n; i++) {
        fprintf(f->defs, "%s%d", i ? ", " : "", f->looks[i].dash);
    }
    fprintf(f->defs, "]\narray POINT[%zu] = [", f->series.n);
    for (size_t i = 0; i < f->series.n; i++) {
        static const int TYPES[SHAPES] = {7, 5, 9, 11, 13, 15}; // one less is the same, not filled
        fprintf(f->defs, "%s%d", i ? ", " : "", TYPES[f->looks[i].shape] - (f->looks[i].dash > 1));
    }
    fputs("]\n", f->defs);
}

// Pixels that a legend with these names needs beyond the usual foot of a figure.
static int legend_extra(const plot *f) {
    size_t longest = 1;
    for (size_t i = 0; i < f->series.n; i++) {
        size_t length = strlen(f->series.v[i]);
        longest = length > longest ? length : longest;
    }
    size_t columns = (size_t)f->width / (8 * longest + 70);
    size_t rows = (f->series.n + 1) / (columns ? columns : 1) + 1; // some have one entry more
    return rows > 2 ? (int)(rows - 2) * 18 : 0;
}

void plot_interval(plot *f, fgsf_stats_interval y) {
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

// ---- files --------------------------------------------------------------------------------------

// "four_rooms (clean, env.slip=0.1): final return, n = 3 to 5 seeds [few seeds]"
static const char *make_title(exporter *e, const group *g, const figure *fig, const plot *f) {
    const char *label = f->seeds_min ? fgsf_stats_label(f->seeds_min) : "";
    const char *about = g->about ? g->about : "", *tail = "";
    if (f->seeds_min && f->seeds_min == f->seeds_max) {
        tail =
            pool_printf(&e->pool, ", n = %zu seed%s", f->seeds_min, f->seeds_min == 1 ? "" : "s");
    } else if (f->seeds_min) {
        tail = pool_printf(&e->pool, ", n = %zu to %zu seeds", f->seeds_min, f->seeds_max);
    }
    return pool_printf(&e->pool, "%s%s%s%s: %s%s%s%s%s", g->title, *about ? " (" : "", about,
                       *about ? ")" : "", fig->caption, tail, *label ? " [" : "", label,
                       *label ? "]" : "");
}

// How much of a text to write in a line: whole words, at least one.
static size_t line_length(const char *text, size_t room) {
    size_t n = strlen(text);
    if (n <= room) return n;
    for (n = room; n > 0 && text[n] != ' ';) n--;
    return n ? n : strcspn(text, " ");
}

// Writes the title in lines as long as the figure is wide, and returns their number.
static int put_title(exporter *e, plot *f, const char *title) {
    int lines = 1;
    fputs("TITLE = ", f->defs);
    for (;; lines++) {
        size_t n = line_length(title, (size_t)(f->width - 40) / TITLE_CHAR);
        put_quoted(f->defs, pool_printf(&e->pool, "%.*s", (int)n, title), false);
        if (title[n] == '\0') break;
        title += n + 1;
        fputs(".\"\\n\".", f->defs);
    }
    fputc('\n', f->defs);
    return lines;
}

static fgsf_status write_script(exporter *e, const char *name, const char *defs,
                                const figure *fig) {
    char body[64];
    FILE *out = NULL;
    snprintf(body, sizeof body, "%s.gp", fig->body);
    const char *path = pool_printf(&e->pool, "%s/figures/%s.gp", e->stage, name);
    TRY(file_open(path, &out));
    const template_value values[] = {
        {"NAME", name}, {"DEFINITIONS", defs}, {"BODY", template_text(body)}, {0}};
    put_template(out, template_text("figure.gp"), values);
    fputc('\n', out);
    return file_close(out, path);
}

// Collects the data and the definitions of one figure in memory.
static fgsf_status collect(exporter *e, const group *g, const figure *fig, plot *f, char **data,
                           char **defs, const char **title) {
    size_t data_size = 0;
    size_t defs_size = 0;
    f->csv = open_memstream(data, &data_size);
    f->defs = open_memstream(defs, &defs_size);
    fgsf_status status = FGSF_OK;
    if (!f->csv || !f->defs) status = fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    if (status == FGSF_OK) status = fig->write(e, g, f);
    if (status == FGSF_OK) {
        *title = make_title(e, g, fig, f);
        put_names(f);
        int extra = strcmp(fig->body, "intervals") == 0 ? 0 : legend_extra(f);
        f->height += extra;
        plot_number(f, "EXTRA", extra);
        int head = TITLE_LINE * (put_title(e, f, *title) - 1);
        f->height += head;
        plot_number(f, "HEAD", head);
        plot_number(f, "WIDTH", f->width);
        plot_number(f, "HEIGHT", f->height);
    }
    if (f->csv && fclose(f->csv) != 0) status = fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    if (f->defs && fclose(f->defs) != 0) status = fgsf_fail(FGSF_ERR_MEMORY, "out of memory");
    return status;
}

static fgsf_status write_figure(exporter *e, const group *g, const figure *fig, const char *title,
                                const char *data, const char *defs) {
    FILE *out = NULL;
    const char *name = pool_printf(&e->pool, *fig->name ? "%s_%s" : "%s", g->name, fig->name);
    const char *path = pool_printf(&e->pool, "%s/figures/%s.csv", e->stage, name);
    TRY(file_open(path, &out));
    fputs(data, out);
    TRY(file_close(out, path));
    TRY(write_script(e, name, defs, fig));
    path = pool_printf(&e->pool, "%s.gp", name);
    TRY(gnuplot_run(e, "figures", path));
    made_add(e, (artefact){.is_figure = true, .name = name, .group = g->title, .caption = title});
    return FGSF_OK;
}

static fgsf_status try_figure(exporter *e, const group *g, const figure *fig) {
    plot f = {.width = 900,
              .height = 480,
              .series_column = "method",
              .panel_column = "quantity",
              .panel_word = ""};
    char *data = NULL;
    char *defs = NULL;
    const char *title = NULL;
    if ((fig->needs & ~g->has) != 0) return FGSF_OK;
    if (fgsf_stop) return fgsf_fail(FGSF_STOPPED, "stopped");
    fgsf_status status = collect(e, g, fig, &f, &data, &defs, &title);
    if (status == FGSF_OK && f.rows > 0) status = write_figure(e, g, fig, title, data, defs);
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
        prctl(PR_SET_PDEATHSIG, SIGKILL); // it writes into the stage, which the next export removes
        if (chdir(dir) != 0 || !freopen("gnuplot.log", "w", stderr) || dup2(2, 1) < 0) _exit(126);
        execvp(args[0], (char *const *)args);
        _exit(errno == ENOENT ? 127 : 126);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
        if (fgsf_stop) kill(child, SIGKILL);
    }
    if (child < 0) return fgsf_fail(FGSF_ERR_IO, "gnuplot: %s", strerror(errno));
    if (fgsf_stop) return fgsf_fail(FGSF_STOPPED, "stopped");
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
    char *log = NULL;
    size_t size = 0;
    int code = 0;
    const char *path = pool_printf(&e->pool, "%s/%s", e->stage, dir);
    TRY(spawn(path, args, &code));
    path = pool_printf(&e->pool, "%s/%s/gnuplot.log", e->stage, dir);
    TRY(file_read(&e->pool, path, &log, &size));
    unlink(path);
    if (code == 0) return FGSF_OK; // what it says then are warnings, such as an empty range
    for (size_t i = 0; i < size; i++) log[i] = log[i] == '\n' ? ' ' : log[i];
    return fgsf_fail(FGSF_ERR_IO, "gnuplot failed on %s: %s", script, log);
}
