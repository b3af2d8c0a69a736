// The gradient oracle against PyTorch's float64 answers on every device, and against bad problems.
// Runs the program itself, as a user would.
#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support_assert.h"
#include "support_devices.h"

#define ORACLE FGSF_BUILD_DIR "/experiments/gradient_oracle"

static char folder[] = "/tmp/fgsf_fixtures_XXXXXX";

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (file && text) {
        text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
    }
    if (file) {
        fclose(file);
    }
    return text;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

// Runs the oracle; the texts are freed with free(). Returns its exit code, or -1 after a signal.
static int run_oracle(const char *device, const char *path, char **out, char **err) {
    char command[2048], file[64];
    snprintf(command, sizeof command, "'%s' --device '%s' '%s' >%s/out 2>%s/err", ORACLE, device,
             path, folder, folder);
    int status = system(command);
    snprintf(file, sizeof file, "%s/out", folder);
    *out = read_file(file);
    snprintf(file, sizeof file, "%s/err", folder);
    *err = read_file(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Walks two trees of arrays and objects of numbers side by side: the largest difference, and the
// largest expected entry. Returns false where the trees differ in shape.
static bool compare(const cJSON *got, const cJSON *expected, double *error, double *largest) {
    if (!got || !expected || got->type != expected->type) {
        return false;
    }
    if (cJSON_IsNumber(expected)) {
        double difference = fabs(got->valuedouble - expected->valuedouble);
        *error = difference <= *error ? *error : difference;
        *largest = fmax(*largest, fabs(expected->valuedouble));
        return !isnan(difference);
    }
    const cJSON *g = got->child, *e = expected->child;
    for (; g && e; g = g->next, e = e->next) {
        const cJSON *same = cJSON_IsObject(expected) ? cJSON_GetObjectItem(got, e->string) : g;
        if (!compare(same, e, error, largest)) {
            return false;
        }
    }
    return !g && !e;
}

TEST matches_pytorch(const char *name, const char *device) {
    char path[512];
    char *out, *err, *expected_text;
    snprintf(path, sizeof path, "%s/%s.json", FGSF_TEST_DATA, name);
    int code = run_oracle(device, path, &out, &err);
    ASSERT_EQ_FMTm(err, 0, code, "%d");
    snprintf(path, sizeof path, "%s/%s.expected.json", FGSF_TEST_DATA, name);
    expected_text = read_file(path);
    cJSON *got = cJSON_Parse(out), *expected = cJSON_Parse(expected_text);
    ASSERT(got && expected);
    ASSERT_EQ(cJSON_GetArraySize(expected), cJSON_GetArraySize(got));
    static const char *const keys[] = {"loss", "grad_norm", "gradient", "parameters",
                                       "error_gradient"};
    for (int i = 0; i < 5; i++) {
        const cJSON *truth = cJSON_GetObjectItem(expected, keys[i]);
        double error = 0.0, largest = 0.0;
        if (!truth && i >= 3) {
            continue;
        }
        ASSERTm(keys[i], compare(cJSON_GetObjectItem(got, keys[i]), truth, &error, &largest));
        double limit = i == 3 ? 1e-5 : 1e-5 * largest; // parameters: absolute
        if (greatest_get_verbosity() > 0) {
            printf("%s, %s: %s off by %.1e\n", name, device, keys[i],
                   i == 3 ? error : error / largest);
        }
        ASSERTm(keys[i], error <= limit);
    }
    cJSON_Delete(got);
    cJSON_Delete(expected);
    free(out);
    free(err);
    free(expected_text);
    PASS();
}

// A small valid problem with two samples per pair, two batches and everything optional.
static const char base[] =
    "{\"schema\":\"fgsf.gradient-problem/1\",\"network\":{\"input\":2,\"hidden\":[2],\"actions\":4,"
    "\"features\":1,\"activation\":\"relu\",\"weights\":[[1,2,3,4],[1,2,3,4,5,6,7,8]],"
    "\"biases\":[[0,1],[1,2,3,4]]},\"loss\":\"sum\",\"grad_mix\":1,\"samples_per_pair\":2,"
    "\"optimizer\":{\"kind\":\"adam\",\"lr\":0.001,\"beta1\":0.9,\"beta2\":0.999,\"eps\":1e-8,"
    "\"clip\":null},\"estimator\":\"split\",\"split\":1,\"denominator\":3,\"batches\":[{\"s\":[[1,"
    "2],"
    "[3,4]],\"a\":[0,1],\"y\":[[1],[2],[3],[4]],\"s_next\":[[1,1],[2,2],[3,3],[4,4]],\"a_next\":[3,"
    "2"
    "],\"discount\":[0,0.25,0.5,0.75],\"row_weights\":[1,0]}]}";

// One edit of the problem above, and how the line about it begins; NULL: still valid.
static const struct {
    const char *from, *to, *message;
} edits[] = {
    {"}]}", "}]}", NULL},
    {"}]}", "}]}\n \t\r\n", NULL},
    {"\"schema\":\"fgsf.gradient-problem/1\",", "", NULL},
    {"\"clip\":null", "\"clip\":0.5", NULL},
    {"\"kind\":\"adam\"", "\"kind\":\"sgd\"", NULL},
    {",\"biases\":[[0,1],[1,2,3,4]]", "", NULL},
    {"0.25", "-2.5E-1", NULL},
    {"}]}", "}]} x", "not valid JSON"},
    {"}]}", "}]", "batches[0]: not valid JSON"},
    {"0.25", ".25", "batches[0].discount[1]: not valid JSON"},
    {"0.25", "NaN", "batches[0].discount[1]: not valid JSON"},
    {"0.25", "-Infinity", "batches[0].discount[1]: not valid JSON"},
    {"0.25", "00.25", "batches[0].discount[1]: not valid JSON"},
    {"0.25", "1e39", "batches[0].discount[1]: 1e+39 is not a finite float"},
    {"0.25", "1e999", "batches[0].discount[1]: inf is not a finite float"},
    {"0.25", "null", "batches[0].discount[1]: is null, expected a number"},
    {"0.25", "\"0.25\"", "batches[0].discount[1]: is a string"},
    {"0.25,", "", "batches[0].discount: has 3 numbers, expected 4"},
    {"0.25,", "0.25,1,", "batches[0].discount: has 5 numbers, expected 4"},
    {"\"a\":[0,1]", "\"a\":[0,4]", "batches[0].a[1]: 4 is not in [0, 4)"},
    {"\"a\":[0,1]", "\"a\":[0,-1]", "batches[0].a[1]: -1 is not in [0, 4)"},
    {"\"a\":[0,1]", "\"a\":[0,1.5]", "batches[0].a[1]: 1.5 is not an integer"},
    {"\"a\":[0,1]", "\"a\":[0,1,2]", "batches[0].a: has 3 actions, expected 2"},
    {"\"a\":[0,1]", "\"a\":[0,true]", "batches[0].a[1]: is a boolean"},
    {"\"a_next\":[3,2]", "\"a_next\":[3,9]", "batches[0].a_next[1]: 9 is not in [0, 4)"},
    {"\"a_next\":[3,2]", "\"a_next\":[3,3,2,2]", "batches[0].a_next: has 4 actions, expected 2"},
    {"\"a_next\":[3,2],", "", "batches[0].a_next: missing"},
    {"[3,4]]", "[3,4,5]]", "batches[0].s[1]: has more than the 2 numbers expected"},
    {"[3,4]]", "[3]]", "batches[0].s[1]: has 1 numbers, expected 2"},
    {"[3,4]]", "3]", "batches[0].s[1]: is a number, expected an array"},
    {"[[1,2],[3,4]]", "[]", "batches[0].s: 0 pairs"},
    {"[1],[2],[3],[4]", "[1],[2],[3]", "batches[0].y: has 3 rows, expected 4"},
    {"[4,4]]", "[4,4],[5,5]]", "batches[0].s_next: has 5 rows, expected 4"},
    {"\"row_weights\":[1,0]", "\"row_weights\":[1]", "batches[0].row_weights: has 1 numbers"},
    {"\"row_weights\"", "\"row_weight\"", "batches[0].row_weight: unknown field"},
    {"\"loss\":\"sum\"", "\"loss\":\"huber\"", "loss: 'huber' is not one of half_mean, mean"},
    {"\"loss\":\"sum\"", "\"loss\":\"sum\",\"loss\":\"sum\"", "loss: given twice"},
    {"\"loss\":\"sum\",", "", "loss: missing"},
    {"\"grad_mix\":1", "\"grad_mix\":1.5", "grad_mix: 1.5 is not in [0, 1]"},
    {"\"grad_mix\":1", "\"grad_mix\":\"full\"", "grad_mix: is a string"},
    {"\"grad_mix\":1",
     "\"grad_mix\":1,\"target_network\":{\"weights\":[[1,2,3,4],[1,2,3,4,5,6,7,8]]"
     ",\"biases\":[[0,1],[1,2,3,4]]}",
     "grad_mix: 1 with a target_network"},
    {"\"grad_mix\":1",
     "\"grad_mix\":0,\"target_network\":{\"weights\":[[1,2,3,4],[1,2,3,4,5,6,7,8]]"
     ",\"biases\":[[0,1],[1,2,3,4]]}",
     NULL},
    {"\"grad_mix\":1",
     "\"grad_mix\":0,\"target_network\":{\"weights\":[[1,2,3,4],[1,2,3,4,5,6,7,8]]"
     "}",
     "target_network.biases: differs"},
    {"\"grad_mix\":1",
     "\"grad_mix\":0,\"target_network\":{\"weights\":[[1,2,3,4]],\"biases\":[[0,1]"
     ",[1,2,3,4]]}",
     "target_network.weights: has 1 layers, expected 2"},
    {"\"samples_per_pair\":2", "\"samples_per_pair\":0", "samples_per_pair: 0 is not in [1"},
    {"\"samples_per_pair\":2", "\"samples_per_pair\":3", "batches[0].y: has 4 rows, expected 6"},
    {"\"samples_per_pair\":2", "\"samples_per_pair\":1e9", "samples_per_pair: 1000000000 is not"},
    {"\"split\":1", "\"split\":2", "split: 2 is not in [1, 2)"},
    {"\"split\":1", "\"split\":0", "split: 0 is not in [1, 2)"},
    {"\"split\":1,", "", "split: missing"},
    {"\"estimator\":\"split\"", "\"estimator\":\"shared\"", "split: only the estimator 'split'"},
    {"\"estimator\":\"split\"", "\"estimator\":\"both\"", "estimator: 'both' is not one of shared"},
    {"\"denominator\":3", "\"denominator\":0", "denominator: 0 is not in (0"},
    {"\"denominator\":3", "\"denominator\":-1", "denominator: -1 is not in (0"},
    {"\"activation\":\"relu\"", "\"activation\":\"tanh\"", "network.activation: 'tanh' is not one"},
    {"\"input\":2", "\"input\":0", "network.input: 0 is not in [1"},
    {"\"input\":2", "\"input\":3", "network.weights[0]: has 4 numbers, expected 6"},
    {"\"input\":2", "\"input\":2e9", "network.input: 2000000000 is not in [1"},
    {"\"input\":2,", "", "network.input: missing"},
    {"\"hidden\":[2]", "\"hidden\":[0]", "network.hidden[0]: 0 is not in [1"},
    {"\"hidden\":[2]", "\"hidden\":[2,2]", "network.weights: has 2 layers, expected 3"},
    {"\"hidden\":[2]", "\"hidden\":[1,1,1,1,1,1,1,1,1]", "network.hidden: 9 layers, at most 8"},
    {"\"hidden\":[2]", "\"hidden\":2", "network.hidden: is a number, expected an array"},
    {"\"hidden\":[2]", "\"hidden\":[1000000]", "network.weights[0]: has 4 numbers"},
    {"[[0,1],[1,2,3,4]]", "[[0,1],[1,2,3]]", "network.biases[1]: has 3 numbers, expected 4"},
    {"[[0,1],[1,2,3,4]]", "[[0,1e60],[1,2,3,4]]", "network.biases[0][1]: 1e+60 is not a finite"},
    {"[[0,1],[1,2,3,4]]", "null", "network.biases: is null, expected an array"},
    {"\"kind\":\"adam\"", "\"kind\":\"rmsprop\"", "optimizer.kind: 'rmsprop' is not one of adam"},
    {"\"lr\":0.001,", "", "optimizer.lr: missing"},
    {"\"lr\":0.001", "\"lr\":-1", "optimizer.lr: -1 is not in [0"},
    {"\"beta1\":0.9", "\"beta1\":1", "optimizer.beta1: 1 is not in [0"},
    {"\"clip\":null", "\"clip\":0", "optimizer.clip: 0 is not in (0"},
    {"\"clip\":null", "\"momentum\":0", "optimizer.momentum: unknown field"},
    {"gradient-problem/1", "gradient-problem/2", "schema: 'fgsf.gradient-problem/2'"},
    {"\"network\"", "\"net\\nwork\"", "net?work: unknown field"},
    {"\"y\":[[1]", "\"y\":[[3e38]", "batches[0]: loss or gradient overflows float32"},
};

// Writes the base problem with the first occurrence of `from` replaced.
static void write_edited(const char *path, const char *from, const char *to) {
    char text[4096];
    const char *at = strstr(base, from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
    write_file(path, text);
}

TEST refuses_bad_problems(void) {
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char path[64], expected[512];
        char *out, *err;
        const char *what = edits[i].message ? edits[i].message : edits[i].to;
        snprintf(path, sizeof path, "%s/problem.json", folder);
        ASSERTm(what, strstr(base, edits[i].from));
        write_edited(path, edits[i].from, edits[i].to);
        int code = run_oracle("cpu", path, &out, &err);
        if (!edits[i].message) {
            ASSERT_EQ_FMTm(err, 0, code, "%d");
        } else {
            snprintf(expected, sizeof expected, "%s: %s", path, edits[i].message);
            ASSERT_EQ_FMTm(what, 2, code, "%d");
            ASSERT_STRN_EQm(err, expected, err, strlen(expected));
            ASSERTm(what, strchr(err, '\n') == err + strlen(err) - 1); // one line, no more
            ASSERT_STR_EQm(what, "", out);
        }
        free(out);
        free(err);
    }
    PASS();
}

TEST refuses_bad_commands(void) {
    char *out, *err;
    ASSERT_EQ(2, run_oracle("auto", "/nonexistent/problem.json", &out, &err));
    ASSERT(strstr(err, "/nonexistent/problem.json: cannot be read"));
    free(out);
    free(err);
    char path[64];
    snprintf(path, sizeof path, "%s/problem.json", folder);
    write_file(path, base);
    ASSERT_EQ(2, run_oracle("abacus", path, &out, &err));
    ASSERT(strstr(err, "abacus"));
    free(out);
    free(err);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    static const char *const fixtures[] = {
        "gradients/adam",
        "gradients/critic_only",
        "gradients/full",
        "gradients/linear_sum",
        "gradients/mix",
        "gradients/semi",
        "gradients/split",
        "gradients/weights",
        "gradient-kinds/layer",
        "gradient-kinds/rms",
        "gradient-kinds/corrected",
        "gradient-kinds/gtd2",
        "gradient-kinds/bidirectional",
        "gradient-kinds/convergent",
    };
    GREATEST_MAIN_BEGIN();
    if (access(ORACLE, X_OK) != 0) {
        puts("skipped: " ORACLE " is not built");
        return 77;
    }
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
        for (size_t d = 0; d < NUM_DEVICES; d++) {
            RUN_TESTp(matches_pytorch, fixtures[i], device_names[d]);
        }
    }
    RUN_TEST(refuses_bad_problems);
    RUN_TEST(refuses_bad_commands);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) {
        return 1;
    }
    GREATEST_MAIN_END();
}
