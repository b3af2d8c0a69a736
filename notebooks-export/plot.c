// Writes a figure's data and gnuplot script, and runs gnuplot on it. The script is made of the
// templates in templates/ and stands beside its data: gnuplot NAME.gp draws the figure again.
#include <errno.h>
#include <math.h>
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

// Writes a text in which @name@ stands for the template name.gp and @BODY@ for the template `body`,
// without its last newline.
static void put_template(FILE *out, const char *text, const char *body) {
    for (const char *at = text; *at; at++) {
        size_t n = *at == '@' ? strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                               "abcdefghijklmnopqrstuvwxyz")
                              : 0;
        if (n == 0 || at[n + 1] != '@') {
            if (*at != '\n' || at[1]) fputc(*at, out);
            continue;
        }
        const char *name = pool_printf("%.*s", (int)n, at + 1);
        if (strcmp(name, "BODY") == 0) name = body;
        put_template(out, template_text(pool_printf("%s.gp", name)), body);
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

void plot_series(plot *f, const char *series, look how) {
    if (names_find(&f->series, series, NULL)) return;
    size_t n = f->series.n;
    names_add(&f->series, series);
    pool_push(&f->looks, &n, &how, sizeof how);
}

void plot_point(plot *f, const char *series, look how, const char *panel) {
    plot_series(f, series, how);
    names_add(&f->panels, panel);
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
    fprintf(f->script, "%s = ", name);
    put_quoted(f->script, value, false);
    fputc('\n', f->script);
}

void plot_number(plot *f, const char *name, double value) {
    fprintf(f->script, "%s = %.9g\n", name, value);
}

static void put_array(plot *f, const char *name, const char *const *values, size_t n,
                      bool are_names) {
    fprintf(f->script, "array %s[%zu] = [", name, n);
    for (size_t i = 0; i < n; i++) {
        if (i) fputs(", ", f->script);
        put_quoted(f->script, values[i], are_names);
    }
    fputs("]\n", f->script);
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
    fprintf(f->script, "array COLOUR[%zu] = [", f->series.n);
    for (size_t i = 0; i < f->series.n; i++) {
        fprintf(f->script, "%s'%s'", i ? ", " : "", f->looks[i].colour);
    }
    fprintf(f->script, "]\narray DASH[%zu] = [", f->series.n);
    for (size_t i = 0; i < f->series.n; i++) {
        fprintf(f->script, "%s%d", i ? ", " : "", f->looks[i].dash);
    }
    fprintf(f->script, "]\narray POINT[%zu] = [", f->series.n);
    for (size_t i = 0; i < f->series.n; i++) {
        static const int TYPES[SHAPES] = {7, 5, 9, 11, 13, 15}; // one less is the same, not filled
        fprintf(f->script, "%s%d", i ? ", " : "",
                TYPES[f->looks[i].shape] - (f->looks[i].dash > 1));
    }
    fputs("]\n", f->script);
}

// Pixels that a legend with these names needs beyond the usual foot of a figure.
static int legend_extra(const plot *f) {
    size_t longest = names_longest(&f->series);
    size_t columns = (size_t)f->width / (8 * (longest ? longest : 1) + 70);
    size_t rows = (f->series.n + 1) / (columns ? columns : 1) + 1; // some have one entry more
    return rows > 2 ? (int)(rows - 2) * 18 : 0;
}

void plot_interval(plot *f, fgsf_stats_interval y, size_t seeds) {
    const double values[] = {y.value, y.low, y.high};
    for (int i = 0; i < 3; i++) {
        fputc(',', f->csv);
        csv_put_number(f->csv, values[i]);
    }
    fprintf(f->csv, ",%zu", seeds);
    if (seeds && (f->seeds_min == 0 || seeds < f->seeds_min)) f->seeds_min = seeds;
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

static fgsf_status gnuplot_run(const exporter *e, const char *script) {
    const char *const args[] = {"gnuplot", "-d", script, NULL};
    char *log = NULL;
    size_t size = 0;
    int code = 0;
    TRY(spawn(pool_printf("%s/figures", e->stage), args, &code));
    const char *path = pool_printf("%s/figures/gnuplot.log", e->stage);
    TRY(file_read(path, &log, &size));
    unlink(path);
    if (code == 0) return FGSF_OK; // what it says then are warnings, such as an empty range
    for (size_t i = 0; i < size; i++) log[i] = log[i] == '\n' ? ' ' : log[i];
    return fgsf_fail(FGSF_ERR_IO, "gnuplot failed on %s: %s", script, log);
}

// ---- files --------------------------------------------------------------------------------------

// "four_rooms (clean, env.slip=0.1): final return, n = 3 to 5 seeds [few seeds]"
static const char *make_title(const group *g, const plot *f) {
    const char *seeds = "", *label = f->seeds_min ? fgsf_stats_label(f->seeds_min) : "";
    if (f->seeds_min && f->seeds_min == f->seeds_max) {
        seeds = pool_printf(", n = %zu seed%s", f->seeds_min, f->seeds_min == 1 ? "" : "s");
    } else if (f->seeds_min) {
        seeds = pool_printf(", n = %zu to %zu seeds", f->seeds_min, f->seeds_max);
    }
    if (*label) label = pool_printf(" [%s]", label);
    return pool_printf("%s%s: %s%s%s", g->title, g->about, f->of->caption, seeds, label);
}

// How much of a text to write in a line: whole words, at least one.
static size_t line_length(const char *text, size_t room) {
    size_t n = strlen(text);
    if (n <= room) return n;
    for (n = room; n > 0 && text[n] != ' ';) n--;
    return n ? n : strcspn(text, " ");
}

// Writes the title in lines as long as the figure is wide, and returns their number.
static int put_title(plot *f, const char *title) {
    int lines = 1;
    fputs("TITLE = ", f->script);
    for (;; lines++) {
        size_t n = line_length(title, (size_t)(f->width - 40) / TITLE_CHAR);
        put_quoted(f->script, pool_printf("%.*s", (int)n, title), false);
        if (title[n] == '\0') break;
        title += n + 1;
        fputs(".\"\\n\".", f->script);
    }
    fputc('\n', f->script);
    return lines;
}

// Writes what follows the figure's own definitions.
static void finish_script(plot *f, const char *title) {
    put_names(f);
    int extra = strcmp(f->of->body, "intervals") == 0 ? 0 : legend_extra(f);
    f->height += extra;
    plot_number(f, "EXTRA", extra);
    int head = TITLE_LINE * (put_title(f, title) - 1);
    f->height += head;
    plot_number(f, "HEAD", head);
    plot_number(f, "WIDTH", f->width);
    plot_number(f, "HEIGHT", f->height);
    put_template(f->script, template_text("figure.gp"), f->of->body);
    fputc('\n', f->script);
}

static fgsf_status try_figure(exporter *e, const group *g, const figure *fig) {
    plot f = {.of = fig,
              .paper = &e->paper,
              .width = 900,
              .height = 480,
              .series_column = "method",
              .panel_column = "quantity",
              .panel_word = ""};
    if ((fig->needs & ~g->has) != 0) return FGSF_OK;
    if (fgsf_stop) return fgsf_fail(FGSF_STOPPED, "stopped");
    const char *name = pool_printf(*fig->name ? "%s_%s" : "%s", g->name, fig->name);
    const char *data = pool_printf("%s/figures/%s.csv", e->stage, name);
    const char *script = pool_printf("%s/figures/%s.gp", e->stage, name);
    TRY(file_open(data, &f.csv)); // after a failure the end of the program closes them
    TRY(file_open(script, &f.script));
    fputs("# Draws the .png and the .svg from the .csv beside it: ", f.script);
    fprintf(f.script, "gnuplot %s.gp\nNAME = '%s'\nDATA = '%s.csv'\n", name, name, name);
    TRY(fig->write(g, &f));
    const char *title = make_title(g, &f);
    finish_script(&f, title);
    TRY(file_close(f.csv, data));
    TRY(file_close(f.script, script));
    if (f.rows == 0) {
        unlink(data);
        unlink(script);
        return FGSF_OK;
    }
    TRY(gnuplot_run(e, pool_printf("%s.gp", name)));
    artefact a = {.is_figure = true, .name = name, .group = g->title, .caption = title};
    pool_push(&e->made, &e->nmade, &a, sizeof a);
    return FGSF_OK;
}

fgsf_status figures_write(exporter *e) {
    const figure *const all[] = {training_figures, evaluation_figures, study_figures,
                                 picture_figures};
    for (size_t i = 0; i < e->groups.n; i++) {
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            for (const figure *fig = all[k]; fig->name; fig++) {
                TRY(try_figure(e, &e->groups.v[i], fig));
            }
        }
    }
    return FGSF_OK;
}
