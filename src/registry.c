// Lists of definitions. A lock keeps threads that register at the same time apart; readers need none,
// since an item is in place before the count includes it.
#include "registry.h"

#include <string.h>

static atomic_flag busy = ATOMIC_FLAG_INIT;

static const char *name_of(const void *item) {
    return item ? *(const char *const *)item : NULL;
}

// A name becomes a value of a key and a part of paths.
static fgsf_status check_name(const char *what, const char *name) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = name ? strlen(name) : 0;
    if (n > 0 && n < 64 && strspn(name, letters) == n) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID,
                     "%s '%.80s': a name has 1 to 63 letters, digits, '_' and '-'", what,
                     name ? name : "");
}

fgsf_status fgsf_registry_add(fgsf_registry *registry, const void *item) {
    FGSF_TRY(check_name(registry->what, name_of(item)));
    while (atomic_flag_test_and_set(&busy)) continue;
    const void *known = fgsf_registry_find(registry, name_of(item));
    int count = registry->count;
    if (!known && count < FGSF_REGISTRY_ROOM) {
        registry->items[count] = item;
        registry->count = count + 1;
    }
    atomic_flag_clear(&busy);
    if (known && known != item) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s '%s' is registered already", registry->what,
                         name_of(item));
    }
    if (!known && count >= FGSF_REGISTRY_ROOM) {
        return fgsf_fail(FGSF_ERR_INVALID, "%s '%s': no more than %d can be registered",
                         registry->what, name_of(item), FGSF_REGISTRY_ROOM);
    }
    return FGSF_OK;
}

const void *fgsf_registry_at(const fgsf_registry *registry, int i) {
    return i >= 0 && i < registry->count ? registry->items[i] : NULL;
}

const void *fgsf_registry_find(const fgsf_registry *registry, const char *name) {
    for (int i = 0; name && i < registry->count; i++) {
        if (strcmp(name_of(registry->items[i]), name) == 0) return registry->items[i];
    }
    return NULL;
}
