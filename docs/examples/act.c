// A saved policy acts under a reward that is typed on the command line. No environment is linked in:
// states come as numbers on stdin, one state after the other, and every action goes to stdout.
//
//     cc act.c $(pkg-config --cflags --libs fgsf) -o act
//     ./act POLICY.gguf W0 W1 ... < states
//
// W are the weights of the reward w . phi, one for every feature that the policy was trained with.
#include <stdio.h>
#include <stdlib.h>

#include "fgsf/archive.h"

static int fail(const char *message) {
    fprintf(stderr, "act: %s\n", message);
    return 1;
}

// Reads the next state; false at the end of the input.
static bool read_state(float *s, int n) {
    for (int i = 0; i < n; i++) {
        if (scanf("%f", &s[i]) != 1) return false;
    }
    return true;
}

int main(int argc, char **argv) {
    fgsf_agent *agent = NULL;
    if (argc < 2) return fail("usage: act POLICY.gguf W0 W1 ... < states");
    if (fgsf_agent_load(argv[1], NULL, NULL, &agent) != FGSF_OK) return fail(fgsf_last_error());
    const fgsf_agent_params *p = fgsf_agent_get_params(agent);
    if (argc - 2 != p->num_features) return fail("one weight per feature is needed");

    double *w = calloc((size_t)p->num_features, sizeof *w);
    float *rho = calloc((size_t)fgsf_agent_shape(agent)->features, sizeof *rho);
    float *s = calloc((size_t)p->state_size, sizeof *s);
    if (!w || !rho || !s) return fail("no memory");
    for (int i = 0; i < p->num_features; i++) w[i] = atof(argv[2 + i]);
    fgsf_agent_rho_from_weights(agent, w, rho);

    fgsf_rng rng = fgsf_rng_make(0, FGSF_STREAM_EVAL);
    fgsf_choice choice;
    while (read_state(s, p->state_size)) {
        if (fgsf_agent_act(agent, 0, rho, s, &rng, &choice) != FGSF_OK) {
            return fail(fgsf_last_error());
        }
        printf("%d\n", choice.action); // choice.policy is the one whose value was best
    }
    free(w);
    free(rho);
    free(s);
    fgsf_agent_free(agent);
    return 0;
}
