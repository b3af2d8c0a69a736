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
    double rate;    // steps per second, 0 while unknown
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

// Shows the running jobs and how many of all are done.
void fgsf_progress_show(fgsf_progress_view *view, const fgsf_progress_job *jobs, int count,
                        int done, int all, double now);

// Removes the live area.
void fgsf_progress_clear(fgsf_progress_view *view);

// Writes a duration as 0:07, 12:34 or 1:02:03.
void fgsf_progress_duration(double seconds, char *text, size_t size);

#endif
