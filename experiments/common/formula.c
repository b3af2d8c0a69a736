// Computes while it reads, by recursive descent: formulas are short, and so is this.
#include "formula.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64 // brackets and signs inside each other

typedef struct reader {
    const char *text, *at;
    const double *phi;
    int num_features, depth;
    const char *wrong; // what is wrong at `at`, or NULL
} reader;

static double sum(reader *r);

static double complain(reader *r, const char *what) {
    if (!r->wrong) r->wrong = what;
    return 0;
}

static bool next_is(reader *r, char c) {
    while (isspace((unsigned char)*r->at)) r->at++;
    if (*r->at != c || r->wrong) return false;
    r->at++;
    return true;
}

static double value(reader *r) {
    double x = 0;
    char *end;
    if (++r->depth > DEEPEST) return complain(r, "is nested too deeply");
    if (next_is(r, '-')) {
        x = -value(r);
    } else if (next_is(r, '(')) {
        x = sum(r);
        if (!next_is(r, ')')) complain(r, "a ')' is missing");
    } else if (strncmp(r->at, "phi", 3) == 0 && isdigit((unsigned char)r->at[3])) {
        long k = strtol(r->at + 3, &end, 10);
        x = k < r->num_features ? r->phi[k] : complain(r, "there is no such feature");
        if (!r->wrong) r->at = end;
    } else if (isdigit((unsigned char)*r->at) || *r->at == '.') {
        x = strtod(r->at, &end);
        if (end == r->at || !isfinite(x)) complain(r, "is not a number");
        r->at = end;
    } else {
        complain(r, "a number, phi0, phi1, ... or '(' is expected");
    }
    r->depth--;
    return x;
}

static double product(reader *r) {
    double x = value(r);
    while (!r->wrong) {
        if (next_is(r, '*')) {
            x *= value(r);
        } else if (next_is(r, '/')) {
            x /= value(r);
        } else {
            break;
        }
    }
    return x;
}

static double sum(reader *r) {
    double x = product(r);
    while (!r->wrong) {
        if (next_is(r, '+')) {
            x += product(r);
        } else if (next_is(r, '-')) {
            x -= product(r);
        } else {
            break;
        }
    }
    return x;
}

static fgsf_status finish(reader *r) {
    while (isspace((unsigned char)*r->at)) r->at++;
    if (*r->at) complain(r, "is not expected");
    if (!r->wrong) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "'%.200s': at '%.20s': %s", r->text, r->at, r->wrong);
}

fgsf_status fgsf_formula(const char *text, const double *phi, int num_features, double *out) {
    reader r = {.text = text, .at = text, .phi = phi, .num_features = num_features};
    *out = sum(&r);
    return finish(&r);
}

fgsf_status fgsf_formula_weights(const char *text, double *w, int count) {
    reader r = {.text = text, .at = text};
    for (int i = 0; i < count; i++) {
        w[i] = sum(&r);
        if (!isfinite((float)w[i])) complain(&r, "is not finite");
        if (i + 1 < count && !next_is(&r, ',')) complain(&r, "more weights are expected");
    }
    return finish(&r);
}
