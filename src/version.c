// The version and commit of this library and the version of the ggml below it.
#include "fgsf/version.h"

#include "fgsf_commit.h"
#include "ggml.h"

#define TEXT(x) #x
#define VERSION_TEXT(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *fgsf_version(void) {
    return VERSION_TEXT(FGSF_VERSION_MAJOR, FGSF_VERSION_MINOR, FGSF_VERSION_PATCH);
}

const char *fgsf_commit(void) {
    return FGSF_COMMIT;
}

const char *fgsf_ggml_version(void) {
    return ggml_version();
}
