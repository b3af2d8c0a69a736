// Writes a trained policy as one C header, for a microcontroller.
//
// The header holds weights, forward pass and GPI. It needs neither this library nor a standard library,
// and allocates nothing (C99, freestanding).
//
//     export_policy POLICY.gguf -o policy.h
//     export_policy POLICY.gguf -o policy.h --cases 100    and cases to test a port with
//
// The header offers int policy_act(const float *state, const float *w): the greedy action in an encoded
// state under the reward w, by GPI over all policies. A case is a line: action, state, w; and the gap in Q
// between the best action and the next.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/archive.h"
#include "flags.h"
#include "say.h"

typedef struct job {
    const char *policy, *out;
    long cases;
    fgsf_agent *agent;
    const fgsf_agent_params *params;
    const fgsf_network_shape *shape;
} job;

// ---- The header ----------------------------------------------------------------------------------

// Hexadecimal, so that every bit is kept.
static void print_floats(FILE *f, const char *name, const float *v, size_t n) {
    fprintf(f, "static const float %s[%zu] = {", name, n);
    for (size_t i = 0; i < n; i++) fprintf(f, "%s%af,", i % 6 ? " " : "\n    ", (double)v[i]);
    fprintf(f, "\n};\n\n");
}

// One function per policy: the layers one after the other, then Q of every action under rho.
static void print_policy(FILE *f, const job *j, int policy) {
    const fgsf_network *net = fgsf_agent_network(j->agent, policy);
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    const fgsf_network_shape *s = j->shape;
    char name[96];
    for (int i = 0; i < list->count; i++) {
        const fgsf_parameter *p = &list->list[i];
        snprintf(name, sizeof name, "policy_%d_%d", policy, i);
        print_floats(f, name, fgsf_network_parameters(net) + p->offset,
                     (size_t)p->rows * (size_t)p->columns);
    }
    fprintf(f, "static void policy_%d(const float *state, const float *rho, float *q) {\n", policy);
    int i = 0, before = s->input;
    const char *input = "state";
    for (int layer = 0; layer <= s->num_hidden; layer++) {
        int units = layer < s->num_hidden ? s->hidden[layer] : s->actions * s->features;
        char bias[32] = "0";
        if (s->bias) snprintf(bias, sizeof bias, "policy_%d_%d", policy, i + 1);
        fprintf(f, "    float x%d[%d];\n    policy_layer(policy_%d_%d, %s, %s, %d, x%d, %d, %d);\n",
                layer, units, policy, i, bias, input, before, layer, units, layer < s->num_hidden);
        i += 1 + s->bias;
        before = units;
        input = (const char *[]){"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"}[layer];
    }
    fprintf(f, "    policy_layer(%s, 0, rho, POLICY_SLOTS, q, POLICY_ACTIONS, 0);\n}\n\n", input);
}

static const char LAYER[] =
    "/* out = weights in + bias, negative units cut to 0 where `relu` says so */\n"
    "static void policy_layer(const float *weights, const float *bias, const float *in, int n,\n"
    "                         float *out, int units, int relu) {\n"
    "    for (int u = 0; u < units; u++) {\n"
    "        float sum = bias ? bias[u] : 0;\n"
    "        for (int i = 0; i < n; i++) sum += weights[u * n + i] * in[i];\n"
    "        out[u] = relu && sum < 0 ? 0 : sum;\n"
    "    }\n"
    "}\n\n";

static void print_act(FILE *f, const job *j, bool xi) {
    fprintf(
        f,
        "/* The greedy action in `state` (POLICY_STATE) under the reward `w` (POLICY_WEIGHTS), */\n"
        "/* by generalised policy improvement; of equal ones the first. */\n"
        "static inline int policy_act(const float *state, const float *w) {\n"
        "    static void (*const policies[POLICY_COUNT])(const float *, const float *, float *) = "
        "{\n       ");
    for (int k = 0; k < fgsf_agent_num_policies(j->agent); k++) fprintf(f, " policy_%d,", k);
    fprintf(f, "\n    };\n    int best = 0;\n    float q[POLICY_ACTIONS], top = 0;\n");
    if (xi) {
        fprintf(f,
                "    float rho[POLICY_SLOTS];\n    policy_layer(policy_set, 0, w, POLICY_WEIGHTS, "
                "rho, POLICY_SLOTS, 0);\n");
    }
    fprintf(f,
            "    for (int k = 0; k < POLICY_COUNT; k++) {\n"
            "        policies[k](state, %s, q);\n"
            "        for (int a = 0; a < POLICY_ACTIONS; a++) {\n"
            "            if ((k == 0 && a == 0) || q[a] > top) best = a, top = q[a];\n"
            "        }\n    }\n    return best;\n}\n\n#endif\n",
            xi ? "rho" : "w");
}

// Under xi the scoring vector is linear in w: its rows are the members of the feature set.
static fgsf_status print_set(FILE *f, const job *j) {
    size_t slots = (size_t)j->shape->features, n = (size_t)j->params->num_features;
    float *set = calloc(slots * n, sizeof *set), *rho = calloc(slots, sizeof *rho);
    double *w = calloc(n, sizeof *w);
    for (size_t k = 0; k < n && set && rho && w; k++) {
        memset(w, 0, n * sizeof *w);
        w[k] = 1;
        fgsf_agent_rho_from_weights(j->agent, w, rho);
        for (size_t i = 0; i < slots; i++) set[i * n + k] = rho[i];
    }
    bool good = set && rho && w;
    if (good) print_floats(f, "policy_set", set, slots * n);
    free(set), free(rho), free(w);
    return good ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory for the feature set");
}

static fgsf_status print_header(FILE *f, job *j) {
    bool xi = j->params->representation == FGSF_XI;
    fgsf_status status = FGSF_OK;
    fprintf(f,
            "/* A policy trained with FGSF, for any C99 program: see policy_act at the end. */\n"
            "#ifndef FGSF_EXPORTED_POLICY_H\n#define FGSF_EXPORTED_POLICY_H\n\n"
            "#define POLICY_STATE %d   /* numbers in an encoded state */\n"
            "#define POLICY_WEIGHTS %d /* numbers in a reward */\n"
            "#define POLICY_ACTIONS %d\n#define POLICY_COUNT %d\n#define POLICY_SLOTS %d\n\n%s",
            j->params->state_size, j->params->num_features, j->shape->actions,
            fgsf_agent_num_policies(j->agent), j->shape->features, LAYER);
    if (xi) status = print_set(f, j);
    for (int k = 0; k < fgsf_agent_num_policies(j->agent); k++) print_policy(f, j, k);
    print_act(f, j, xi);
    return status;
}

// ---- Cases ---------------------------------------------------------------------------------------

// Random states and rewards with what the library does in them.
static fgsf_status print_cases(FILE *f, job *j) {
    int actions = j->shape->actions, policies = fgsf_agent_num_policies(j->agent), count;
    int state_size = j->params->state_size, n = j->params->num_features;
    fgsf_rng rng = fgsf_rng_make(7, FGSF_STREAM_EVAL);
    float *state = calloc((size_t)state_size, sizeof *state);
    float *q = calloc((size_t)(policies * actions), sizeof *q);
    float *rho = calloc((size_t)j->shape->features, sizeof *rho);
    double *w = calloc((size_t)n, sizeof *w);
    fgsf_status status = state && q && rho && w ? FGSF_OK : fgsf_fail(FGSF_ERR_MEMORY, "no memory");
    for (long c = 0; c < j->cases && status == FGSF_OK; c++) {
        for (int i = 0; i < state_size; i++) state[i] = (float)fgsf_rng_uniform(&rng);
        for (int i = 0; i < n; i++) w[i] = (float)(2 * fgsf_rng_uniform(&rng) - 1);
        fgsf_agent_rho_from_weights(j->agent, w, rho);
        status = fgsf_agent_q(j->agent, j->params->num_tasks - 1, rho, state, q, &count);
        fgsf_choice best = fgsf_gpi_choose(q, count, actions, FGSF_TIE_FIRST, &rng);
        float top = q[best.policy * actions + best.action], gap = 1e30f;
        for (int i = 0; i < count * actions; i++) {
            if (i % actions != best.action && top - q[i] < gap) gap = top - q[i];
        }
        fprintf(f, "%d %.9g", best.action, (double)gap);
        for (int i = 0; i < state_size; i++) fprintf(f, " %.9g", (double)state[i]);
        for (int i = 0; i < n; i++) fprintf(f, " %.9g", w[i]);
        putc('\n', f);
    }
    free(state), free(q), free(rho), free(w);
    return status;
}

// ---- The program ---------------------------------------------------------------------------------

// Says what of a policy the header cannot hold.
static fgsf_status check(const job *j) {
    const fgsf_network_shape *s = j->shape;
    if (j->params->representation == FGSF_Q) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED,
                         "%s: values of DQN contain their reward: only psi and "
                         "xi can be given another",
                         j->policy);
    }
    if ((s->def && strcmp(s->def->name, "mlp") != 0) || s->norm != FGSF_NORM_NONE ||
        s->activation != FGSF_RELU) {
        return fgsf_fail(
            FGSF_ERR_UNSUPPORTED,
            "%s: only net.kind=mlp with net.activation=relu and net.norm=none fits into "
            "a header",
            j->policy);
    }
    return FGSF_OK;
}

static fgsf_status write_file(job *j, const char *suffix, fgsf_status (*print)(FILE *, job *)) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s%s", j->out, suffix) >= (int)sizeof path) {
        return fgsf_fail(FGSF_ERR_INVALID, "%.200s...: the path is too long", j->out);
    }
    FILE *f = fopen(path, "w");
    fgsf_status status = f ? print(f, j) : FGSF_OK;
    bool good = f && !ferror(f);
    good = f && fclose(f) == 0 && good;
    if (status == FGSF_OK && !good) status = fgsf_fail(FGSF_ERR_IO, "%s: cannot be written", path);
    return status;
}

static int read_arguments(int argc, char **argv, job *j) {
    const fgsf_flag table[] = {
        {"--out", "FILE.h", "where the header goes", .text = &j->out, .letter = 'o'},
        {"--cases", "N", "also write N states with their actions to FILE.h.cases, for a test",
         .number = &j->cases, .max = 1000000},
    };
    fgsf_flags flags = {"export_policy",
                        "POLICY.gguf -o policy.h [--cases N]",
                        "Writes a policy as one C99 header without dependencies.",
                        table,
                        2,
                        .words = &j->policy,
                        .max_words = 1};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code != FGSF_FLAGS_RUN || (j->policy && j->out)) return code;
    fgsf_say("usage: export_policy %s", flags.usage);
    return FGSF_FLAGS_BAD;
}

int main(int argc, char **argv) {
    job j = {0};
    int code = read_arguments(argc, argv, &j);
    if (code != FGSF_FLAGS_RUN) return code;
    fgsf_status status = fgsf_agent_load(j.policy, NULL, NULL, &j.agent);
    if (status == FGSF_OK) {
        j.params = fgsf_agent_get_params(j.agent);
        j.shape = fgsf_agent_shape(j.agent);
        status = check(&j);
    }
    if (status == FGSF_OK) status = write_file(&j, "", print_header);
    if (status == FGSF_OK && j.cases > 0) status = write_file(&j, ".cases", print_cases);
    if (status != FGSF_OK) fgsf_say("export_policy: %s", fgsf_last_error());
    fgsf_agent_free(j.agent);
    return status == FGSF_OK ? 0 : 2;
}
