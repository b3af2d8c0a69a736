// Fuzzes the JSON reader of configurations: whatever is accepted must be in range, and must come
// back from its own JSON bit for bit; whatever is refused must leave the configuration as it was.
#include "fuzz.h"

#include "fgsf/config.h"
#include "fgsf/envs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fgsf_config before; // resolved once: that takes longer than most inputs
    static size_t count;       // of keys
    if (count == 0) {
        require(fgsf_envs_register() == FGSF_OK);
        require(fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &before) == FGSF_OK);
        while (fgsf_config_key_at(&before, count)) count++;
    }
    fgsf_config cfg = before, back = before;
    char *text = fuzz_text(data, size);
    if (fgsf_config_parse(&cfg, text, "fuzz") != FGSF_OK) {
        if (memcmp(&cfg, &before, sizeof cfg) != 0 || !*fgsf_last_error()) abort();
    } else {
        char *json = fgsf_config_to_json(&cfg);
        if (!json || fgsf_config_parse(&back, json, "again") != FGSF_OK) abort();
        if (memcmp(&cfg, &back, sizeof cfg) != 0) abort();
        fgsf_config_validate(&cfg);
        free(json);
    }
    // The first line as the value of some key: the reader of --set.
    const char *key = fgsf_config_key_at(&cfg, (size > 0 ? data[0] : 0) % count)->name;
    text[strcspn(text, "\n")] = '\0';
    fgsf_config_set(&cfg, key, size > 0 ? text + 1 : text, "fuzz");
    // An unknown key is compared with all known ones, which takes longer than everything else.
    if (size < 8) fgsf_config_set(&cfg, text, "1", "fuzz");
    free(text);
    return 0;
}
