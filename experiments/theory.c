// Checks the theory by numbers: runs the studies of common/theory.h and prints their rows.
//
//     theory [STUDY ...] [--out DIR]
//
// It only picks studies and opens files. Exit code: 0 when every row passes, 1 when one fails or a
// study cannot run, 2 for a wrong command line.
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "flags.h"
#include "say.h"
#include "theory.h"

#define MAX_NAMES 16

typedef struct options {
    const char *out;
    bool quick, all;
    bool chosen[MAX_NAMES];
} options;

// Chooses the studies that the words name.
static bool choose(options *o, const char *const *names, int count) {
    o->all = count == 0;
    for (int i = 0; i < count; i++) {
        int k = 0;
        while (k < theory_num_studies && strcmp(theory_studies[k].name, names[i]) != 0) k++;
        if (k < theory_num_studies) {
            o->chosen[k] = true;
        } else if (strcmp(names[i], "all") == 0) {
            o->all = true;
        } else {
            fgsf_say("theory: there is no study '%.80s'; --help lists them", names[i]);
            return false;
        }
    }
    return true;
}

// Reads the command line; returns FGSF_FLAGS_RUN or the exit code.
static int read_options(int argc, char **argv, options *o) {
    char about[2048] = "Compares what the library computes with exact values, row by row.\n\n";
    const char *names[MAX_NAMES];
    for (int i = 0; i < theory_num_studies; i++) {
        size_t used = strlen(about);
        snprintf(about + used, sizeof about - used, "  %-22s %s\n", theory_studies[i].name,
                 theory_studies[i].about);
    }
    strncat(about, "  all                    the same as no name: every study", 64);
    const fgsf_flag table[] = {
        {"--out", "DIR", "where the rows, the curves and their figures go (runs/theory)",
         .text = &o->out},
        {"--quick", NULL, "leave out the runs that take seconds", .on = &o->quick},
    };
    fgsf_flags flags = {"theory",       "[STUDY ...] [FLAGS]", about, table, 2,
                        .words = names, .max_words = MAX_NAMES};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN) return code;
    return choose(o, names, flags.num_words) ? FGSF_FLAGS_RUN : FGSF_FLAGS_BAD;
}

static void run_studies(const options *o, theory_report *report) {
    char path[4096];
    report->status = fgsf_device_open("auto", &report->device);
    snprintf(path, sizeof path, "%s/theory.csv", o->out);
    if (report->status == FGSF_OK && !(report->csv = fopen(path, "w"))) {
        report->status = fgsf_fail(FGSF_ERR_IO, "%s: cannot be written", path);
    }
    if (report->csv) fprintf(report->csv, "study,quantity,expected,measured,tolerance,pass\n");
    for (int i = 0; i < theory_num_studies; i++) {
        if (o->all || o->chosen[i]) theory_run(report, &theory_studies[i]);
    }
    bool bad = report->csv && ferror(report->csv);
    if (report->csv && (fclose(report->csv) != 0 || bad) && report->status == FGSF_OK) {
        report->status = fgsf_fail(FGSF_ERR_IO, "%s: the file is incomplete", path);
    }
    fgsf_device_free(report->device);
}

int main(int argc, char **argv) {
    options o = {.out = "runs/theory"};
    int code = read_options(argc, argv, &o);
    if (code != FGSF_FLAGS_RUN) return code;
    if (!fgsf_draw_folder("theory", o.out)) return 2;
    theory_report report = {.out = stdout, .curves = o.out, .quick = o.quick};
    run_studies(&o, &report);
    if (report.status != FGSF_OK) {
        fgsf_say("theory: %s", fgsf_last_error());
        return 1;
    }
    bool drawn = fgsf_draw("theory", o.out, false);
    printf("\n%d rows, %d failed\n", report.rows, report.failed);
    if (!drawn) return 2;
    return report.failed ? 1 : 0;
}
