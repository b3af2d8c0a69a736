// Version of the library, as macros (what was compiled against) and as a call (what is linked).
//
//     printf("compiled with %d.%d, linked with %s\n", FGSF_VERSION_MAJOR, FGSF_VERSION_MINOR,
//            fgsf_version());
#ifndef FGSF_VERSION_H
#define FGSF_VERSION_H

#include "fgsf/export.h"

#define FGSF_VERSION_MAJOR 0
#define FGSF_VERSION_MINOR 2
#define FGSF_VERSION_PATCH 0

FGSF_BEGIN_DECLS

// Returns the version of the linked library, such as "0.2.0".
FGSF_API const char *fgsf_version(void);

// Returns the commit that the library was built from, as `git describe --always --dirty` says it, or
// "unknown" where the sources are not a git repository.
FGSF_API const char *fgsf_commit(void);

// Returns the version of the ggml that the library was built on, as "MAJOR.MINOR.PATCH".
FGSF_API const char *fgsf_ggml_version(void);

FGSF_END_DECLS
#endif
