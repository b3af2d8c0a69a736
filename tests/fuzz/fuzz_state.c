// Fuzzes what lies behind the checksum of trainer and policy archives. The input is a list of changes of a
// good file, four bytes each: two for the place, one for what is done there, one for the value. The file is
// sealed again afterwards. Whatever is accepted can be trained or acted on; whatever is refused is named and
// leaves the trainer as it was.
#include "fuzz.h"

#include <math.h>

#include "archive_check.h"
#include "fgsf/agent.h"
#include "fgsf/archive.h"
#include "fgsf/envs.h"
#include "fgsf/trainer.h"

typedef struct file {
    uint8_t *bytes;
    size_t size; // without the footer
} file;

static char folder[32], saved[64];
static fgsf_trainer *trainer;
static file state, policy;

static void forget(void) {
    unlink(saved);
    rmdir(folder);
}

static file read_saved(void) {
    file f = {malloc(1 << 20), 0};
    FILE *in = fopen(saved, "rb");
    require(f.bytes && in);
    size_t size = fread(f.bytes, 1, 1 << 20, in);
    fclose(in);
    require(size > sizeof(fgsf_archive_footer) && size < 1 << 20);
    f.size = size - sizeof(fgsf_archive_footer);
    return f;
}

static void prepare(void) {
    static const char *const set[][2] = {{"env.num_tasks", "2"},
                                         {"train.steps_per_task", "1000"},
                                         {"train.buffer_capacity", "8"},
                                         {"train.batch_size", "2"},
                                         {"net.hidden", "2"},
                                         {"diag.residual_batch", "2"}};
    fgsf_config cfg;
    strcpy(folder, access("/dev/shm", W_OK) ? "/tmp/fuzz-XXXXXX" : "/dev/shm/fuzz-XXXXXX");
    require(mkdtemp(folder) != NULL);
    snprintf(saved, sizeof saved, "%s/saved", folder);
    atexit(forget);
    require(fgsf_envs_register() == FGSF_OK);
    require(fgsf_config_resolve("four_rooms", "clean", "fg-sfrql", &cfg) == FGSF_OK);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        require(fgsf_config_set(&cfg, set[i][0], set[i][1], "fuzz") == FGSF_OK);
    }
    require(fgsf_trainer_create(&cfg, &trainer) == FGSF_OK);
    for (int i = 0; i < 12; i++) require(fgsf_trainer_step(trainer) == FGSF_OK);
    require(fgsf_agent_save(fgsf_trainer_agent(trainer), &cfg, saved) == FGSF_OK);
    policy = read_saved();
    require(fgsf_trainer_save(trainer, saved) == FGSF_OK);
    state = read_saved();
}

static size_t change(uint8_t *bytes, size_t size, const uint8_t *data, size_t count) {
    static const double numbers[] = {0.0, -1.0, 1e300, -1e300, 0.5, 1e9, 0x1p63, 1.0};
    size_t kept = size;
    for (size_t i = 0; i + 4 <= count; i += 4) {
        size_t at = (size_t)(data[i] << 8 | data[i + 1]) * 4 % size;
        double number = data[i + 3] == 255 ? (double)NAN : numbers[data[i + 3] % 8];
        uint64_t whole = (uint64_t)(int8_t)data[i + 3] << (data[i + 2] & 56);
        float single = (float)number;
        size_t room = size - at;
        switch (data[i + 2] % 6) {
        case 0:
            bytes[at] = data[i + 3];
            break;
        case 1:
            bytes[at] ^= (uint8_t)(1 << data[i + 3] % 8);
            break;
        case 2:
            memcpy(bytes + at, &whole, room < 8 ? room : 8);
            break;
        case 3:
            memcpy(bytes + at, &number, room < 8 ? room : 8);
            break;
        case 4:
            memcpy(bytes + at, &single, room < 4 ? room : 4);
            break;
        default:
            kept = at;
            break;
        }
    }
    return kept / FGSF_ARCHIVE_BLOCK * FGSF_ARCHIVE_BLOCK;
}

static void load_trainer(const char *path) {
    if (fgsf_trainer_load(trainer, path) == FGSF_OK) {
        for (int i = 0; i < 3; i++) {
            if (fgsf_trainer_step(trainer) != FGSF_OK) require_message();
        }
        char good[32];
        fgsf_checksum sum = fgsf_checksum_start();
        fgsf_checksum_add(&sum, state.bytes, state.size);
        fgsf_archive_footer footer = fgsf_archive_seal(&sum, state.size);
        int fd = fuzz_file(state.bytes, state.size, good);
        require(write(fd, &footer, sizeof footer) == (ssize_t)sizeof footer);
        require(fgsf_trainer_load(trainer, good) == FGSF_OK);
        close(fd);
    } else {
        require_message();
        require(fgsf_trainer_save(trainer, saved) == FGSF_OK);
        file now = read_saved();
        require(now.size == state.size && memcmp(now.bytes, state.bytes, now.size) == 0);
        free(now.bytes);
    }
}

static void load_policy(const char *path) {
    fgsf_agent *agent = NULL;
    fgsf_config cfg;
    if (fgsf_agent_load(path, "cpu", &cfg, &agent) != FGSF_OK) {
        require(!agent);
        require_message();
    }
    fgsf_agent_free(agent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!trainer) prepare();
    if (size < 1) return 0;
    bool is_policy = data[0] & 1;
    const file *from = is_policy ? &policy : &state;
    file f = {malloc(from->size), 0};
    require(f.bytes != NULL);
    memcpy(f.bytes, from->bytes, from->size);
    f.size = change(f.bytes, from->size, data + 1, size - 1);
    fgsf_checksum sum = fgsf_checksum_start();
    fgsf_checksum_add(&sum, f.bytes, f.size);
    fgsf_archive_footer footer = fgsf_archive_seal(&sum, f.size);
    char path[32];
    int fd = fuzz_file(f.bytes, f.size, path);
    require(write(fd, &footer, sizeof footer) == (ssize_t)sizeof footer);
    free(f.bytes);
    (is_policy ? load_policy : load_trainer)(path);
    close(fd);
    return 0;
}
