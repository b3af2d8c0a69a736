// One run from beginning to end: train, checkpoint, evaluate, leave everything in its directory.
#ifndef FGSF_RUN_ONE_H
#define FGSF_RUN_ONE_H

#include "fgsf/run.h"
#include "jobs.h"

// Runs, or resumes, one run; the return value is a job's: 0, FGSF_JOB_STOPPED, or 1 with a message
// in `progress`. A diverged run counts as 0.
int fgsf_run_one(const fgsf_run_id *id, const fgsf_config *cfg, bool resume,
                 fgsf_job_progress *progress);

#endif
