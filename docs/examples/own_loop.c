// Your own loop on your own environment: no configuration, nothing registered.
//     cc own_loop.c $(pkg-config --cflags --libs fgsf) -o own_loop && ./own_loop corners.gguf
//
// The environment is a grid whose corners 0 (top left) and 1 (bottom right) end an episode. phi says
// which corner was reached, and task k pays 1 for corner k. It learns both tasks, then acts on a reward
// that it never saw: 1 for either corner. Optimal is the shortest way to a corner that pays.
#include <stdio.h>

#include "fgsf/archive.h"
#include "fgsf/learner.h"

enum { SIDE = 5, CELLS = SIDE * SIDE, STEPS = 4000, HORIZON = 30 };

// Moves left, right, up or down; returns whether the episode ends.
static bool move(int *cell, int action, float phi[2]) {
    int x = *cell % SIDE, y = *cell / SIDE;
    x += (action == 1 && x < SIDE - 1) - (action == 0 && x > 0);
    y += (action == 3 && y < SIDE - 1) - (action == 2 && y > 0);
    *cell = y * SIDE + x;
    phi[0] = *cell == 0, phi[1] = *cell == CELLS - 1;
    return phi[0] + phi[1] > 0;
}

static fgsf_status train(fgsf_learner *learner, int task, fgsf_rng *rng) {
    int cell = 0, length = HORIZON, action = 0;
    fgsf_status status = fgsf_learner_add_task(learner);
    for (int i = 0; i < STEPS && status == FGSF_OK; i++) {
        if (length == HORIZON) cell = 1 + (int)fgsf_rng_below(rng, CELLS - 2), length = 0;
        float s[CELLS] = {0}, s_next[CELLS] = {0}, phi[2]; // states are one-hot
        s[cell] = 1;
        status = fgsf_learner_act(learner, task, s, 0.3, &action);
        bool done = move(&cell, action, phi);
        s_next[cell] = 1;
        length = done ? HORIZON : length + 1;
        fgsf_experience e = {.s = s, .s_next = s_next, .phi = phi, .reward = phi[task]};
        e.action = action, e.task = task, e.terminal = done, e.truncated = length == HORIZON;
        if (status == FGSF_OK) status = fgsf_learner_observe(learner, &e);
        if (status == FGSF_OK) status = fgsf_learner_learn(learner, task, NULL);
    }
    return status;
}

// Counts the starts from which the greedy policy does not take the shortest way to a corner that pays.
static int not_optimal(fgsf_agent *agent, const double w[2]) {
    int wrong = 0;
    for (int start = 1; start < CELLS - 1; start++) {
        int cell = start, steps = 0, to_0 = start % SIDE + start / SIDE, to_1 = 2 * SIDE - 2 - to_0;
        fgsf_choice choice;
        float phi[2] = {0}, rho[2];
        fgsf_agent_rho_from_weights(agent, w, rho); // any reward vector, trained on or not
        for (bool done = false; !done && steps < HORIZON; steps++) {
            float s[CELLS] = {0};
            s[cell] = 1;
            if (fgsf_agent_act(agent, 0, rho, s, NULL, &choice) != FGSF_OK) return CELLS;
            done = move(&cell, choice.action, phi);
        }
        wrong += steps != (w[0] > 0 && (w[1] <= 0 || to_0 < to_1) ? to_0 : to_1) ||
                 w[0] * phi[0] + w[1] * phi[1] <= 0;
    }
    return wrong;
}

int main(int argc, char **argv) {
    fgsf_learner_params params = fgsf_learner_default_params();
    params.agent.num_tasks = 2, params.agent.num_actions = 4, params.agent.num_features = 2;
    params.agent.state_size = CELLS, params.gamma = 0.9;
    params.agent.net.num_hidden = 1, params.agent.net.hidden[0] = 64;
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_ENV);
    fgsf_learner *learner = NULL;
    fgsf_status status = fgsf_learner_create(&params, &learner);
    for (int task = 0; task < 2 && status == FGSF_OK; task++) status = train(learner, task, &rng);
    fgsf_agent *agent = status == FGSF_OK ? fgsf_learner_agent(learner) : NULL;
    if (agent && argc > 1) status = fgsf_agent_save(agent, NULL, argv[1]);
    if (status != FGSF_OK) return fprintf(stderr, "%s\n", fgsf_last_error()), 1;
    int first = not_optimal(agent, (double[]){1, 0}), second = not_optimal(agent, (double[]){0, 1});
    int both = not_optimal(agent, (double[]){1, 1});
    printf("starts not optimal, of %d: %d %d %d\n", CELLS - 2, first, second, both);
    fgsf_learner_free(learner);
    return first + second + both > 0;
}
