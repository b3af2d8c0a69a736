// The live page of a sweep: OUT/index.html, one file that needs no server and refreshes itself.
//
//     fgsf_page *page = fgsf_page_open("runs", "four_rooms");
//     fgsf_page_plan(page, "four_rooms/dqn/seed-0", 60000); // run 0, to come
//     fgsf_page_show(page, eta);                            // as often as you like
//     fgsf_page_end_run(page, 0, "");                       // its process has ended
//     fgsf_page_close(page, "done");
//
// It shows every run directory of OUT, and the planned runs that have none yet. This file only gathers
// what the run directories hold; experiments/page/ is the page. All calls accept a NULL page.
#ifndef FGSF_PAGE_H
#define FGSF_PAGE_H

#include <stdbool.h>

typedef struct fgsf_page fgsf_page;

// Returns NULL without memory, or when OUT cannot be opened: a sweep can do without its page.
fgsf_page *fgsf_page_open(const char *out, const char *title);

// Adds a run of this sweep: its directory below OUT and its number of steps.
void fgsf_page_plan(fgsf_page *page, const char *directory, double steps);

// Notes that the process of planned run `index` has ended; `message` says why, or is "".
void fgsf_page_end_run(fgsf_page *page, int index, const char *message);

// Writes the page when it is due: every few seconds, and so seldom that it takes below 1 % of the time
// of one core. `eta` is the sweep's, in seconds; negative when unknown.
void fgsf_page_show(fgsf_page *page, double eta);

// Writes the page a last time, with the figures of OUT/export, and frees. `state` is what the sweep has
// come to: "done" or "stopped". Returns false, with the reason in errno, when it cannot be written.
bool fgsf_page_close(fgsf_page *page, const char *state);

#endif
