// Fuzzes rewards as they are typed: formulas and lists of weights.
#include "fuzz.h"

#include <math.h>

#include "formula.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const double phi[4] = {1.0, -0.5, 2.0, 0.0};
    double reward = 0, again = 0, w[3];
    char *text = fuzz_text(data, size);
    if (fgsf_formula(text, phi, 4, &reward) == FGSF_OK) {
        require(fgsf_formula(text, phi, 4, &again) == FGSF_OK);
        require(memcmp(&reward, &again, sizeof reward) == 0);
    } else {
        require_message();
    }
    if (fgsf_formula_weights(text, w, 3) == FGSF_OK) {
        require(isfinite(w[0]) && isfinite(w[1]) && isfinite(w[2]));
    } else {
        require_message();
    }
    free(text);
    return 0;
}
