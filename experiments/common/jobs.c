// The process pool. One loop waits for signals, collects workers, starts new ones and redraws.
#include "jobs.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fgsf/status.h"
#include "progress.h"

#define REDRAW_SECONDS 0.2

volatile sig_atomic_t fgsf_stop = 0;

typedef struct worker {
    pid_t pid;
    int index;
    double started;
    int64_t first_steps; // when its first progress was seen: a resumed job does not start at 0
    bool seen;
} worker;

typedef struct pool {
    fgsf_job job;
    void *ctx;
    const fgsf_jobs_options *options;
    fgsf_job_progress *progress; // (count), shared with the workers
    worker *workers;             // (parallel)
    fgsf_progress_job *shown;    // (parallel)
    fgsf_progress_view view;
    sigset_t outside; // the signal mask to wait and to work with
    int count, next, running, parallel, done, ended;
    int passed_on; // stop requests already handed to the workers
    fgsf_progress_work work;
} pool;

double fgsf_jobs_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Signals within a second are one request: a scheduler may signal twice, or at the same time as the
// terminal.
static void on_stop(int signal_number) {
    static volatile double asked; // clock_gettime may be called here
    (void)signal_number;
    if (fgsf_stop == 0) asked = fgsf_jobs_now();
    if (fgsf_stop == 0 || (fgsf_stop == 1 && fgsf_jobs_now() - asked >= 1.0)) fgsf_stop++;
}

static void on_child(int signal_number) {
    (void)signal_number; // only interrupts ppoll
}

int fgsf_jobs_cores(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return n > 0 ? n : 1;
}

static const char *name_of(const pool *p, int index) {
    static char text[32];
    if (p->options->name) return p->options->name(p->ctx, index);
    snprintf(text, sizeof text, "job %d", index);
    return text;
}

static double cost_of(const pool *p, int index) {
    return p->options->cost ? p->options->cost(p->ctx, index) : 1;
}

// The share of a job that is done after `steps`; `unknown` when it never said how many it has.
static double share_of(const pool *p, int index, int64_t steps, double unknown) {
    int64_t total = p->progress[index].total;
    return total > 0 ? (double)steps / (double)total : unknown;
}

// ---- Workers -------------------------------------------------------------------------------------

static void install(int signal_number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler; // no SA_RESTART: ppoll must return
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void fgsf_jobs_watch_stop(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct sigaction old;
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) install(signals[i], on_stop);
    }
}

// The life of a worker. Its own process group keeps the terminal's Ctrl-C away from it, so that the
// driver alone decides; the death signal ends it with the driver.
static void work(const pool *p, int index, pid_t driver) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != driver) _exit(1); // the driver died in between
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); // a closed terminal must not cost the run
    signal(SIGXFSZ, SIG_IGN); // a file limit is then an error with a name
    sigprocmask(SIG_SETMASK, &p->outside, NULL);
    int code = p->job(p->ctx, index, &p->progress[index]);
    p->progress[index].returned = true;
    fflush(NULL);
    _exit(code & 255);
}

static bool start_worker(pool *p) {
    pid_t driver = getpid();
    fflush(NULL); // else the worker would print it again
    pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) work(p, p->next, driver);
    setpgid(pid, pid); // here too: whoever comes first
    p->workers[p->running++] = (worker){.pid = pid, .index = p->next, .started = fgsf_jobs_now()};
    if (!p->options->quiet && !p->view.live) {
        char line[256];
        snprintf(line, sizeof line, "start  %s", name_of(p, p->next));
        fgsf_progress_say(&p->view, line);
    }
    p->next++;
    return true;
}

static fgsf_job_end classify(int status, bool returned, char *message, size_t size) {
    if (WIFSIGNALED(status)) {
        if (fgsf_stop && WTERMSIG(status) == SIGKILL) {
            snprintf(message, size, "killed while stopping");
            return FGSF_JOB_INTERRUPTED;
        }
        snprintf(message, size, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return FGSF_JOB_CRASHED;
    }
    if (!returned) { // a plugin may call exit(0), which is not the end of a job
        snprintf(message, size, "the process ended within the job, with exit code %d",
                 WEXITSTATUS(status));
        return FGSF_JOB_CRASHED;
    }
    if (WEXITSTATUS(status) == 0) return FGSF_JOB_DONE;
    if (WEXITSTATUS(status) == FGSF_JOB_STOPPED) return FGSF_JOB_INTERRUPTED;
    if (!*message) snprintf(message, size, "exit code %d", WEXITSTATUS(status));
    return FGSF_JOB_FAILED;
}

static void finish_worker(pool *p, int slot, int status) {
    static const char *const words[] = {"done", "stop", "FAILED", "FAILED"};
    worker w = p->workers[slot];
    char message[512], line[900], took[32];
    snprintf(message, sizeof message, "%.511s", p->progress[w.index].message);
    bool returned = p->progress[w.index].returned;
    fgsf_job_end end = classify(status, returned, message, sizeof message);
    fgsf_progress_duration(fgsf_jobs_now() - w.started, took, sizeof took);
    snprintf(line, sizeof line, "%-6s %s  %s%s%s", words[end], name_of(p, w.index), took,
             *message ? "  " : "", message);
    if (!p->options->quiet || end >= FGSF_JOB_FAILED) fgsf_progress_say(&p->view, line);
    p->workers[slot] = p->workers[--p->running];
    p->ended++;
    p->done += end == FGSF_JOB_DONE;
    double cost = cost_of(p, w.index);
    p->work.ended += cost;
    p->work.before += cost * share_of(p, w.index, w.first_steps, 1);
    if (p->options->ended) p->options->ended(p->ctx, w.index, end, message);
}

static void collect(pool *p) {
    for (int slot = p->running - 1; slot >= 0; slot--) {
        int status = 0;
        pid_t pid = waitpid(p->workers[slot].pid, &status, WNOHANG);
        if (pid == p->workers[slot].pid) finish_worker(p, slot, status);
    }
}

// Passes stop requests on: the first asks the jobs to stop, the second kills them, with any
// children (the process group).
static void pass_on(pool *p) {
    int wanted = fgsf_stop;
    if (wanted <= p->passed_on) return;
    p->passed_on = wanted;
    for (int i = 0; i < p->running; i++) kill(-p->workers[i].pid, wanted == 1 ? SIGTERM : SIGKILL);
    if (!p->options->quiet && wanted == 1) {
        fgsf_progress_say(&p->view, "stopping: running jobs save their state; again to kill them");
    }
}

// ---- The loop ------------------------------------------------------------------------------------

static void show(pool *p) {
    double t = fgsf_jobs_now();
    fgsf_progress_work work = p->work;
    for (int i = 0; i < p->running; i++) {
        worker *w = &p->workers[i];
        int64_t steps = p->progress[w->index].steps;
        if (!w->seen && p->progress[w->index].total > 0) {
            w->seen = true;
            w->first_steps = steps;
        }
        p->shown[i] = (fgsf_progress_job){
            .name = "",
            .steps = steps,
            .total = p->progress[w->index].total,
            .seconds = t - w->started,
            .last_return = p->progress[w->index].last_return,
            .loss = p->progress[w->index].loss,
        };
        work.ended += cost_of(p, w->index) * share_of(p, w->index, steps, 0);
        work.before += cost_of(p, w->index) * share_of(p, w->index, w->first_steps, 0);
    }
    // Names are only valid until the next call, so they are copied last, into one block.
    char names[64][64];
    int shown = p->running < 64 ? p->running : 64;
    for (int i = 0; i < shown; i++) {
        snprintf(names[i], sizeof names[i], "%s", name_of(p, p->workers[i].index));
        p->shown[i].name = names[i];
    }
    double eta = fgsf_progress_eta(&work, t);
    fgsf_progress_show(&p->view, p->shown, shown, p->done, p->count, eta, t);
    if (p->options->tick) p->options->tick(p->ctx, eta);
}

static bool loop(pool *p) {
    while (p->running > 0 || (p->next < p->count && !fgsf_stop)) {
        bool forked = true; // one that fails for lack of memory is tried again later
        while (forked && p->running < p->parallel && p->next < p->count && !fgsf_stop) {
            forked = start_worker(p);
        }
        if (!forked && p->running == 0) return false;
        struct timespec wait = {0, (long)(REDRAW_SECONDS * 1e9)};
        ppoll(NULL, 0, &wait, &p->outside);
        pass_on(p);
        collect(p);
        show(p);
    }
    return true;
}

static bool allocate(pool *p) {
    size_t size = sizeof *p->progress * (size_t)(p->count > 0 ? p->count : 1);
    p->progress = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p->workers = calloc((size_t)p->parallel, sizeof *p->workers);
    p->shown = calloc((size_t)p->parallel, sizeof *p->shown);
    if (p->progress == MAP_FAILED) p->progress = NULL;
    return p->progress && p->workers && p->shown;
}

static void release(pool *p) {
    if (p->progress) munmap(p->progress, sizeof *p->progress * (size_t)(p->count ? p->count : 1));
    free(p->workers);
    free(p->shown);
}

int fgsf_jobs_run(fgsf_job job, void *ctx, int count, const fgsf_jobs_options *options) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    pool p = {.job = job, .ctx = ctx, .options = options, .count = count};
    struct sigaction old[4];
    sigset_t mask;
    p.parallel = options->parallel > 0 ? options->parallel : fgsf_jobs_cores();
    if (p.parallel > count) p.parallel = count > 0 ? count : 1;
    fgsf_progress_open(&p.view, options->out ? options->out : stderr, options->quiet);
    if (!allocate(&p)) {
        release(&p);
        fgsf_fail(FGSF_ERR_MEMORY, "no memory for %d jobs", count);
        return -1;
    }
    // Signals arrive only inside ppoll, so none is lost between a look at fgsf_stop and the wait.
    sigemptyset(&mask);
    for (int i = 0; i < 4; i++) sigaddset(&mask, signals[i]);
    sigprocmask(SIG_BLOCK, &mask, &p.outside);
    for (int i = 0; i < 4; i++) {
        sigaction(signals[i], NULL, &old[i]);
        bool ignored = old[i].sa_handler == SIG_IGN; // nohup, or a shell's background job
        if (i == 3 || !ignored) install(signals[i], i < 3 ? on_stop : on_child);
    }
    p.work.started = fgsf_jobs_now();
    for (int i = 0; i < count; i++) p.work.all += cost_of(&p, i);
    bool ran = loop(&p);
    int error = errno;
    fgsf_progress_clear(&p.view);
    for (int i = 0; i < 4; i++) sigaction(signals[i], &old[i], NULL);
    sigprocmask(SIG_SETMASK, &p.outside, NULL);
    release(&p);
    if (!ran) {
        fgsf_fail(FGSF_ERR_MEMORY, "cannot start a process: %s", strerror(error));
        return -1;
    }
    return count - p.done;
}
