// Devices: which there are, what is refused, and that they agree.
#include "fgsf/device.h"

#ifdef FGSF_HAVE_CBLAS
#include <cblas.h>
#endif

#include "fgsf/bellman.h"
#include "support_assert.h"
#include "support_devices.h"

TEST lists_devices(void) {
    char name[64], about[256];
    int count = 0;
    for (; fgsf_device_list(count, name, sizeof name, about, sizeof about) == FGSF_OK; count++) {
        if (count < NUM_DEVICES) {
            ASSERT_STR_EQ(device_names[count], name);
        }
        ASSERT(*about);
    }
    ASSERT(count >= NUM_DEVICES);
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_device_list(-1, name, sizeof name, about, sizeof about));
    ASSERT_EQ(FGSF_ERR_INVALID, fgsf_device_list(count, name, sizeof name, about, sizeof about));
    ASSERT_OK(fgsf_device_list(0, name, 3, about, 3)); // cut, not overrun
    ASSERT_STR_EQ("au", name);
    PASS();
}

TEST opens_what_it_lists(void) {
    for (int i = 0; i < NUM_DEVICES; i++) {
        fgsf_device *device = NULL;
        ASSERT_OK(fgsf_device_open(device_names[i], &device));
        ASSERT(*fgsf_device_description(device));
        ASSERT_STR_EQ("", fgsf_device_fallbacks(device));
        fgsf_device_free(device);
    }
    static const char *const odd[][2] = {
        {"AUTO", "auto"}, {"Cpu", "cpu"}, {"Resident", "resident"}, {"BLAS", "blas"}};
    for (int i = 0; i < NUM_DEVICES; i++) { // case does not matter
        fgsf_device *one = NULL, *two = NULL;
        ASSERT_OK(fgsf_device_open(odd[i][0], &one));
        ASSERT_OK(fgsf_device_open(odd[i][1], &two));
        ASSERT_STR_EQ(fgsf_device_description(two), fgsf_device_description(one));
        fgsf_device_free(one);
        fgsf_device_free(two);
    }
    fgsf_device *device = NULL;
    ASSERT_OK(fgsf_device_open(NULL, &device)); // auto
    fgsf_device_free(device);
    ASSERT_OK(fgsf_device_open("", &device));
    fgsf_device_free(device);
    fgsf_device_free(NULL);
    PASS();
}

TEST refuses_unknown_names(void) {
    static const char *const wrong[] = {"abacus", "AUTO ", "cuda99", "?"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fgsf_device *device = NULL;
        ASSERT_EQ(FGSF_ERR_UNSUPPORTED, fgsf_device_open(wrong[i], &device));
        ASSERT_EQ(NULL, device);
        ASSERT(strstr(fgsf_last_error(), "device.name: '"));
        ASSERT(strstr(fgsf_last_error(), wrong[i]));
    }
    PASS();
}

TEST agrees_with_the_cpu(const char *name) {
    fgsf_device *device = NULL;
    double error = -1.0;
    ASSERT_OK(fgsf_device_open(name, &device));
    ASSERT_OK(fgsf_device_check(device, 1e-5, &error));
    ASSERT_BELOW(name, error, 2e-6);
    ASSERT(error >= 0.0);
    if (strcmp(name, "cpu") == 0) {
        ASSERT_EQ(0.0, error); // the same device twice
    }
    // The limit is compared with this very error, even where two devices round alike and it is 0.
    ASSERT_OK(fgsf_device_check(device, error, NULL));
    ASSERT_EQ(FGSF_ERR_UNSUPPORTED, fgsf_device_check(device, nextafter(error, -1.0), NULL));
    ASSERT(strstr(fgsf_last_error(), "differ from the CPU's by"));
    ASSERT_EQ(FGSF_ERR_UNSUPPORTED, fgsf_device_check(device, NAN, NULL));
#ifdef FGSF_HAVE_CBLAS
    if (strcmp(name, "blas") == 0) { // left alone, ggml's BLAS backend would take four
        ASSERT_EQ_FMT(1, openblas_get_num_threads(), "%d");
    }
#endif
    printf("%s: %.2e\n", name, error);
    fgsf_device_free(device);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_TEST(lists_devices);
    RUN_TEST(opens_what_it_lists);
    RUN_TEST(refuses_unknown_names);
    for (int i = 0; i < NUM_DEVICES; i++) {
        RUN_TEST1(agrees_with_the_cpu, device_names[i]);
    }
    GREATEST_MAIN_END();
}
