// Gathers run directories into the data of OUT/index.html. A file is read again only when it has
// changed, and what is printed of a run is kept, so that a page of a thousand runs costs milliseconds.
#include "page.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 3.0      // between two pages, at least
#define SHARE 0.01       // of the time, at most
#define ALL_POINTS 40000 // of all curves together
#define MAX_POINTS 240   // of one curve
#define MAX_FILE (4 << 20)
#define COLUMNS 5

// The page itself, up to the zero behind it; the data goes where it says $DATA$.
extern const char fgsf_page_html[];
__asm__(".pushsection .rodata\n.global fgsf_page_html\nfgsf_page_html:\n.incbin \"" FGSF_PAGE_HTML
        "\"\n.byte 0\n.popsection\n");

// One row of train.csv, its sums over all tasks so far: step, reward, episodes, loss, residual.
typedef struct point {
    double v[COLUMNS];
} point;

typedef struct page_run {
    char *directory, *message;
    char *json; // run.json: whole in the first run of a family, else without the configuration
    char *text; // what the page says about the run
    double steps;
    bool ended, live, changed;
    struct timespec json_time;
    off_t read; // bytes of train.csv
    point *points, last, base;
    int count, stride, task;
    long rows;
} page_run;

struct fgsf_page {
    int out; // the folder
    char *title;
    page_run *runs;
    int count, room, writes;
    double started, due, every; // times in seconds
};

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- Text ----------------------------------------------------------------------------------------

// A JSON string that is safe inside HTML: no byte of it can end the script element around it.
static void print_string(FILE *f, const char *text) {
    putc('"', f);
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c++) {
        if (*c < ' ' || strchr("\"\\<>&", *c)) {
            fprintf(f, "\\u%04x", *c);
        } else {
            putc(*c, f);
        }
    }
    putc('"', f);
}

static void print_number(FILE *f, double x) {
    fprintf(f, isfinite(x) ? "%.6g" : "null", x);
}

// ---- What a run directory holds ------------------------------------------------------------------

// Opens a file of a folder in OUT. A pipe in its place does not block.
static FILE *open_file(const fgsf_page *p, const char *folder, const char *name,
                       struct stat *info) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = openat(p->out, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 && fstat(fd, info) == 0 && S_ISREG(info->st_mode) ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file) close(fd);
    return file;
}

// Runs of one family, which differ only in the seed, share their configuration: one carries it.
static bool has_config(const fgsf_page *p, const page_run *r) {
    size_t family = strlen(r->directory) - strlen(strrchr(r->directory, '/'));
    for (const page_run *o = p->runs; o < r; o++) {
        if (o->json && strncmp(o->directory, r->directory, family + 1) == 0) return true;
    }
    return false;
}

static void read_json(const fgsf_page *p, page_run *r) {
    char path[1024];
    struct stat info;
    snprintf(path, sizeof path, "%s/run.json", r->directory);
    if (fstatat(p->out, path, &info, 0) != 0 || info.st_size > MAX_FILE ||
        memcmp(&info.st_mtim, &r->json_time, sizeof r->json_time) == 0) {
        return;
    }
    FILE *f = open_file(p, r->directory, "run.json", &info);
    char *text = f ? calloc((size_t)info.st_size + 1, 1) : NULL;
    if (text && fread(text, 1, (size_t)info.st_size, f) > 0) {
        char *rest = has_config(p, r) ? strstr(text, ",\n\"fgsf_version\"") : NULL;
        if (rest) strcpy(rest, "}");
        free(r->json);
        r->json = text;
        r->json_time = info.st_mtim;
        r->live = (double)info.st_mtim.tv_sec + 1 >= p->started;
        r->changed = true;
        text = NULL;
    }
    free(text);
    if (f) fclose(f);
}

// Keeps every stride-th row; a curve that gets too long loses every other point.
static void add_point(const fgsf_page *p, page_run *r, const point *row) {
    int most = ALL_POINTS / (p->count + 1);
    most = most < 16 ? 16 : most > MAX_POINTS ? MAX_POINTS : most;
    r->last = *row;
    if (!r->points) r->points = calloc(MAX_POINTS + 1, sizeof *r->points);
    if (!r->points || r->rows++ % r->stride != 0) return;
    r->points[r->count++] = *row;
    if (r->count < most) return;
    for (int i = 0; 2 * i < r->count; i++) r->points[i] = r->points[2 * i];
    r->count = (r->count + 1) / 2;
    r->stride *= 2;
}

// Reads the rows that have come since the last time. A file that has become shorter belongs to a run
// that was resumed: it is read again.
static void read_train(const fgsf_page *p, page_run *r) {
    struct stat info;
    FILE *f = open_file(p, r->directory, "train.csv", &info);
    char line[512];
    if (f && info.st_size < r->read) {
        r->read = r->rows = r->count = r->task = 0;
        memset(&r->base, 0, sizeof r->base);
    }
    if (r->read == 0) r->stride = 1;
    if (f && info.st_size > r->read && fseeko(f, r->read, SEEK_SET) == 0) {
        while (fgets(line, sizeof line, f) && strchr(line, '\n')) {
            int task;
            point now;
            r->read += (off_t)strlen(line);
            if (sscanf(line, "%lf,%d,%*[^,],%lf,%lf,%lf,%lf", &now.v[0], &task, &now.v[1],
                       &now.v[2], &now.v[3], &now.v[4]) != 6) {
                continue;
            }
            if (task != r->task) r->base = r->last; // reward and episodes restart with each task
            r->task = task;
            for (int k = 1; k < 3; k++) now.v[k] += r->base.v[k];
            add_point(p, r, &now);
            r->changed = true;
        }
        r->live |= (double)info.st_mtim.tv_sec + 1 >= p->started;
    }
    if (f) fclose(f);
}

// Prints the mean greedy return and success: of the trained tasks, and of those never trained on.
static void print_scores(FILE *out, const fgsf_page *p, const page_run *r) {
    struct stat info;
    double sums[2][3] = {{0}}, epsilon, value;
    int success;
    char line[512], task[16], model[16];
    FILE *f = open_file(p, r->directory, "eval.csv", &info);
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%15[^,],%*[^,],%15[^,],%lf,%lf,%*[^,],%d", task, model, &epsilon, &value,
                   &success) != 5 ||
            epsilon != 0 || (task[0] != 'h' && strcmp(model, "true") == 0)) {
            continue;
        }
        double *sum = sums[task[0] == 'h'];
        sum[0]++, sum[1] += value, sum[2] += success;
    }
    if (f) fclose(f);
    fprintf(out, ",\"scores\":[");
    for (int i = 0; i < 4; i++) {
        if (i > 0) putc(',', out);
        print_number(out, sums[i / 2][1 + i % 2] / sums[i / 2][0]);
    }
    putc(']', out);
}

static void print_run(const fgsf_page *p, page_run *r) {
    size_t size;
    char *text = NULL;
    FILE *f = open_memstream(&text, &size);
    if (!f) return;
    fprintf(f, "{\"directory\":");
    print_string(f, r->directory);
    fprintf(f, ",\"message\":");
    print_string(f, r->message);
    fprintf(f, ",\"live\":%d,\"ended\":%d,\"steps\":%.0f,\"json\":", r->live, r->ended, r->steps);
    print_string(f, r->json);
    if (r->json && !strstr(r->json, "\"status\": \"running\"")) print_scores(f, p, r);
    fprintf(f, ",\"points\":[");
    for (int i = 0; i <= r->count && r->count > 0; i++) { // the last row is always there
        const point *row = i < r->count ? &r->points[i] : &r->last;
        if (i > 0) putc(',', f);
        for (int k = 0; k < COLUMNS; k++) {
            if (k > 0) putc(',', f);
            print_number(f, row->v[k]);
        }
    }
    fprintf(f, "]}");
    if (fclose(f) != 0) return;
    free(r->text);
    r->text = text;
    r->changed = false;
}

// ---- The page ------------------------------------------------------------------------------------

static page_run *add_run(fgsf_page *p, const char *directory) {
    for (int i = 0; i < p->count; i++) {
        if (strcmp(p->runs[i].directory, directory) == 0) return &p->runs[i];
    }
    if (p->count == p->room) {
        int room = 2 * p->room + 64;
        page_run *runs = realloc(p->runs, (size_t)room * sizeof *runs);
        if (!runs) return NULL;
        p->runs = runs;
        p->room = room;
    }
    page_run *r = &p->runs[p->count];
    *r = (page_run){.directory = strdup(directory), .changed = true};
    return r->directory ? (p->count++, r) : NULL;
}

// Adds what other drivers have left, or are leaving, in the same OUT.
static void find_runs(fgsf_page *p) {
    char path[64], *roots[] = {path, NULL};
    snprintf(path, sizeof path, "/proc/self/fd/%d/.", p->out);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *e;
    while (tree && (e = fts_read(tree))) {
        if (e->fts_info != FTS_D || e->fts_level < 3) continue;
        if (strncmp(e->fts_name, "seed-", 5) == 0) add_run(p, e->fts_path + strlen(path) + 1);
        fts_set(tree, e, FTS_SKIP);
    }
    if (tree) fts_close(tree);
}

static void print_base64(FILE *out, FILE *in) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char b[3];
    for (size_t n; (n = fread(b, 1, 3, in)) > 0;) {
        memset(b + n, 0, 3 - n);
        unsigned bits = (unsigned)b[0] << 16 | (unsigned)b[1] << 8 | b[2];
        for (size_t i = 0; i < 4; i++) {
            putc(i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=', out);
        }
    }
}

static int is_png(const struct dirent *e) {
    const char *dot = strrchr(e->d_name, '.');
    return dot && strcmp(dot, ".png") == 0;
}

static void print_figures(FILE *f, const fgsf_page *p) {
    struct dirent **found;
    struct stat info;
    const char *separator = "";
    int n = scandirat(p->out, "export/figures", &found, is_png, alphasort);
    for (int i = 0; i < n; i++) {
        FILE *figure = open_file(p, "export/figures", found[i]->d_name, &info);
        if (figure) {
            fprintf(f, "%s{\"name\":", separator);
            print_string(f, found[i]->d_name);
            fprintf(f, ",\"png\":\"");
            print_base64(f, figure);
            fprintf(f, "\"}");
            fclose(figure);
            separator = ",\n";
        }
        free(found[i]);
    }
    if (n >= 0) free(found);
}

static void print_page(FILE *f, fgsf_page *p, double eta, const char *state) {
    const char *place = strstr(fgsf_page_html, "$DATA$");
    fwrite(fgsf_page_html, 1, (size_t)(place - fgsf_page_html), f);
    fprintf(f, "{\"title\":");
    print_string(f, p->title);
    fprintf(f, ",\"state\":\"%s\",\"now\":%.1f,\"started\":%.1f,\"eta\":%.0f,\"every\":%.1f,",
            state, now(CLOCK_REALTIME), p->started, eta, p->every);
    fprintf(f, "\"runs\":[\n");
    for (int i = 0; i < p->count; i++) {
        page_run *r = &p->runs[i];
        read_json(p, r);
        read_train(p, r);
        if (r->changed) print_run(p, r);
        fprintf(f, "%s%s", i > 0 ? ",\n" : "", r->text ? r->text : "null");
    }
    fprintf(f, "],\n\"figures\":[");
    if (strcmp(state, "done") == 0) print_figures(f, p);
    fprintf(f, "]}");
    fputs(place + strlen("$DATA$"), f);
}

// Beside the page first, then in its place: whoever opens it sees a whole one.
static bool write_page(fgsf_page *p, double eta, const char *state) {
    char name[64];
    snprintf(name, sizeof name, "index.html.%ld.tmp", (long)getpid());
    unlinkat(p->out, name, 0); // whatever stands there, a link to elsewhere too
    int fd = openat(p->out, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) return false;
    if (p->writes++ % 16 == 0 || strcmp(state, "running") != 0) find_runs(p);
    print_page(f, p, eta, state);
    bool good = !ferror(f);
    good = fclose(f) == 0 && good && renameat(p->out, name, p->out, "index.html") == 0;
    if (!good) unlinkat(p->out, name, 0);
    return good;
}

fgsf_page *fgsf_page_open(const char *out, const char *title) {
    fgsf_page *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->out = open(out, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    p->title = strdup(title);
    p->started = now(CLOCK_REALTIME);
    p->every = SECONDS;
    if (p->out >= 0 && p->title) return p;
    free(p->title);
    free(p);
    return NULL;
}

void fgsf_page_plan(fgsf_page *p, const char *directory, double steps) {
    page_run *r = p ? add_run(p, directory) : NULL;
    if (r) r->steps = steps;
}

void fgsf_page_end_run(fgsf_page *p, int index, const char *message) {
    if (!p || index >= p->count) return;
    page_run *r = &p->runs[index];
    free(r->message);
    r->message = strdup(message);
    r->ended = r->changed = true;
}

void fgsf_page_show(fgsf_page *p, double eta) {
    if (!p || now(CLOCK_MONOTONIC) < p->due) return;
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    write_page(p, eta, "running"); // a failure is told by the last one
    double took = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    if (p->writes > 1)
        p->every = fmax(SECONDS, took / SHARE); // the first reads what was there before
    p->due = now(CLOCK_MONOTONIC) + p->every;
}

bool fgsf_page_close(fgsf_page *p, const char *state) {
    if (!p) return true;
    bool good = write_page(p, 0, state);
    for (int i = 0; i < p->count; i++) {
        page_run *r = &p->runs[i];
        free(r->directory), free(r->message), free(r->json), free(r->text), free(r->points);
    }
    close(p->out);
    free(p->runs);
    free(p->title);
    free(p);
    return good;
}
