// Rows, CSV and curves of the theory studies. Computes nothing.
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "theory.h"

const theory_study theory_studies[] = {
    {"ring", "a deterministic cycle: both gradients find xi, the full one slowly", theory_ring,
     "Ring of four states, gamma 0.9", "sweeps", "largest error of xi"},
    {"chain", "an episode of three steps: the same with an end", theory_chain, NULL, NULL, NULL},
    {"descent", "the Bellman error falls while actions are frozen, and jumps at a tie",
     theory_descent, NULL, NULL, NULL},
    {"bias", "one next state per update biases the full gradient; 1/N and the cures", theory_bias,
     "Bias of the full gradient, long horizon", "next-state samples N",
     "x(s1) where learning ends"},
    {"baird", "the semi-gradient diverges where full, corrected and gtd2 settle", theory_baird,
     "Baird's counterexample", "sweeps", "norm of the weights"},
    {"gpi", "generalised policy improvement and its transfer bound", theory_gpi, NULL, NULL, NULL},
    {"fixed-point", "where each method ends on Four Rooms, with and without slip",
     theory_fixed_point, NULL, NULL, NULL},
};
const int theory_num_studies = sizeof theory_studies / sizeof *theory_studies;

static void open_curve(theory_report *report) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/theory_%s.csv", report->curves, report->study->name);
    report->curve = n < (int)sizeof path ? fopen(path, "w") : NULL;
    if (!report->curve) {
        report->status = fgsf_fail(FGSF_ERR_IO, "%s: cannot be written", path);
        return;
    }
    fprintf(report->curve, "# title: %s\n# x: %s\n# y: %s\nseries,x,y\n", report->study->title,
            report->study->x, report->study->y);
}

void theory_run(theory_report *report, const theory_study *study) {
    if (report->status != FGSF_OK) return;
    report->study = study;
    if (report->out) {
        fprintf(report->out, "\n%s: %s\n", study->name, study->about);
        fprintf(report->out, "  %-66s %16s %14s %9s\n", "quantity", "expected", "measured",
                "tolerance");
    }
    study->run(report);
    bool bad = report->curve && ferror(report->curve);
    if (report->curve && (fclose(report->curve) != 0 || bad) && report->status == FGSF_OK) {
        report->status = fgsf_fail(FGSF_ERR_IO, "%s: the curve file is incomplete", report->curves);
    }
    report->curve = NULL;
}

// How expected and measured are compared, with the sign in the table and the words in the CSV.
typedef struct relation {
    const char *sign, *words;
} relation;
static const relation EQUAL = {"", ""};
static const relation AT_MOST = {"<= ", " (at most)"};
static const relation AT_LEAST = {">= ", " (at least)"};

static void add_row(theory_report *report, const relation *how, double expected, double measured,
                    double tolerance, bool pass, const char *format, va_list args) {
    if (report->status != FGSF_OK) return;
    char quantity[160], shown[40];
    vsnprintf(quantity, sizeof quantity, format, args);
    report->rows++;
    report->failed += !pass;
    if (report->csv) {
        fprintf(report->csv, "%s,\"%s%s\",%.12g,%.9g,%.3g,%s\n", report->study->name, quantity,
                how->words, expected, measured, tolerance, pass ? "true" : "false");
    }
    if (report->out) {
        snprintf(shown, sizeof shown, "%s%.9g", how->sign, expected);
        fprintf(report->out, "  %-66s %16s %14.9g ", quantity, shown, measured);
        if (how == &EQUAL) {
            fprintf(report->out, "%9.2g", tolerance);
        } else {
            fprintf(report->out, "%9s", "-");
        }
        fprintf(report->out, "  %s\n", pass ? "PASS" : "FAIL");
    }
}

void theory_equal(theory_report *report, double expected, double measured, double tolerance,
                  const char *quantity, ...) {
    va_list args;
    va_start(args, quantity);
    add_row(report, &EQUAL, expected, measured, tolerance, fabs(measured - expected) <= tolerance,
            quantity, args);
    va_end(args);
}

void theory_at_most(theory_report *report, double bound, double measured, const char *quantity,
                    ...) {
    va_list args;
    va_start(args, quantity);
    add_row(report, &AT_MOST, bound, measured, 0.0, measured <= bound, quantity, args);
    va_end(args);
}

void theory_at_least(theory_report *report, double bound, double measured, const char *quantity,
                     ...) {
    va_list args;
    va_start(args, quantity);
    add_row(report, &AT_LEAST, bound, measured, 0.0, measured >= bound, quantity, args);
    va_end(args);
}

void theory_point(theory_report *report, const char *series, double x, double y) {
    if (!report->curves || !report->study->title || report->status != FGSF_OK) return;
    if (!report->curve) open_curve(report);
    if (report->curve) fprintf(report->curve, "\"%s\",%.9g,%.9g\n", series, x, y);
}

bool theory_is_plotted(int step) {
    if (step <= 10) return step > 0; // the axis is logarithmic
    return floor(10.0 * log10(step) + 1e-9) > floor(10.0 * log10(step - 1) + 1e-9);
}
