// Fuzzes the exporter's CSV reader: whatever is accepted must hold as many fields in every row as
// the header, and whatever is refused must leave a message of one line.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../notebooks-export/csv.c"
#include "../../notebooks-export/pool.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void read_all(const csv *t) {
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t col = 0; col < t->columns.n; col++) {
            double x = 0;
            require(csv_text(t, row, col) != NULL);
            if (csv_number(t, row, col, &x) == FGSF_OK) require(isfinite(x));
            if (csv_maybe(t, row, col, &x) != FGSF_OK) {
                require(!strpbrk(fgsf_last_error(), "\r\n"));
            }
        }
    }
    csv_note(t, "title", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csv t = {0};
    char *text = pool_get(size + 1, 1);
    memcpy(text, data, size);
    if (csv_parse("fuzz", text, size, &t) == FGSF_OK) {
        require(t.columns.n > 0);
        read_all(&t);
    } else {
        require(t.columns.n == 0 && *fgsf_last_error());
    }
    pool_free();
    return 0;
}
