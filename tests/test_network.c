// Networks: shapes and what is refused, the flat layout, initialisation, tracking, versions.
#include "fgsf/network.h"

#include <math.h>
#include <stdlib.h>

#include "support_assert.h"
#include "support_problem.h"

// The parameter of that name, or NULL.
static const fgsf_parameter *find(const fgsf_parameters *list, const char *name) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->list[i].name, name) == 0) return &list->list[i];
    }
    return NULL;
}

// The weights, or biases, of a layer.
static const fgsf_parameter *of_layer(const fgsf_parameters *list, int layer, const char *what) {
    char name[32];
    snprintf(name, sizeof name, "layers.%d.%s", layer, what);
    return find(list, name);
}

TEST lays_parameters_out(bool bias) {
    fgsf_network_shape shape = problem_shape(FGSF_RELU);
    shape.bias = bias;
    fgsf_parameters list;
    fgsf_network_list(&shape, &list);
    ASSERT_EQ(bias ? 6 : 3, list.count);
    ASSERT_FALSE(list.overflow);
    static const int in[] = {5, 8, 8}, out[] = {8, 8, 6};
    size_t end = 0;
    for (int l = 0; l < 3; l++) {
        const fgsf_parameter *w = of_layer(&list, l, "weight"), *b = of_layer(&list, l, "bias");
        ASSERT(w);
        ASSERT_EQ(in[l], w->columns);
        ASSERT_EQ(out[l], w->rows);
        ASSERT_EQ(in[l], w->fan_in);
        ASSERT_EQ(0u, w->offset % 16); // blocks start on cache lines
        ASSERT(w->offset >= end);
        end = w->offset + (size_t)(in[l] * out[l]);
        ASSERT_EQ(bias, b != NULL);
        if (bias) {
            ASSERT_EQ(1, b->rows);
            ASSERT_EQ(out[l], b->columns);
            ASSERT_EQ(0u, b->offset % 16);
            ASSERT(b->offset >= end);
            end = b->offset + (size_t)out[l];
        }
    }
    ASSERT_EQ(list.flat_size, fgsf_network_flat_size(&shape));
    ASSERT(fgsf_network_flat_size(&shape) >= end);
    ASSERT_EQ(0u, fgsf_network_flat_size(&shape) % 16);
    ASSERT_EQ((size_t)(5 * 8 + 8 * 8 + 8 * 6 + (bias ? 8 + 8 + 6 : 0)),
              fgsf_network_num_parameters(&shape));
    PASS();
}

TEST is_linear_without_hidden_layers(void) {
    fgsf_network_shape shape = {.input = 7, .actions = 2, .features = 3};
    fgsf_parameters list;
    fgsf_network_list(&shape, &list);
    ASSERT_EQ(1, list.count);
    ASSERT_STR_EQ("layers.0.weight", list.list[0].name);
    ASSERT_EQ(7, list.list[0].columns);
    ASSERT_EQ(6, list.list[0].rows);
    ASSERT_EQ(42u, fgsf_network_num_parameters(&shape));
    PASS();
}

TEST refuses_bad_shapes(void) {
    fgsf_network *net = NULL;
    fgsf_network_shape good = problem_shape(FGSF_RELU), s;
#define REFUSED(change, field)                                                                     \
    s = good;                                                                                      \
    change;                                                                                        \
    ASSERT_REFUSED(fgsf_network_create(&s, &net), field);                                          \
    ASSERT_EQ(NULL, net)
    REFUSED(s.input = 0, "network.input: 0 is not in [1, 1048576]");
    REFUSED(s.input = -5, "network.input: -5");
    REFUSED(s.actions = 0, "network.actions");
    REFUSED(s.features = 1 << 21, "network.features");
    REFUSED((s.actions = 1 << 11, s.features = 1 << 11), "network");
    REFUSED(s.num_hidden = -1, "network.hidden");
    REFUSED(s.num_hidden = FGSF_MAX_HIDDEN + 1, "network.hidden");
    REFUSED(s.hidden[0] = 0, "network.hidden[0]");
    REFUSED(s.hidden[1] = 1 << 21, "network.hidden[1]");
#undef REFUSED
    s = good;
    s.activation = (enum fgsf_activation)3;
    ASSERT_EQ(FGSF_ERR_UNSUPPORTED, fgsf_network_create(&s, &net));
    ASSERT(strstr(fgsf_last_error(), "network.activation"));
    PASS();
}

// 2^40 numbers are refused before anyone asks for their memory.
TEST survives_a_network_that_is_too_large(void) {
    fgsf_network_shape shape = {
        .input = 1 << 20, .num_hidden = 1, .hidden = {1 << 20}, .actions = 1, .features = 1};
    fgsf_network *net = NULL;
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_network_create(&shape, &net));
    ASSERT(strstr(fgsf_last_error(), "at most 2147483647 together"));
    ASSERT_EQ(NULL, net);
    PASS();
}

// Moments of each layer's weights; biases and padding.
TEST initialises(enum fgsf_init init) {
    fgsf_network_shape shape = {
        .input = 100, .num_hidden = 1, .hidden = {300}, .actions = 5, .features = 3, .bias = true};
    fgsf_network *net = NULL;
    ASSERT_OK(fgsf_network_create(&shape, &net));
    fgsf_rng rng = fgsf_rng_make(1, FGSF_STREAM_INIT);
    fgsf_network_init(net, init, &rng);
    const fgsf_parameters *list = fgsf_network_get_parameters(net);
    const float *data = fgsf_network_parameters(net);
    double parameters = 0.0, all = 0.0;
    for (int l = 0; l < 2; l++) {
        const fgsf_parameter *weights = of_layer(list, l, "weight");
        const fgsf_parameter *biases = of_layer(list, l, "bias");
        int count = weights->rows * weights->columns;
        double bound = 1.0 / sqrt(weights->columns), sum = 0.0, squares = 0.0;
        for (int i = 0; i < count; i++) {
            double w = data[weights->offset + (size_t)i];
            ASSERT(init == FGSF_NORMAL_FAN_IN || fabs(w) <= bound * (1 + 1e-6));
            sum += w / count;
            squares += w * w / count;
            parameters += fabs(w);
        }
        double variance = init == FGSF_NORMAL_FAN_IN    ? bound * bound
                          : init == FGSF_UNIFORM_FAN_IN ? bound * bound / 3.0
                                                        : 0.0;
        ASSERT_BELOW("mean", fabs(sum), 5.0 * sqrt(variance / count) + 1e-12);
        ASSERT_BELOW("variance", fabs(squares - variance), 0.08 * variance + 1e-12);
        for (int i = 0; i < biases->columns; i++) {
            float b = data[biases->offset + (size_t)i];
            ASSERT_EQ(init == FGSF_UNIFORM_FAN_IN, b != 0.0f);
            ASSERT(fabs(b) <= bound * (1 + 1e-6));
            parameters += fabs(b);
        }
    }
    for (size_t i = 0; i < fgsf_network_flat_size(&shape); i++) {
        all += fabs(data[i]);
    }
    ASSERT_BELOW("padding", fabs(all - parameters), 1e-9 * all + 1e-300);
    fgsf_network_free(net);
    PASS();
}

TEST draws_the_same_from_the_same_stream(void) {
    fgsf_network_shape shape = problem_shape(FGSF_SILU);
    size_t bytes = fgsf_network_flat_size(&shape) * sizeof(float);
    fgsf_network *a = NULL, *b = NULL;
    ASSERT_OK(fgsf_network_create(&shape, &a));
    ASSERT_OK(fgsf_network_create(&shape, &b));
    fgsf_rng first = fgsf_rng_make(4, FGSF_STREAM_INIT), second = first, third = first;
    fgsf_network_init(a, FGSF_NORMAL_FAN_IN, &first);
    fgsf_network_init(b, FGSF_NORMAL_FAN_IN, &second);
    ASSERT_MEM_EQ(fgsf_network_parameters(a), fgsf_network_parameters(b), bytes);
    fgsf_network_init(b, FGSF_NORMAL_FAN_IN, &second); // the stream went on
    ASSERT(memcmp(fgsf_network_parameters(a), fgsf_network_parameters(b), bytes) != 0);
    fgsf_network_init(b, FGSF_ZEROS, &third);
    fgsf_rng untouched = fgsf_rng_make(4, FGSF_STREAM_INIT);
    ASSERT_MEM_EQ(&untouched, &third, sizeof third); // zeros draw nothing
    fgsf_network_free(a);
    fgsf_network_free(b);
    PASS();
}

TEST tracks_and_counts_versions(void) {
    fgsf_network_shape shape = problem_shape(FGSF_SILU);
    fgsf_network *net = NULL, *source = NULL;
    ASSERT_OK(fgsf_network_create(&shape, &net));
    ASSERT_OK(fgsf_network_create(&shape, &source));
    fgsf_rng rng = fgsf_rng_make(4, FGSF_STREAM_INIT);
    fgsf_network_init(net, FGSF_UNIFORM_FAN_IN, &rng);
    fgsf_network_init(source, FGSF_UNIFORM_FAN_IN, &rng);
    size_t size = fgsf_network_flat_size(&shape);
    float *before = malloc(size * sizeof(float));
    memcpy(before, fgsf_network_parameters(net), size * sizeof(float));
    uint64_t version = fgsf_network_version(net), other = fgsf_network_version(source);
    ASSERT_OK(fgsf_network_track(net, source, 0.25f)); // Polyak
    ASSERT(fgsf_network_version(net) != version);
    ASSERT_EQ(other, fgsf_network_version(source));
    for (size_t i = 0; i < size; i++) {
        double expected = 0.75 * before[i] + 0.25 * fgsf_network_parameters(source)[i];
        ASSERT_BELOW("polyak", fabs(fgsf_network_parameters(net)[i] - expected), 1e-7);
    }
    ASSERT_OK(fgsf_network_track(net, source, 1.0f)); // hard, exact
    ASSERT_MEM_EQ(fgsf_network_parameters(source), fgsf_network_parameters(net),
                  size * sizeof(float));
    version = fgsf_network_version(net);
    fgsf_network_edit(net)[0] = 1.0f;
    ASSERT(fgsf_network_version(net) != version);
    free(before);
    fgsf_network_free(net);
    fgsf_network_free(source);
    fgsf_network_free(NULL);
    PASS();
}

// Every field of a shape counts: a network of another one is never taken for it.
TEST other_shapes_are_refused(void) {
    const fgsf_network_shape base = {.input = 3,
                                     .num_hidden = 1,
                                     .hidden = {4},
                                     .actions = 2,
                                     .features = 2,
                                     .heads = 2,
                                     .def = &fgsf_network_torso};
    fgsf_network_shape other[10];
    for (int i = 0; i < 10; i++) other[i] = base;
    other[1].input = 4;
    other[2].num_hidden = 0;
    other[3].hidden[0] = 5;
    other[4].actions = 4, other[4].heads = 1; // as many outputs
    other[5].features = 1, other[5].actions = 4;
    other[6].activation = FGSF_SILU;
    other[7].bias = true;
    other[8].norm = FGSF_NORM_RMS;
    other[9].heads = 3;
    fgsf_network *net = NULL, *source = NULL;
    ASSERT_OK(fgsf_network_create(&base, &net));
    for (int i = 0; i < 10; i++) {
        ASSERT_OK(fgsf_network_create(&other[i], &source));
        fgsf_status status = fgsf_network_track(net, source, 1.0f);
        ASSERT_EQ_FMT((int)(i == 0 ? FGSF_OK : FGSF_ERR_INVALID), (int)status, "%d");
        fgsf_network_free(source);
    }
    fgsf_network_free(net);
    fgsf_network_shape one = base, mlp = base;
    one.heads = mlp.heads = 1;
    mlp.def = &fgsf_network_mlp; // the same numbers under another name
    ASSERT_OK(fgsf_network_create(&one, &net));
    ASSERT_OK(fgsf_network_create(&mlp, &source));
    ASSERT_REFUSED(fgsf_network_track(net, source, 1.0f), "the network to track");
    fgsf_network_free(net);
    fgsf_network_free(source);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST1(lays_parameters_out, true);
    RUN_TEST1(lays_parameters_out, false);
    RUN_TEST(is_linear_without_hidden_layers);
    RUN_TEST(refuses_bad_shapes);
    RUN_TEST(survives_a_network_that_is_too_large);
    RUN_TEST1(initialises, FGSF_NORMAL_FAN_IN);
    RUN_TEST1(initialises, FGSF_UNIFORM_FAN_IN);
    RUN_TEST1(initialises, FGSF_ZEROS);
    RUN_TEST(draws_the_same_from_the_same_stream);
    RUN_TEST(tracks_and_counts_versions);
    RUN_TEST(other_shapes_are_refused);
    GREATEST_MAIN_END();
}
