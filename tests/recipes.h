// What the recipes at the top of the public headers take as given; see check_headers.sh.
#include <stdio.h>

#include "all_headers.h"

extern fgsf_agent *agent;
extern fgsf_archive *archive;
extern fgsf_batch batch;
extern fgsf_bellman *bellman;
extern fgsf_choice choice;
extern bool due;
extern fgsf_config cfg;
extern fgsf_device *device;
extern fgsf_env_def windy_def;
extern fgsf_experience experience;
extern fgsf_feature_set *set;
extern fgsf_gpe *gpe;
extern fgsf_learner *learner;
extern fgsf_network *net;
extern fgsf_network_shape shape;
extern fgsf_optimizer *opt;
extern fgsf_replay *replay;
extern fgsf_reward *reward;
extern fgsf_rng rng;
extern fgsf_run_progress progress;
extern fgsf_trainer *trainer;
extern fgsf_transition transition;
extern float *data, *gradient, *phi, *q, *rho, *s, *state;
extern double epsilon, loss, lr, norm, r, *w;
extern int action, f, num_actions, num_features, num_policies, num_rho, rows, task;
extern int64_t last_step, slots[64];
extern long long step;
extern uint64_t seed;
extern size_t size;
extern bool resume;
extern char path[64];
