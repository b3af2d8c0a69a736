// A process that runs jobs one at a time for another process that must not fork.
//
//     fgsf_job_server server;
//     fgsf_job_server_start(&server, job, ctx);             // forks: before anything with threads
//     MPI_Init(...);                                        // from here on this process only waits
//     fgsf_job_server_give(&server, 7);
//     while (fgsf_job_server_poll(&server, 10, &result) == 0) talk_to_others();
//     fgsf_job_server_close(&server);
//
// Under MPI a process that holds network and shared memory should neither fork nor crash. So each
// rank forks this server before MPI_Init; the server runs every job as the pool of jobs.h does, in a
// process of its own that knows nothing of MPI. A job that crashes is a result like any other.
// The server dies with the process that started it, and a running job with the server.
#ifndef FGSF_JOB_SERVER_H
#define FGSF_JOB_SERVER_H

#include <sys/types.h>

#include "jobs.h"

typedef struct fgsf_job_result {
    int32_t index; // -1: none
    int32_t end;   // fgsf_job_end
    double seconds;
    char message[512];
} fgsf_job_result;

typedef struct fgsf_job_server {
    pid_t pid;
    int fd;                      // to and from the server
    int running;                 // index of the job that it has, or -1
    fgsf_job_progress *progress; // of that job, shared with it
} fgsf_job_server;

// Starts a server. Returns false, with a message in fgsf_last_error, when there is no process or no
// memory.
bool fgsf_job_server_start(fgsf_job_server *server, fgsf_job job, void *ctx);

// Starts job `index`; the server must be idle. Returns false when the server is gone.
bool fgsf_job_server_give(fgsf_job_server *server, int index);

// Waits up to `milliseconds` for the running job to end: 1 with its result, 0 when it has not ended,
// -1 when the server is gone (a job that it had then counts as crashed, in `result`).
int fgsf_job_server_poll(fgsf_job_server *server, int milliseconds, fgsf_job_result *result);

// Asks the running job to save its state and stop; a second time kills it.
void fgsf_job_server_stop(fgsf_job_server *server);

// Ends an idle server, kills one that is not, and frees.
void fgsf_job_server_close(fgsf_job_server *server);

#endif
