// Learning works, not just runs: every method with the clean preset on two tiny problems, judged by
// the greedy policy, seed by seed.
//
// chain: six cells in a row, the reward at the far end. room: 5x5 with one object and a goal; task 1
// pays for both, task 2 fines the object, so the second task must not take the detour that the first
// wants. Optimal undiscounted returns are known: 1; 2 and 1.
//
// Asserted for every method: each of 5 seeds reaches 95 % of the optimum at some check, and in the last
// third of their runs together at least half of the checks (of all seeds and tasks) find it. Methods
// that never lost it on 20 seeds (docs/learning.md) must also have it at the end, on 5 of 5 seeds; why
// the others lose it at times is tested beside them. What is asserted must hold with every BLAS kernel,
// whose rounding changes a run as much as another seed does.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgsf/envs.h"
#include "fgsf/evaluate.h"
#include "fgsf/trainer.h"
#include "learning.h"
#include "support_assert.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 1 // several times slower; the release build judges the learning
#else
#define SEEDS 5
#endif
#define CHECK_EVERY 100 // steps

typedef struct problem {
    const char *name;
    const char *map;
    const char *steps; // per task
    const char *tasks;
    int num_tasks;
    double optimal[2];
} problem;

static const problem CHAIN = {"chain", "chain.txt", "3000", "1", 1, {1.0}};
static const problem ROOM = {"room", "room.txt", "6000", "2", 2, {2.0, 1.0}};

static fgsf_status configure(const problem *p, const char *method, const char *target, int seed,
                             fgsf_config *cfg) {
    char map[1024], number[16];
    snprintf(map, sizeof map, "%s/maps/%s", FGSF_TEST_DATA, p->map);
    snprintf(number, sizeof number, "%d", seed);
    const char *const set[][2] = {{"env.map", map},
                                  {"env.num_tasks", p->tasks},
                                  {"train.steps_per_task", p->steps},
                                  {"train.batch_size", "32"},
                                  {"net.hidden", "32,32"},
                                  {"eval.episodes", "1"}, // nothing is random
                                  {"diag.residual_batch", "0"},
                                  {"target.mode", target},
                                  {"target.period", "100"},
                                  {"seed", number}};
    fgsf_status status = fgsf_config_resolve("four_rooms", "clean", method, cfg);
    for (size_t i = 0; i < sizeof set / sizeof *set && status == FGSF_OK; i++) {
        status = fgsf_config_set(cfg, set[i][0], set[i][1], "test");
    }
    return status;
}

// What the row says of Q, against a walk of its own along the same episode.
static fgsf_status check_values(fgsf_agent *agent, const fgsf_config *cfg,
                                const fgsf_eval_row *row) {
    fgsf_env *env = NULL;
    fgsf_rng rng = fgsf_rng_make(0, 0); // nothing is random
    float state[64], q[64];
    double start = 0.0, gap = 0.0;
    fgsf_status status = fgsf_env_create(cfg, &env);
    if (status == FGSF_OK) status = fgsf_env_set_task(env, row->task);
    if (status == FGSF_OK) status = fgsf_env_reset(env, &rng);
    for (int t = 0; t < row->steps && status == FGSF_OK; t++) {
        int policies;
        fgsf_step_result result;
        fgsf_env_observe(env, state);
        status = fgsf_agent_q(agent, row->task, NULL, state, q, &policies);
        fgsf_choice best = fgsf_gpi_choose(q, policies, 4, FGSF_TIE_FIRST, NULL);
        if (t == 0) start = q[best.policy * 4 + best.action];
        gap += fgsf_gpi_gap(q, policies, 4) / row->steps;
        if (status == FGSF_OK) status = fgsf_env_step(env, best.action, &rng, &result);
    }
    fgsf_env_free(env);
    bool good = fabs(row->overestimation - (start - row->discounted_return)) < 1e-9 &&
                fabs(row->action_gap - gap) < 1e-9;
    return status == FGSF_OK && !good ? fgsf_fail(FGSF_ERR_INVALID, "wrong values") : status;
}

// The greedy return of every task, with the learned rewards.
static fgsf_status evaluate(fgsf_agent *agent, const fgsf_config *cfg, double *returns) {
    fgsf_eval_rows rows = {0};
    fgsf_status status = fgsf_evaluate(agent, cfg, FGSF_EVAL_LEARNED, 0.0, &rows);
    for (int i = 0; i < rows.count && status == FGSF_OK; i++) {
        const fgsf_eval_row *row = &rows.rows[i];
        returns[row->task] = row->episode_return;
        if (row->success && row->episode_return == 1.0) { // the goal alone, in the last step
            double gamma = cfg->learner.gamma;
            bool good = fabs(row->discounted_return - pow(gamma, row->steps - 1)) < 1e-12;
            if (!good) status = fgsf_fail(FGSF_ERR_INVALID, "a wrong discounted return");
        }
        if (status == FGSF_OK) status = check_values(agent, cfg, row);
    }
    free(rows.rows);
    return status;
}

// What one run showed.
typedef struct outcome {
    double returns[2]; // at the end
    bool reached[2];   // the optimum, at some check on the way
    int late, kept; // checks of a task in the last third of the run; those that found its optimum
    double alone;   // of task 1 at the end, by the first policy without the others
} outcome;

static fgsf_status check(const problem *p, fgsf_agent *agent, const fgsf_config *cfg, bool late,
                         outcome *out) {
    fgsf_status status = evaluate(agent, cfg, out->returns);
    for (int task = 0; task < p->num_tasks; task++) {
        bool good = out->returns[task] >= 0.95 * p->optimal[task];
        out->reached[task] = out->reached[task] || good;
        out->late += late;
        out->kept += late && good;
    }
    return status;
}

static fgsf_status train(const problem *p, const fgsf_config *cfg, outcome *out) {
    fgsf_trainer *trainer = NULL;
    *out = (outcome){0};
    fgsf_status status = fgsf_trainer_create(cfg, &trainer);
    while (status == FGSF_OK && !fgsf_trainer_done(trainer)) {
        status = fgsf_trainer_step(trainer);
        fgsf_progress at = fgsf_trainer_progress(trainer);
        if (status == FGSF_OK && at.step % CHECK_EVERY == 0) {
            bool late = 3 * at.step > 2 * at.total_steps;
            status = check(p, fgsf_trainer_agent(trainer), cfg, late, out);
        }
    }
    if (status == FGSF_OK) {
        double returns[2];
        fgsf_agent *agent = fgsf_trainer_agent(trainer);
        int seen = agent->seen;
        agent->seen = 1;
        status = evaluate(agent, cfg, returns);
        agent->seen = seen;
        out->alone = returns[0];
    }
    fgsf_trainer_free(trainer);
    return status;
}

// How many seeds reach the optimum in every task: at the end, on the way, and on task 1 at the end
// when the first policy acts alone; and the late checks of all seeds.
typedef struct tally {
    int final, reached, alone, late, kept;
} tally;

static fgsf_status run_seeds(const problem *p, const char *method, const char *target, tally *out) {
    printf("%-6s %-21s %-7s", p->name, method, target);
    *out = (tally){0};
    for (int seed = 0; seed < SEEDS; seed++) {
        fgsf_config cfg;
        outcome o;
        fgsf_status status = configure(p, method, target, seed, &cfg);
        if (status == FGSF_OK) status = train(p, &cfg, &o);
        if (status != FGSF_OK) {
            return status;
        }
        bool final = true, reached = true;
        printf("  ");
        for (int task = 0; task < p->num_tasks; task++) {
            printf("%s%g", task ? "," : "", o.returns[task]);
            final = final && o.returns[task] >= 0.95 * p->optimal[task];
            reached = reached && o.reached[task];
        }
        out->final += final;
        out->reached += reached;
        out->alone += o.alone >= 0.95 * p->optimal[0];
        out->late += o.late;
        out->kept += o.kept;
        fflush(stdout);
    }
    printf("   %d of %d at the end, %d of %d late checks\n", out->final, SEEDS, out->kept,
           out->late);
    return FGSF_OK;
}

// Every seed finds the optimum, and the seeds together have it at most late checks.
#define ASSERT_LEARNED(t)                                                                          \
    do {                                                                                           \
        ASSERT_EQ_FMTm("seeds that reach the optimum on the way", SEEDS, (t).reached, "%d");       \
        if (SEEDS > 1) ASSERTm("half of the late checks", 2 * (t).kept >= (t).late && (t).late);   \
    } while (0)

TEST learns(const problem *p, const char *method) {
    tally t;
    ASSERT_OK(run_seeds(p, method, "none", &t));
    ASSERT_LEARNED(t);
    PASS();
}

TEST learns_and_keeps_it(const problem *p, const char *method) {
    tally t;
    ASSERT_OK(run_seeds(p, method, "none", &t));
    ASSERT_LEARNED(t);
    ASSERT_EQ_FMTm("seeds that are optimal at the end", SEEDS, t.final, "%d");
    PASS();
}

// Why dqn and sfrql miss: with the semi-gradient and no target network (clean compares gradients and
// nothing else) the values chase themselves, and actions whose values are 5 % apart change places from
// one step to the next. With a target network the same runs stand still.
TEST a_target_network_steadies_the_semi_gradient(const problem *p, const char *method) {
    tally t;
    ASSERT_OK(run_seeds(p, method, "hard", &t));
    ASSERT_EQ_FMTm(method, SEEDS, t.final, "%d");
    PASS();
}

// Why fg-sfrql misses task 1 after task 2: its first policy still is optimal alone, but GPI takes the
// maximum over both, and the second network's errors on states that its own policy never visits are
// above the first's values.
TEST the_first_policy_alone_still_is_optimal(void) {
    tally t;
    ASSERT_OK(run_seeds(&ROOM, "fg-sfrql", "none", &t));
    ASSERT_LEARNED(t);
    ASSERT_EQ_FMTm("seeds whose first policy is optimal alone", SEEDS, t.alone, "%d");
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    if (fgsf_envs_register() != FGSF_OK) return 1;
    printf("problem, method, target network, greedy returns at the end by seed (by task)\n");
    RUN_TESTp(learns, &CHAIN, "dqn");    // loses it at times: flickers, see below
    RUN_TESTp(learns, &CHAIN, "fg-dqn"); // flickers in 1 % of all checks
    RUN_TESTp(learns, &CHAIN, "sfrql");  // loses it at times: as dqn
    RUN_TESTp(learns_and_keeps_it, &CHAIN, "fg-sfrql");
    RUN_TESTp(learns_and_keeps_it, &CHAIN, "fg-sfrql-random");
    RUN_TESTp(learns_and_keeps_it, &CHAIN, "fg-sfrql-average");
    RUN_TESTp(learns_and_keeps_it, &CHAIN, "fg-sfrql-seq-average");
    RUN_TESTp(learns, &ROOM, "dqn"); // loses it at times: as on the chain
    RUN_TESTp(learns_and_keeps_it, &ROOM, "fg-dqn");
    RUN_TESTp(learns, &ROOM, "sfrql");                 // loses it at times: as dqn
    RUN_TEST(the_first_policy_alone_still_is_optimal); // GPI over errors
    RUN_TESTp(learns, &ROOM, "fg-sfrql-random");       // loses it at times: bumps into walls
    RUN_TESTp(learns, &ROOM, "fg-sfrql-average");      // loses it at times: as -random
    RUN_TESTp(learns, &ROOM, "fg-sfrql-seq-average");  // loses it at times: as fg-sfrql
    RUN_TESTp(a_target_network_steadies_the_semi_gradient, &CHAIN, "dqn");
    RUN_TESTp(a_target_network_steadies_the_semi_gradient, &CHAIN, "sfrql");
    GREATEST_MAIN_END();
}
