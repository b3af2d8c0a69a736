// Progress of a pool of jobs: bars that are redrawn on a terminal, a line now and then elsewhere.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR 14
#define NAME 28            // a whole live line fits into 80 columns
#define PLAIN_SECONDS 30.0 // between plain lines
#define MAX_LINE 256

void fgsf_progress_open(fgsf_progress_view *view, FILE *out, bool quiet) {
    memset(view, 0, sizeof *view);
    view->out = out;
    view->quiet = quiet;
    view->live = !quiet && isatty(fileno(out));
}

void fgsf_progress_duration(double seconds, char *text, size_t size) {
    long s = seconds > 0 && seconds < 1e9 ? (long)(seconds + 0.5) : 0;
    if (s >= 3600) {
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else {
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    }
}

void fgsf_progress_clear(fgsf_progress_view *view) {
    // From the first column: the terminal may have shown a "^C" before the cursor.
    if (view->lines > 0) fprintf(view->out, "\r\033[%dA\033[J", view->lines);
    view->lines = 0;
    fflush(view->out);
}

void fgsf_progress_say(fgsf_progress_view *view, const char *line) {
    fgsf_progress_clear(view);
    fprintf(view->out, "%s\n", line);
    fflush(view->out);
}

static void describe(const fgsf_progress_job *job, bool bar, char *line, size_t size) {
    char eta[32] = "-", hashes[BAR + 1] = "";
    double share = job->total > 0 ? (double)job->steps / (double)job->total : 0;
    if (share > 1) share = 1;
    if (job->rate > 0) {
        fgsf_progress_duration((double)(job->total - job->steps) / job->rate, eta, sizeof eta);
    }
    for (int i = 0; i < BAR; i++) hashes[i] = i < (int)(share * BAR) ? '#' : '.';
    hashes[BAR] = '\0';
    int width = bar ? NAME : 80; // plain lines keep the whole name
    snprintf(line, size, "%-*.*s %s%s%s%3.0f%% %6.0f steps/s ETA %s", NAME, width, job->name,
             bar ? "[" : "", bar ? hashes : "", bar ? "] " : "", 100 * share, job->rate, eta);
}

static int terminal_width(FILE *out) {
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
    return 80;
}

static void show_live(fgsf_progress_view *view, const fgsf_progress_job *jobs, int count, int done,
                      int all) {
    char line[MAX_LINE];
    int width = terminal_width(view->out); // a line that wraps would break the redrawing
    fgsf_progress_clear(view);
    for (int i = 0; i < count; i++) {
        describe(&jobs[i], true, line, sizeof line);
        fprintf(view->out, "%.*s\n", width - 1, line);
    }
    fprintf(view->out, "%d of %d done, %d running\n", done, all, count);
    fflush(view->out);
    view->lines = count + 1;
}

void fgsf_progress_show(fgsf_progress_view *view, const fgsf_progress_job *jobs, int count,
                        int done, int all, double now) {
    char line[MAX_LINE];
    if (view->live) {
        show_live(view, jobs, count, done, all);
        return;
    }
    if (view->quiet || now - view->last_line < PLAIN_SECONDS) return;
    view->last_line = now;
    for (int i = 0; i < count; i++) {
        if (jobs[i].seconds < 1) continue;
        describe(&jobs[i], false, line, sizeof line);
        fgsf_progress_say(view, line);
    }
}
