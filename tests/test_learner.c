// What a learner is made of: the error network's start, heads of a shared network, and kinds that are
// refused. Its updates are tested in test_update.c.
#include <string.h>

#include "ggml.h"
#include "support_assert.h"
#include "support_update.h"

// The target network of a shared body knows a new head as it starts, drawn or copied.
TEST a_new_head_is_in_the_target_network(const char *settings) {
    world *w = world_create("clean", "sfrql", settings, 0);
    fgsf_config cfg = w->t->cfg;
    fgsf_trainer *t = NULL;
    ASSERT_OK(fgsf_trainer_create(&cfg, &t));
    for (int tasks = 1; tasks <= WORLD_TASKS; tasks++) {
        ASSERT_OK(fgsf_trainer_add_tasks(t, tasks));
        const fgsf_network *net = t->agent->nets[0], *target = t->learner->training[0].target;
        const fgsf_parameters *list = fgsf_network_get_parameters(net);
        const fgsf_parameter *last = &list->list[list->count - 2];
        size_t each = (size_t)(t->agent->shape.actions * t->agent->shape.features * last->columns);
        const float *head =
            fgsf_network_parameters(net) + last->offset + each * (size_t)(tasks - 1);
        ASSERT(head[0] != 0.0f && head[each - 1] != 0.0f);
        ASSERT_MEM_EQ(fgsf_network_parameters(net), fgsf_network_parameters(target),
                      fgsf_network_size(net) * sizeof(float));
    }
    fgsf_trainer_free(t);
    world_free(w);
    PASS();
}

// --- The error network's start --------------------------------------------------------------------

typedef struct ggml_tensor tensor;
typedef struct ggml_context context;

static void gated_parameters(const fgsf_network_shape *shape, fgsf_parameters *out) {
    int outputs = shape->actions * shape->features;
    fgsf_parameters_add(out, "w", outputs, shape->input, FGSF_FILL_WEIGHTS, shape->input);
    fgsf_parameters_add(out, "gate", 1, outputs, FGSF_FILL_ONES, 1);
    fgsf_parameters_add(out, "shift", 1, outputs, FGSF_FILL_ONES, 1);
}

static tensor *gated(context *ctx, const fgsf_network_shape *shape, tensor *const *p, tensor *s) {
    (void)shape;
    tensor *h = ggml_silu(ctx, ggml_mul_mat(ctx, p[0], s));
    return ggml_add(ctx, ggml_mul(ctx, h, p[1]), p[2]);
}

static tensor *rectified(context *ctx, const fgsf_network_shape *shape, tensor *const *p,
                         tensor *s) {
    return ggml_relu(ctx, gated(ctx, shape, p, s));
}

static tensor *never_zero(context *ctx, const fgsf_network_shape *shape, tensor *const *p,
                          tensor *s) {
    return ggml_exp(ctx, gated(ctx, shape, p, s));
}

static const fgsf_network_def starts[] = {
    {.name = "gated", .summary = "", .parameters = gated_parameters, .forward = gated},
    {.name = "rectified", .summary = "", .parameters = gated_parameters, .forward = rectified},
    {.name = "never-zero", .summary = "", .parameters = gated_parameters, .forward = never_zero},
};

static fgsf_status create_learner(const fgsf_network_def *def, fgsf_learner_params params,
                                  fgsf_learner **out) {
    params.agent.num_tasks = 2;
    params.agent.num_actions = 3;
    params.agent.num_features = 2;
    params.agent.state_size = 5;
    params.agent.net = (fgsf_network_shape){.num_hidden = 1, .hidden = {6}, .bias = true};
    params.agent.net.def = def;
    params.batch_size = 4;
    params.buffer_capacity = 16;
    return fgsf_learner_create(&params, out);
}

// The output of h is zero at first, for any definition, and the parameters before the last ones are
// drawn.
TEST error_starts_at_zero(const fgsf_network_def *def) {
    fgsf_learner_params params = fgsf_learner_default_params();
    fgsf_learner *l = NULL;
    params.gradient.kind = FGSF_CORRECTED;
    ASSERT_OK(create_learner(def, params, &l));
    ASSERT_OK(fgsf_learner_add_task(l));
    fgsf_network *h = l->training[0].error;
    float s[2][5] = {{1.0f, -2.0f, 0.5f, 3.0f, 0.0f}, {-1.0f, 0.25f, 2.0f, -4.0f, 1.0f}};
    float x[2 * 3 * 2 * 2];
    int count = 2 * 3 * 2 * (def->shared ? 2 : 1);
    ASSERT_OK(fgsf_gpe_representation(l->agent->gpe, h, s[0], 2, x));
    for (int i = 0; i < count; i++) ASSERT_EQ(0.0f, x[i]);
    ASSERT(fgsf_network_parameters(h)[0] != 0.0f);
    for (int i = 0; i < 40; i++) { // and it learns
        ASSERT_OK(fgsf_learner_observe(
            l, &(fgsf_experience){.s = s[0], .s_next = s[1], .phi = s[1], .action = i % 3}));
        ASSERT_OK(fgsf_learner_learn(l, 0, NULL));
    }
    ASSERT_OK(fgsf_gpe_representation(l->agent->gpe, h, s[0], 2, x));
    for (int i = 0; i < 6; i++) ASSERT(x[i] != 0.0f);
    fgsf_learner_free(l);
    PASS();
}

// An agent with a shared network asks each policy's own head: for its features, and, without GPI, for
// the only values that count.
TEST policies_are_their_heads(void) {
    fgsf_learner_params params = fgsf_learner_default_params();
    fgsf_learner *l = NULL;
    params.agent.scope = FGSF_SCOPE_OWN;
    ASSERT_OK(create_learner(&fgsf_network_torso, params, &l));
    ASSERT_OK(fgsf_learner_add_task(l));
    ASSERT_OK(fgsf_learner_add_task(l));
    const float s[5] = {1.0f, -2.0f, 0.5f, 3.0f, 0.0f}, rho[2] = {0.5f, -1.0f};
    float all[2 * 3 * 2], x[3 * 2], q[2 * 3];
    ASSERT_OK(fgsf_gpe_representation(l->agent->gpe, l->agent->nets[0], s, 1, all));
    for (int k = 0; k < 2; k++) {
        int policies = 0;
        ASSERT_OK(fgsf_agent_features(l->agent, 0, k, s, x));
        ASSERT_OK(fgsf_agent_q(l->agent, k, rho, s, q, &policies));
        ASSERT_EQ(1, policies);
        for (int i = 0; i < 6; i++) ASSERT_EQ_FMT(all[k * 6 + i], x[i], "%g");
        for (int a = 0; a < 3; a++) {
            double value = 0.5 * x[2 * a] - 1.0 * x[2 * a + 1];
            ASSERT_IN_RANGEm("Q", value, q[a], 1e-5);
        }
    }
    ASSERT(memcmp(all, all + 6, 6 * sizeof *all) != 0);
    fgsf_learner_free(l);
    PASS();
}

TEST kinds_without_their_network_are_refused(void) {
    fgsf_learner_params params = fgsf_learner_default_params();
    fgsf_learner *l = NULL;
    params.gradient.kind = FGSF_GTD2;
    ASSERT_REFUSED(create_learner(&starts[1], params, &l), "gradient.kind corrected or gtd2");
    ASSERT_REFUSED(create_learner(&starts[2], params, &l), "gradient.kind corrected or gtd2");
    params.target.mode = FGSF_TARGET_HARD;
    ASSERT_REFUSED(create_learner(NULL, params, &l), "gradient.kind: with an error network");
    params.gradient.kind = FGSF_CONVERGENT;
    params.target.mode = FGSF_TARGET_NONE;
    ASSERT_REFUSED(create_learner(NULL, params, &l), "gradient.kind: this kind needs target.mode");
    ASSERT_EQ(NULL, l);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TESTp(a_new_head_is_in_the_target_network, "net.kind=torso target.mode=hard");
    RUN_TESTp(a_new_head_is_in_the_target_network,
              "net.kind=torso target.mode=polyak sf.init_from=previous");
    RUN_TESTp(error_starts_at_zero, &fgsf_network_mlp);
    RUN_TESTp(error_starts_at_zero, &fgsf_network_torso);
    RUN_TESTp(error_starts_at_zero, &starts[0]);
    RUN_TEST(policies_are_their_heads);
    RUN_TEST(kinds_without_their_network_are_refused);
    GREATEST_MAIN_END();
}
