// Runs a fuzz target over files, in place of libFuzzer: every compiler can replay the corpus.
// Folders are not searched: the build names the files.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    // Exactly as large as the input, so that ASan sees a read past its end.
    uint8_t *data = size >= 0 ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    int failed = !data || fread(data, 1, (size_t)size, file) != (size_t)size;
    fclose(file);
    if (!failed) LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return failed;
}

int main(int argc, char **argv) {
    int failures = 0;
    for (int i = 1; i < argc; i++) failures += replay(argv[i]);
    printf("%d inputs replayed\n", argc - 1 - failures);
    return failures != 0;
}
