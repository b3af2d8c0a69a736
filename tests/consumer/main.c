// Uses the installed library from C: prints the version that is linked, and fails when it is not the
// one of the headers.
#include <stdio.h>
#include <string.h>

#include "fgsf/version.h"

int main(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", FGSF_VERSION_MAJOR, FGSF_VERSION_MINOR,
             FGSF_VERSION_PATCH);
    printf("fgsf %s on ggml %s\n", fgsf_version(), fgsf_ggml_version());
    return strcmp(expected, fgsf_version()) != 0;
}
