// The same loop as in test_overhead.py, from C: act, observe and learn once per step on recorded
// transitions. Returns the thread's CPU seconds, or -1 after an error.
#include <time.h>

#include "fgsf/learner.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double loop(fgsf_learner *learner, const float *states, int state_size, const float *rewards,
            int steps) {
    double started = seconds();
    for (int t = 0; t < steps; t++, states += state_size, rewards++) {
        int action;
        fgsf_learned learned = {0};
        if (fgsf_learner_act(learner, 0, states, 0.3, &action) != FGSF_OK) return -1.0;
        fgsf_experience experience = {.s = states,
                                      .s_next = states + state_size,
                                      .phi = rewards,
                                      .reward = *rewards,
                                      .action = action};
        if (fgsf_learner_observe(learner, &experience) != FGSF_OK) return -1.0;
        if (fgsf_learner_learn(learner, 0, &learned) != FGSF_OK) return -1.0;
    }
    return seconds() - started;
}
