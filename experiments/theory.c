// The theory, checked by numbers: runs the studies of common/theory.h and prints their rows.
//
//     theory [STUDY ...] [--csv FILE] [--curves DIR]
//
// It only picks studies and opens files. Exit code: 0 when every row passes, 1 when one fails or a
// study cannot run, 2 for a wrong command line.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "theory.h"
#include "plugins.h"
#include "say.h"

typedef struct options {
    const char *csv, *curves;
    bool quick, help;
    bool chosen[16];
    int num_chosen;
} options;

static void usage(FILE *out) {
    fprintf(out, "usage: theory [STUDY ...] [--csv FILE] [--curves DIR] [--quick]\n\n"
                 "Compares what the library computes with exact values, row by row.\n\n");
    for (int i = 0; i < theory_num_studies; i++) {
        fprintf(out, "    %-12s %s\n", theory_studies[i].name, theory_studies[i].about);
    }
    fprintf(out, "    %-12s the same as no name: every study\n\n", "all");
    fprintf(out, "    --csv FILE    write study,quantity,expected,measured,tolerance,pass\n"
                 "    --curves DIR  write theory_STUDY.csv (series,x,y), for the figures\n"
                 "    --quick       leave out the runs that take seconds\n"
                 "    --help        this text\n");
}

static int find_study(const char *name) {
    for (int i = 0; i < theory_num_studies; i++) {
        if (strcmp(theory_studies[i].name, name) == 0) return i;
    }
    return -1;
}

// Returns false after one line about what is wrong.
static bool parse(int argc, char **argv, options *o) {
    for (int i = 1; i < argc; i++) {
        const char **file = strcmp(argv[i], "--csv") == 0      ? &o->csv
                            : strcmp(argv[i], "--curves") == 0 ? &o->curves
                                                               : NULL;
        int study = find_study(argv[i]);
        if (file && i + 1 < argc) {
            *file = argv[++i];
        } else if (file) {
            fgsf_say("theory: %s needs a value", argv[i]);
            return false;
        } else if (strcmp(argv[i], "--quick") == 0) {
            o->quick = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o->help = true;
        } else if (strcmp(argv[i], "all") == 0) {
            for (int k = 0; k < theory_num_studies; k++) o->chosen[k] = true;
            o->num_chosen = theory_num_studies;
        } else if (study >= 0) {
            o->chosen[study] = true;
            o->num_chosen++;
        } else {
            fgsf_say("theory: no study or option '%s'; see theory --help", argv[i]);
            return false;
        }
    }
    return true;
}

static void run_studies(const options *o, theory_report *report) {
    report->status = fgsf_device_open("auto", &report->device);
    if (o->curves) mkdir(o->curves, 0777); // where that fails, opening a file in it does, too
    if (o->csv && report->status == FGSF_OK) {
        report->csv = fopen(o->csv, "w");
        if (!report->csv) report->status = fgsf_fail(FGSF_ERR_IO, "%s: cannot be written", o->csv);
    }
    if (report->csv) fprintf(report->csv, "study,quantity,expected,measured,tolerance,pass\n");
    for (int i = 0; i < theory_num_studies; i++) {
        if (o->num_chosen == 0 || o->chosen[i]) theory_run(report, &theory_studies[i]);
    }
    if (report->csv && fclose(report->csv) != 0 && report->status == FGSF_OK) {
        report->status = fgsf_fail(FGSF_ERR_IO, "%s: the file is incomplete", o->csv);
    }
    fgsf_device_free(report->device);
}

int main(int argc, char **argv) {
    if (!fgsf_plugins_load("theory", &argc, argv)) return 2;
    options o = {0};
    if (!parse(argc, argv, &o)) return 2;
    if (o.help) {
        usage(stdout);
        return 0;
    }
    theory_report report = {.out = stdout, .curves = o.curves, .quick = o.quick};
    run_studies(&o, &report);
    if (report.status != FGSF_OK) {
        fgsf_say("theory: %s", fgsf_last_error());
        return 1;
    }
    printf("\n%d rows, %d failed\n", report.rows, report.failed);
    return report.failed ? 1 : 0;
}
