// Fuzzes the exporter's reader of run.json: whatever is accepted must name a run, and whatever is
// refused must leave a message.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../notebooks-export/pool.c"
#include "../../notebooks-export/csv.c"
#include "../../notebooks-export/runs.c"
#include "../../notebooks-export/summary.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    run r = {0};
    char *text = pool_get(size + 1, 1);
    memcpy(text, data, size);
    if (run_parse("fuzz", text, size, &r) == FGSF_OK) {
        require(*r.env && *r.method && *r.status && r.seed >= 0);
        require(r.cell && r.layout && r.preset && r.eval_reward); // "" for none
    } else {
        require(*fgsf_last_error());
    }
    pool_free();
    return 0;
}
