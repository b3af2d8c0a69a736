// Rank 0 hands out jobs and does some itself; the other ranks ask, work and report.
#include "mpi_jobs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fgsf/status.h"
#include "job_server.h"
#include "progress.h"

// ---- Was this program started by mpirun or srun? -------------------------------------------------

static int number(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

// Slurm sets its own numbers for every step; they mean an MPI program only together with PMIx.
int fgsf_mpi_ranks(void) {
    int n = number("OMPI_COMM_WORLD_SIZE");
    if (n < 1) n = number("PMI_SIZE");
    if (n < 1 && getenv("PMIX_NAMESPACE")) n = number("SLURM_STEP_NUM_TASKS");
    return n > 1 ? n : 1;
}

int fgsf_mpi_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (int i = 0; i < 3 && fgsf_mpi_ranks() > 1; i++) {
        if (number(names[i]) >= 0) return number(names[i]);
    }
    return 0;
}

#ifndef FGSF_HAVE_MPI

int fgsf_mpi_jobs_run(fgsf_job job, void *ctx, int count, const fgsf_jobs_options *options) {
    (void)job, (void)ctx, (void)count, (void)options;
    fgsf_fail(
        FGSF_ERR_UNSUPPORTED,
        "started with %d MPI ranks, but built without MPI: see FGSF_MPI in CMakeLists.txt, or "
        "use --cell K/N",
        fgsf_mpi_ranks());
    return -1;
}

#else

#include <mpi.h>

#define PAUSE_MS 10         // how often a waiting process looks around
#define PATIENCE 60.0       // seconds of silence after which a rank is given up
#define STATUS_SECONDS 30.0 // between lines about the whole
#define REPORTS 6.0         // of each rank, at least, within that time

enum { TAG_REPORT = 1, TAG_ORDER = 2 };
enum { ORDER_NOTHING, ORDER_RUN, ORDER_STOP, ORDER_END, ORDER_LEAVE };

// What a rank tells rank 0, at least every few seconds.
typedef struct report {
    int32_t idle;         // it has no job
    int32_t leaving;      // it wants none
    int32_t bye;          // it knows that the sweep has ended, and says nothing after this
    int64_t steps, total; // of the job that it has
    fgsf_job_result result;
    char host[64];
} report;

// What rank 0 answers.
typedef struct order {
    int32_t what, index;
    int32_t lost; // with ORDER_LEAVE: some rank died, so MPI cannot be ended in an orderly way
} order;

// One rank as rank 0 sees it.
typedef struct peer {
    int job; // -1: none
    bool idle, leaving, bye, lost;
    double heard;
    int64_t steps, total;
    char host[64];
} peer;

// A message that is on its way.
typedef struct message {
    struct message *next;
    MPI_Request request;
    char text[];
} message;

typedef struct sweep {
    void *ctx;
    const fgsf_jobs_options *options;
    fgsf_job_server server;
    int rank, size;
    double patience;
    int stops; // stop requests already passed on
    message *messages;
    // Rank 0 only.
    int count, next, done;
    peer *peers;
    bool any_lost, ending;
    fgsf_progress_view view;
    fgsf_progress_work work;
    double last_status;
} sweep;

// ---- Messages ------------------------------------------------------------------------------------

// Sends without waiting: MPI_Send would wait for the receiver, for ever when that is dead.
static void post(sweep *s, const void *text, size_t size, int to, int tag) {
    message *l = malloc(sizeof *l + size);
    if (!l) MPI_Abort(MPI_COMM_WORLD, 1);
    memcpy(l->text, text, size);
    l->next = s->messages;
    s->messages = l;
    MPI_Isend(l->text, (int)size, MPI_BYTE, to, tag, MPI_COMM_WORLD, &l->request);
}

// Frees the messages that have been sent.
static void forget_sent(sweep *s) {
    message **at = &s->messages;
    while (*at) {
        message *l = *at;
        int gone = 0;
        if (MPI_Test(&l->request, &gone, MPI_STATUS_IGNORE) == MPI_SUCCESS && !gone) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        free(l);
    }
}

static bool arrived(int source, int tag, int *from) {
    int flag = 0;
    MPI_Status status;
    if (MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status) != MPI_SUCCESS || !flag) {
        return false;
    }
    *from = status.MPI_SOURCE;
    return true;
}

static void pause_a_moment(void) {
    struct timespec moment = {0, PAUSE_MS * 1000000L};
    nanosleep(&moment, NULL);
}

// Waits until all messages have been sent, or `seconds`: messages to a dead rank stay.
static void finish_letters(sweep *s, double seconds) {
    double end = fgsf_jobs_now() + seconds;
    for (forget_sent(s); s->messages && fgsf_jobs_now() < end; forget_sent(s)) pause_a_moment();
}

// ---- What all ranks do ---------------------------------------------------------------------------

// Waits for the own job or a moment; true with a result when the job has ended.
static bool wait_a_moment(sweep *s, fgsf_job_result *result, bool *server_lost) {
    forget_sent(s);
    if (s->server.running < 0) {
        pause_a_moment();
        return false;
    }
    int found = fgsf_job_server_poll(&s->server, PAUSE_MS, result);
    if (found < 0) *server_lost = true;
    return found != 0;
}

// Hands new stop requests on to the own job.
static bool pass_on_stops(sweep *s) {
    bool asked = fgsf_stop > s->stops;
    for (; s->stops < fgsf_stop; s->stops++) fgsf_job_server_stop(&s->server);
    return asked;
}

// ---- Ranks that ask ------------------------------------------------------------------------------

static void send_report(sweep *s, const fgsf_job_result *result, bool leaving, bool bye) {
    report r = {.idle = s->server.running < 0, .leaving = leaving, .bye = bye};
    r.result.index = -1;
    if (result) r.result = *result;
    if (s->server.running >= 0) {
        r.steps = s->server.progress->steps;
        r.total = s->server.progress->total;
    }
    gethostname(r.host, sizeof r.host - 1);
    post(s, &r, sizeof r, 0, TAG_REPORT);
}

// Does what rank 0 wants.
static order receive_order(sweep *s) {
    order o;
    MPI_Recv(&o, sizeof o, MPI_BYTE, 0, TAG_ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (o.what == ORDER_RUN) {
        fgsf_job_server_give(&s->server, o.index);
        if (fgsf_stop) fgsf_job_server_stop(&s->server); // on its way before rank 0 knew
    }
    if (o.what == ORDER_STOP && !fgsf_stop) fgsf_stop = 1;
    if (o.what == ORDER_END && !s->ending) {
        s->ending = true;
        send_report(s, NULL, true, true);
    }
    return o;
}

// Returns whether MPI can still be ended in an orderly way; *orphan when rank 0 is gone. Towards the
// end rank 0 may itself be waiting for a silent rank, so it has twice the time.
static bool follow(sweep *s, bool willing, bool *orphan) {
    bool server_lost = false;
    order o = {.what = ORDER_NOTHING};
    double heard = fgsf_jobs_now(), sent = fgsf_jobs_now();
    send_report(s, NULL, !willing, false);
    while (o.what != ORDER_LEAVE && !*orphan) {
        fgsf_job_result result;
        int from;
        bool ended = wait_a_moment(s, &result, &server_lost);
        pass_on_stops(s);
        if (!s->ending && (ended || fgsf_jobs_now() - sent > s->patience / REPORTS)) {
            send_report(s, ended ? &result : NULL, !willing || fgsf_stop || server_lost, false);
            sent = fgsf_jobs_now();
        }
        while (o.what != ORDER_LEAVE && arrived(0, TAG_ORDER, &from)) {
            heard = fgsf_jobs_now();
            o = receive_order(s);
        }
        *orphan =
            o.what != ORDER_LEAVE && fgsf_jobs_now() - heard > (s->ending ? 2 : 1) * s->patience;
    }
    return !o.lost && !*orphan;
}

// ---- Rank 0 --------------------------------------------------------------------------------------

static void say_start(sweep *s, int rank) {
    char line[600];
    if (s->options->quiet) return;
    snprintf(line, sizeof line, "start  %s  rank %d on %s",
             s->options->name(s->ctx, s->peers[rank].job), rank, s->peers[rank].host);
    fgsf_progress_say(&s->view, line);
}

static void say_end(sweep *s, int rank, const fgsf_job_result *r) {
    static const char *const words[] = {"done", "stop", "FAILED", "FAILED"};
    char line[900], took[32];
    if (s->options->quiet && r->end < FGSF_JOB_FAILED) return;
    fgsf_progress_duration(r->seconds, took, sizeof took);
    snprintf(line, sizeof line, "%-6s %s  %s  rank %d on %s%s%s", words[r->end],
             s->options->name(s->ctx, r->index), took, rank, s->peers[rank].host,
             *r->message ? "  " : "", r->message);
    fgsf_progress_say(&s->view, line);
}

static double cost_of(const sweep *s, int index) {
    return s->options->cost ? s->options->cost(s->ctx, index) : 1;
}

static void note_end(sweep *s, int rank, const fgsf_job_result *result) {
    s->peers[rank].job = -1;
    s->peers[rank].steps = s->peers[rank].total = 0;
    s->work.ended += cost_of(s, result->index);
    s->done += result->end == FGSF_JOB_DONE;
    say_end(s, rank, result);
    if (s->options->ended) s->options->ended(s->ctx, result->index, result->end, result->message);
}

static void send_order(sweep *s, int rank, int what, int index) {
    order o = {.what = what, .index = index, .lost = s->any_lost};
    post(s, &o, sizeof o, rank, TAG_ORDER);
}

static void tell_everyone(sweep *s, int what) {
    for (int k = 1; k < s->size; k++) {
        if (!s->peers[k].lost) send_order(s, k, what, -1);
    }
}

// Takes a report in and answers it, so that the rank knows that rank 0 lives.
static void hear(sweep *s, int rank) {
    report r;
    peer *p = &s->peers[rank];
    MPI_Recv(&r, sizeof r, MPI_BYTE, rank, TAG_REPORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memcpy(p->host, r.host, sizeof p->host);
    p->heard = fgsf_jobs_now();
    p->leaving = r.leaving;
    p->bye = r.bye;
    p->steps = r.steps;
    p->total = r.total;
    p->lost = false; // it was only slow
    if (r.result.index >= 0) note_end(s, rank, &r.result);
    p->idle = r.idle && p->job < 0;
    if (!p->bye) send_order(s, rank, s->ending ? ORDER_END : ORDER_NOTHING, -1);
}

// Gives the next jobs to whoever is idle.
static void hand_out(sweep *s) {
    for (int k = 0; k < s->size && s->next < s->count && !fgsf_stop; k++) {
        peer *p = &s->peers[k];
        if (!p->idle || p->leaving || p->lost) continue;
        p->idle = false;
        p->job = s->next++;
        say_start(s, k);
        if (k > 0) {
            send_order(s, k, ORDER_RUN, p->job);
        } else {
            fgsf_job_server_give(&s->server, p->job);
        }
    }
}

static void give_up_silent(sweep *s) {
    for (int k = 1; k < s->size; k++) {
        peer *p = &s->peers[k];
        if (p->lost || p->bye || fgsf_jobs_now() - p->heard < s->patience) continue;
        p->lost = s->any_lost = true;
        fgsf_job_result r = {.index = p->job, .end = FGSF_JOB_CRASHED, .seconds = s->patience};
        snprintf(r.message, sizeof r.message, "silent for %.0f s: given up", s->patience);
        if (p->job < 0) {
            char line[700];
            snprintf(line, sizeof line, "LOST   rank %d on %s: %s", k, p->host, r.message);
            fgsf_progress_say(&s->view, line);
            continue;
        }
        note_end(s, k, &r);
    }
}

static int running(const sweep *s) {
    int n = 0;
    for (int k = 0; k < s->size; k++) n += s->peers[k].job >= 0;
    return n;
}

static bool anyone_left(const sweep *s) {
    for (int k = 0; k < s->size; k++) {
        if (!s->peers[k].leaving && !s->peers[k].lost) return true;
    }
    return false;
}

static double time_left(const sweep *s) {
    fgsf_progress_work work = s->work;
    for (int k = 0; k < s->size; k++) {
        const peer *p = &s->peers[k];
        if (p->job < 0 || p->total <= 0) continue;
        work.ended += cost_of(s, p->job) * (double)p->steps / (double)p->total;
    }
    return fgsf_progress_eta(&work, fgsf_jobs_now());
}

static void say_status(sweep *s, double eta) {
    if (s->options->quiet || fgsf_jobs_now() - s->last_status < STATUS_SECONDS) return;
    char line[128], left[32] = "-";
    if (eta >= 0) fgsf_progress_duration(eta, left, sizeof left);
    snprintf(line, sizeof line, "%d of %d done, %d running, ETA %s", s->done, s->count, running(s),
             left);
    fgsf_progress_say(&s->view, line);
    s->last_status = fgsf_jobs_now();
}

static bool all_said_bye(const sweep *s) {
    for (int k = 1; k < s->size; k++) {
        if (!s->peers[k].bye && !s->peers[k].lost) return false;
    }
    return true;
}

// Lets the others go in two steps: how to end MPI is known only when every rank has answered, since
// an idle one may have died unnoticed. Also, nobody leaves while something is on its way to it.
static void dismiss(sweep *s) {
    int from;
    s->ending = true;
    for (int k = 1; k < s->size; k++) s->peers[k].heard = fgsf_jobs_now();
    tell_everyone(s, ORDER_END);
    while (!all_said_bye(s)) {
        pause_a_moment();
        forget_sent(s);
        while (arrived(MPI_ANY_SOURCE, TAG_REPORT, &from)) hear(s, from);
        give_up_silent(s);
    }
    tell_everyone(s, ORDER_LEAVE);
}

// Returns whether MPI can still be ended in an orderly way.
static bool lead(sweep *s) {
    bool server_lost = false;
    while (running(s) > 0 || (s->next < s->count && !fgsf_stop && anyone_left(s))) {
        fgsf_job_result result;
        int from;
        if (wait_a_moment(s, &result, &server_lost)) {
            note_end(s, 0, &result);
            s->peers[0].idle = true;
        }
        s->peers[0].leaving = server_lost;
        if (s->server.running >= 0) {
            s->peers[0].steps = s->server.progress->steps;
            s->peers[0].total = s->server.progress->total;
        }
        if (pass_on_stops(s)) tell_everyone(s, ORDER_STOP);
        while (arrived(MPI_ANY_SOURCE, TAG_REPORT, &from)) hear(s, from);
        give_up_silent(s);
        hand_out(s);
        double eta = time_left(s);
        say_status(s, eta);
        if (s->options->tick) s->options->tick(s->ctx, eta);
    }
    dismiss(s);
    return !s->any_lost;
}

// ---- Both ----------------------------------------------------------------------------------------

static bool prepare_lead(sweep *s, int count) {
    s->count = count > 0 ? count : 0;
    s->peers = calloc((size_t)s->size, sizeof *s->peers);
    fgsf_progress_open(&s->view, s->options->out ? s->options->out : stderr, s->options->quiet);
    s->view.live = false;
    s->last_status = s->work.started = fgsf_jobs_now();
    for (int i = 0; i < s->count; i++) s->work.all += cost_of(s, i);
    for (int k = 0; k < s->size && s->peers; k++) {
        s->peers[k] = (peer){.job = -1, .idle = k == 0, .heard = fgsf_jobs_now(), .host = "?"};
    }
    if (s->peers) gethostname(s->peers[0].host, sizeof s->peers[0].host - 1);
    return s->peers != NULL;
}

int fgsf_mpi_jobs_run(fgsf_job job, void *ctx, int count, const fgsf_jobs_options *options) {
    sweep s = {.ctx = ctx, .options = options};
    int wanted = number("FGSF_MPI_PATIENCE");
    s.patience = wanted >= 2 ? wanted : PATIENCE;
    if (!fgsf_job_server_start(&s.server, job, ctx)) return -1;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        fgsf_job_server_close(&s.server);
        fgsf_fail(FGSF_ERR_UNSUPPORTED, "MPI does not start");
        return -1;
    }
    fgsf_jobs_watch_stop();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    if (s.size != fgsf_mpi_ranks()) { // else every process would take itself for rank 0
        fgsf_job_server_close(&s.server);
        MPI_Finalize();
        fgsf_fail(
            FGSF_ERR_UNSUPPORTED,
            "the environment speaks of %d MPI ranks, but MPI has %d: start with mpirun or srun, "
            "or without the variables that they set",
            fgsf_mpi_ranks(), s.size);
        return -1;
    }
    if (s.rank == 0 && !prepare_lead(&s, count)) MPI_Abort(MPI_COMM_WORLD, 1);
    bool orphan = false, orderly = s.rank == 0 ? lead(&s) : follow(&s, count >= 0, &orphan);
    finish_letters(&s, orderly ? s.patience : 1);
    fgsf_job_server_close(&s.server);
    free(s.peers);
    if (orderly) MPI_Finalize(); // with a dead rank it may wait for ever
    if (orphan) {
        fgsf_fail(FGSF_ERR_UNSUPPORTED, "rank %d: rank 0 is silent; go on with --resume", s.rank);
        return -1;
    }
    return s.rank == 0 ? s.count - s.done : 0;
}

#endif
