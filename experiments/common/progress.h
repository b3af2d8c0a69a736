// The display of running jobs: live bars on a terminal, plain lines otherwise.
#ifndef FGSF_PROGRESS_H
#define FGSF_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// One running job as the display sees it.
typedef struct fgsf_progress_job {
    const char *name;
    int64_t steps, total;
    double seconds; // since the job started
    double last_return, loss;
} fgsf_progress_job;

typedef struct fgsf_progress_view {
    FILE *out;
    bool live, quiet;
    int lines;        // of the live area, to be redrawn
    double last_line; // time of the last plain progress lines
} fgsf_progress_view;

void fgsf_progress_open(fgsf_progress_view *view, FILE *out, bool quiet);

// Prints a line that stays.
void fgsf_progress_say(fgsf_progress_view *view, const char *line);

// Shows the running jobs, how many of all are done and how long the rest takes.
void fgsf_progress_show(fgsf_progress_view *view, const fgsf_progress_job *jobs, int count,
                        int done, int all, double eta, double now);

// Removes the live area.
void fgsf_progress_clear(fgsf_progress_view *view);

// How much of a sweep is done, in the unit of its jobs' costs.
typedef struct fgsf_progress_work {
    double all, ended;
    double before;  // what of `ended` was there before the sweep started
    double started; // seconds
} fgsf_progress_work;

// Returns how many seconds the rest takes at the speed so far; -1 while that is unknown.
double fgsf_progress_eta(const fgsf_progress_work *work, double now);

// Writes a duration as 0:07, 12:34 or 1:02:03.
void fgsf_progress_duration(double seconds, char *text, size_t size);

#endif
