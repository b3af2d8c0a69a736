// Progress of a pool of jobs: bars that are redrawn on a terminal, a line now and then elsewhere.
#include "progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR 4
#define NAME 23            // a whole live line fits into 60 columns
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

double fgsf_progress_eta(const fgsf_progress_work *work, double now) {
    double made = work->ended - work->before, elapsed = now - work->started;
    return made > 0 && elapsed > 1 ? elapsed * (work->all - work->ended) / made : -1;
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

// Of a long name the beginning and the end stay: the method and the seed.
static void shorten(const char *name, char *text) {
    size_t n = strlen(name), end = NAME / 2;
    snprintf(text, NAME + 1, "%.*s", NAME, name);
    if (n > NAME) snprintf(text + NAME - end - 2, end + 3, "..%s", name + n - end);
}

static void describe(const fgsf_progress_job *job, bool bar, char *line, size_t size) {
    char short_name[NAME + 1], hashes[BAR + 1] = "", ret[32];
    double share = job->total > 0 ? (double)job->steps / (double)job->total : 0;
    if (share > 1) share = 1;
    memset(hashes, '.', BAR);
    memset(hashes, '#', (size_t)(share * BAR));
    shorten(job->name, short_name);
    snprintf(ret, sizeof ret, "%.3g", job->last_return);
    if (strlen(ret) > 7) snprintf(ret, sizeof ret, "%.1g", job->last_return);
    // Plain lines keep the whole name.
    snprintf(line, size, "%-*.80s %s%s%s%4.0f%% ret%7s loss%7.2g", NAME,
             bar ? short_name : job->name, bar ? "[" : "", bar ? hashes : "", bar ? "]" : "",
             100 * share, ret, job->loss);
}

static void describe_all(int done, int all, int running, double eta, char *line, size_t size) {
    char left[32] = "-";
    if (eta >= 0) fgsf_progress_duration(eta, left, sizeof left);
    snprintf(line, size, "%d of %d done, %d running, ETA %s", done, all, running, left);
}

static struct winsize terminal_size(FILE *out) {
    struct winsize size;
    bool known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20 && size.ws_row > 2;
    return known ? size : (struct winsize){.ws_col = 80, .ws_row = 24};
}

static void show_live(fgsf_progress_view *view, const fgsf_progress_job *jobs, int count, int done,
                      int all, double eta) {
    char line[MAX_LINE];
    struct winsize size = terminal_size(view->out);
    // Lines that wrap, or more of them than the terminal has, would break the redrawing.
    int width = size.ws_col, running = count;
    if (count > size.ws_row - 2) count = size.ws_row - 2;
    fgsf_progress_clear(view);
    for (int i = 0; i < count; i++) {
        describe(&jobs[i], true, line, sizeof line);
        fprintf(view->out, "%.*s\n", width - 1, line);
    }
    describe_all(done, all, running, eta, line, sizeof line);
    fprintf(view->out, "%.*s\n", width - 1, line);
    fflush(view->out);
    view->lines = count + 1;
}

void fgsf_progress_show(fgsf_progress_view *view, const fgsf_progress_job *jobs, int count,
                        int done, int all, double eta, double now) {
    char line[MAX_LINE];
    if (view->live) {
        show_live(view, jobs, count, done, all, eta);
        return;
    }
    if (view->quiet || now - view->last_line < PLAIN_SECONDS) return;
    view->last_line = now;
    for (int i = 0; i < count; i++) {
        if (jobs[i].seconds < 1) continue;
        describe(&jobs[i], false, line, sizeof line);
        fgsf_progress_say(view, line);
    }
    if (count > 0 && eta >= 0) {
        describe_all(done, all, count, eta, line, sizeof line);
        fgsf_progress_say(view, line);
    }
}
