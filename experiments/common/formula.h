// A reward as typed: weights "1,-0.5,2", or a formula of the features such as "2*phi0 - phi1*(phi1+1)".
//
//     double r, phi[] = {1, 0, 2};
//     if (!fgsf_formula("2*phi0 - phi2", phi, 3, &r)) puts(fgsf_last_error());
#ifndef FGSF_FORMULA_H
#define FGSF_FORMULA_H

#include "fgsf/status.h"

// Computes a formula of numbers, phi0, phi1, ..., + - * / and brackets. An error names the place.
fgsf_status fgsf_formula(const char *text, const double *phi, int num_features, double *out);

// Reads exactly `count` numbers with commas between them.
fgsf_status fgsf_formula_weights(const char *text, double *w, int count);

#endif
