// The server's loop, and the other process's end of the line to it.
#include "job_server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/status.h"

typedef struct work {
    fgsf_job job;
    void *ctx;
    fgsf_job_progress *progress;
    fgsf_job_result result; // of the job that runs
} work;

// ---- In the server: a pool that runs one job -----------------------------------------------------

static int run(void *ctx, int index, fgsf_job_progress *progress) {
    work *w = ctx;
    (void)index;
    int code = w->job(w->ctx, w->result.index, w->progress);
    memcpy(progress->message, w->progress->message, sizeof progress->message);
    return code;
}

static void ended(void *ctx, int index, fgsf_job_end end, const char *message) {
    work *w = ctx;
    (void)index;
    w->result.end = end;
    snprintf(w->result.message, sizeof w->result.message, "%s", message);
}

static void run_one(work *w, int32_t index, FILE *nowhere) {
    fgsf_jobs_options options = {.parallel = 1, .quiet = true, .out = nowhere, .ended = ended};
    double started = fgsf_jobs_now();
    memset(w->progress, 0, sizeof *w->progress);
    w->result = (fgsf_job_result){.index = index, .end = FGSF_JOB_INTERRUPTED};
    if (fgsf_jobs_run(run, w, 1, &options) < 0) {
        w->result.end = FGSF_JOB_FAILED;
        snprintf(w->result.message, sizeof w->result.message, "%s", fgsf_last_error());
    }
    w->result.seconds = fgsf_jobs_now() - started;
}

static bool next_order(int fd, int32_t *index) {
    ssize_t n;
    do {
        n = read(fd, index, sizeof *index);
    } while (n < 0 && errno == EINTR); // asked to stop: what comes next is not started
    return n == (ssize_t)sizeof *index;
}

// Its own process group: what is sent to the rank's group must not reach it twice.
static void serve(work *w, int fd, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); // it died in between
    fgsf_jobs_watch_stop();            // between jobs too: the next one then does not start
    FILE *nowhere = fopen("/dev/null", "w");
    int32_t index;
    while (nowhere && next_order(fd, &index)) {
        run_one(w, index, nowhere);
        if (send(fd, &w->result, sizeof w->result, MSG_NOSIGNAL) != (ssize_t)sizeof w->result) {
            break;
        }
    }
    _exit(0);
}

// ---- In the process that starts it ---------------------------------------------------------------

bool fgsf_job_server_start(fgsf_job_server *server, fgsf_job job, void *ctx) {
    int ends[2] = {-1, -1};
    *server = (fgsf_job_server){.fd = -1, .running = -1};
    void *shared = mmap(NULL, sizeof *server->progress, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // What MPI starts must not inherit an end: the server would never see the end of its input.
    const int type = SOCK_SEQPACKET | SOCK_CLOEXEC;
    if (shared == MAP_FAILED || socketpair(AF_UNIX, type, 0, ends) != 0) {
        fgsf_fail(FGSF_ERR_MEMORY, "cannot start a process for jobs: %s", strerror(errno));
        if (shared != MAP_FAILED) munmap(shared, sizeof *server->progress);
        return false;
    }
    pid_t parent = getpid();
    fflush(NULL); // else the server would print it again
    server->progress = shared;
    server->pid = fork();
    if (server->pid == 0) {
        work w = {.job = job, .ctx = ctx, .progress = shared};
        close(ends[0]);
        serve(&w, ends[1], parent);
    }
    close(ends[1]);
    server->fd = ends[0];
    if (server->pid < 0) {
        fgsf_fail(FGSF_ERR_MEMORY, "cannot start a process for jobs: %s", strerror(errno));
        fgsf_job_server_close(server);
        return false;
    }
    setpgid(server->pid, server->pid); // here too: whoever comes first
    return true;
}

bool fgsf_job_server_give(fgsf_job_server *server, int index) {
    int32_t packet = index;
    server->running = index;
    return send(server->fd, &packet, sizeof packet, MSG_NOSIGNAL) == (ssize_t)sizeof packet;
}

int fgsf_job_server_poll(fgsf_job_server *server, int milliseconds, fgsf_job_result *result) {
    struct pollfd wait = {.fd = server->fd, .events = POLLIN};
    if (poll(&wait, 1, milliseconds) <= 0) return 0;
    if (read(server->fd, result, sizeof *result) == (ssize_t)sizeof *result) {
        server->running = -1;
        return 1;
    }
    *result = (fgsf_job_result){.index = server->running, .end = FGSF_JOB_CRASHED};
    snprintf(result->message, sizeof result->message, "the process that runs jobs died");
    server->running = -1;
    return -1;
}

void fgsf_job_server_stop(fgsf_job_server *server) {
    if (server->pid > 0 && server->running >= 0) kill(server->pid, SIGTERM);
}

void fgsf_job_server_close(fgsf_job_server *server) {
    if (server->fd >= 0) close(server->fd); // an idle server ends at the end of its input
    if (server->pid > 0) {
        if (server->running >= 0) kill(server->pid, SIGKILL);
        while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) continue;
    }
    if (server->progress) munmap(server->progress, sizeof *server->progress);
    *server = (fgsf_job_server){.fd = -1, .running = -1};
}
