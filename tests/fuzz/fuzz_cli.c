// Fuzzes the drivers' command line: the input is one argument per line. What is accepted has methods, seeds
// and an OUT, and every method a configuration or a message.
#include "fuzz.h"

#include "cli.h"
#include "fgsf/envs.h"

#define MOST 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const methods[] = {"dqn", "fg-sfrql", NULL};
    static const fgsf_cli_spec spec = {"fuzz", "A driver.", .env = "four_rooms",
                                       .methods = methods};
    static fgsf_cli cli;
    static fgsf_config cfg;
    char *text = fuzz_text(data, size), *rest = text, *argv[MOST + 2] = {(char[]){"fuzz"}};
    int argc = 1;
    require(fgsf_envs_register() == FGSF_OK);
    // A plugin is code, and a device is looked for: neither is a matter of reading.
    bool leaves = strstr(text, "plugin") || strstr(text, "device");
    while (argc <= MOST && rest) argv[argc++] = strsep(&rest, "\n");
    memset(&cli, 0, sizeof cli);
    if (!leaves && fgsf_cli_parse(&spec, argc, argv, &cli) == FGSF_CLI_RUN) {
        require(cli.num_methods > 0 && cli.num_methods <= FGSF_CLI_MAX_METHODS);
        require(cli.num_seeds > 0 && cli.num_seeds <= FGSF_CLI_MAX_SEEDS && cli.out && *cli.out);
        for (int i = 0; i < cli.num_methods; i++) {
            fgsf_cli_config(&cli, cli.methods[i], NULL, 0, &cfg);
        }
    }
    free(text);
    return 0;
}
