// Internal: a short list of definitions that programs add to while they run. A definition is any
// struct whose first member is its name.
#ifndef FGSF_REGISTRY_H
#define FGSF_REGISTRY_H

#include <stdatomic.h>

#include "fgsf/status.h"

#define FGSF_REGISTRY_ROOM 64

typedef struct fgsf_registry {
    const char *what; // "environment", for messages
    atomic_int count;
    const void *items[FGSF_REGISTRY_ROOM];
} fgsf_registry;

// Adds a definition. The same one twice is fine; another one of the same name is refused.
fgsf_status fgsf_registry_add(fgsf_registry *registry, const void *item);

// Returns the i-th definition or the one of that name, or NULL.
const void *fgsf_registry_at(const fgsf_registry *registry, int i);
const void *fgsf_registry_find(const fgsf_registry *registry, const char *name);

#endif
