// Jobs over the ranks of an MPI program, handed out one at a time.
//
//     if (fgsf_mpi_ranks() > 1) {
//         int unfinished = fgsf_mpi_jobs_run(job, ctx, count, &options);
//         if (fgsf_mpi_rank() > 0) return 0;                // rank 0 goes on alone
//     }
//
// Every rank works, rank 0 too. A rank that is idle asks rank 0, which hands out the next job: no
// rank idles while jobs remain, and with the long jobs first they all end together. The processes
// that speak MPI only wait; jobs run in processes forked before MPI starts (job_server.h), so a job
// that crashes costs its rank nothing.
//
// Ranks report every few seconds. One that is silent for FGSF_MPI_PATIENCE seconds (60 without that
// environment variable) is given up together with its job, and the others go on, provided that the
// MPI does not end them: Open MPI's mpirun goes on with --enable-recovery, and without it ends all
// ranks when one dies. Whatever is missing then is done by the same command with --resume.
//
// Nothing here touches MPI unless the process was started with more than one rank.
#ifndef FGSF_MPI_JOBS_H
#define FGSF_MPI_JOBS_H

#include "jobs.h"

// Returns the number of ranks that this program was started with, 1 when it was started alone, as
// the environment tells it: mpirun of Open MPI and MPICH, srun with PMI-2 or PMIx.
int fgsf_mpi_ranks(void);

// Returns the rank of this process, 0 when it was started alone.
int fgsf_mpi_rank(void);

// Runs the jobs 0..count-1 on all ranks; call it on all of them, once. At rank 0 returns how many
// did not end as done, elsewhere 0; -1 (with a message in fgsf_last_error) when the ranks could not
// run or lost rank 0. What rank 0 passes as `count` and `options` counts: lines about jobs come from
// it, and it calls options->ended for the jobs of all ranks. A rank that cannot work passes a count
// below 0, so that the others do not wait for it.
int fgsf_mpi_jobs_run(fgsf_job job, void *ctx, int count, const fgsf_jobs_options *options);

#endif
