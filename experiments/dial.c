// One setting at several values, for several ways to take the gradient ("arms").
//
// An arm is the semi-gradient (alone, or with a target network that is copied every 100 updates or
// averaged with step 0.005), half of the bootstrap gradient, or the full gradient. Every arm is run at
// every value of the dial, with successor features and, where the dial applies, with DQN.
//
//     experiments/run dial --over rate --seeds 5                      best against best
//     experiments/run dial --over gamma --arms semi,full --seeds 5    the horizon
//     experiments/run dial --over slip --values 0.1 --arms hard100    one cell
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"
#include "say.h"

#define SET(key, value)                                                                            \
    { NULL, key, value }
#define MAX_VALUES 8
#define NUM(array) ((int)(sizeof(array) / sizeof *(array)))

// `key` gets the value. The rate of the other networks (successor features) follows at 1/100.
typedef struct dial {
    const char *name, *key, *dqn_key, *values, *doc;
} dial;

static const dial dials[] = {
    {"rate", "sf.lr", "dqn.lr", "1e-4,3e-4,1e-3,3e-3", "learning rate (priors: 1/100 of it)"},
    {"gamma", "train.gamma", "train.gamma", "0.8,0.9,0.95,0.99", "discount"},
    {"slip", "env.slip", "env.slip", "0,0.05,0.1,0.2,0.3", "probability of a random step"},
    {"norm", "net.norm", "net.norm", "none,rms,layer", "normalisation before each activation"},
    {"kind", "net.kind", "net.kind", "mlp,torso", "a network per policy, or one body for all"},
    {"reward", "reward.model", NULL, "linear_nlms,known", "reward learned or given"},
    {"action", "sf.next_action_current", NULL, "gpi,own", "next action of all policies or its own"},
};

typedef struct arm {
    const char *name;
    bool full; // the method with the full gradient, else the semi-gradient
    fgsf_setting settings[2];
} arm;

static const arm arms[] = {
    {"semi", false, {{0}}},
    {"hard100", false, {SET("target.mode", "hard"), SET("target.period", "100")}},
    {"polyak", false, {SET("target.mode", "polyak"), SET("target.polyak", "0.005")}},
    {"mix0.5", true, {SET("gradient.kind", "mix"), SET("gradient.eta", "0.5")}},
    {"full", true, {{0}}},
};

#define MAX_CELLS (2 * NUM(arms) * MAX_VALUES)

typedef struct cell {
    char name[64], value[32], prior[32];
    fgsf_setting settings[4];
} cell;

static const char *over = "", *chosen_arms = "", *chosen_values = "";

static const fgsf_cli_flag flags[] = {
    {"--over", "DIAL", "what is varied (`list` prints the dials)", &over},
    {"--values", "A,B", "only these values (default: those of the dial)", &chosen_values},
    {"--arms", "A,B", "only these of semi,hard100,polyak,mix0.5,full (default: all)", &chosen_arms},
};

static const char *const methods[] = {"sfrql", "fg-sfrql", "dqn", "fg-dqn", NULL};

static const fgsf_cli_spec spec = {
    .program = "dial",
    .summary = "Four Rooms: semi-gradient, target networks and full gradient over one setting.",
    .env = "four_rooms",
    .methods = methods,
    .flags = flags,
    .num_flags = NUM(flags),
};

// Whether `name` stands in a list with commas; an empty list holds everything.
static bool listed(const char *list, const char *name) {
    size_t length = strlen(name);
    if (!*list) return true;
    for (const char *at = list; (at = strstr(at, name)); at += length) {
        bool begins = at == list || at[-1] == ',', ends = at[length] == ',' || !at[length];
        if (begins && ends) return true;
    }
    return false;
}

// Names the cell after what it changes: "rate3e-4", "hard100-rate3e-4", "reward-known".
static fgsf_variant make(cell *c, const dial *d, const arm *a, bool is_dqn, const char *value) {
    bool is_word = value[0] > '9', is_plain = !a->settings[0].key;
    int n = 0;
    snprintf(c->value, sizeof c->value, "%s", value);
    snprintf(c->name, sizeof c->name, "%s%s%s%s%s", is_plain ? "" : a->name, is_plain ? "" : "-",
             d->name, is_word ? "-" : "", value);
    c->settings[n++] = (fgsf_setting)SET(is_dqn ? d->dqn_key : d->key, c->value);
    if (!is_dqn && strcmp(d->name, "rate") == 0) {
        snprintf(c->prior, sizeof c->prior, "%.3g", strtod(value, NULL) / 100);
        c->settings[n++] = (fgsf_setting)SET("sf.lr_prior", c->prior);
    }
    for (int i = 0; i < 2 && a->settings[i].key; i++) c->settings[n++] = a->settings[i];
    return (fgsf_variant){methods[a->full + 2 * is_dqn], c->name, c->settings, n};
}

static bool known_arms(void) {
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", chosen_arms);
    for (char *name; *chosen_arms && (name = strsep(&rest, ","));) {
        int a = 0;
        while (a < NUM(arms) && strcmp(arms[a].name, name) != 0) a++;
        if (a == NUM(arms)) {
            fgsf_say("dial: --arms '%.80s': no such arm; --help lists them", name);
            return false;
        }
    }
    return true;
}

static int expand(const dial *d, cell *cells, fgsf_variant *variants) {
    const char *list = *chosen_values ? chosen_values : d->values;
    int count = 0;
    for (int is_dqn = 0; is_dqn < (d->dqn_key ? 2 : 1); is_dqn++) {
        for (int a = 0; a < NUM(arms); a++) {
            const char *rest = list;
            for (int v = 0; listed(chosen_arms, arms[a].name) && *rest && v < MAX_VALUES; v++) {
                char value[32];
                size_t length = strcspn(rest, ",");
                snprintf(value, sizeof value, "%.*s", (int)length, rest);
                variants[count] = make(&cells[count], d, &arms[a], is_dqn, value);
                count++;
                rest += length + (rest[length] == ',');
            }
        }
    }
    return count;
}

int main(int argc, char **argv) {
    static cell cells[MAX_CELLS];
    fgsf_variant variants[MAX_CELLS];
    fgsf_cli cli;
    int code = fgsf_cli_parse(&spec, argc, argv, &cli);
    if (code != FGSF_CLI_RUN) {
        return code;
    }
    if (!known_arms()) return FGSF_CLI_BAD;
    for (int i = 0; i < NUM(dials); i++) {
        const dial *d = &dials[i];
        if (strcmp(over, "list") == 0) printf("%-8s %-24s %s\n", d->name, d->values, d->doc);
        if (strcmp(over, d->name) != 0) continue;
        return fgsf_study_run(&cli, variants, expand(d, cells, variants));
    }
    if (strcmp(over, "list") == 0) return 0;
    fgsf_say("dial: --over '%.80s': no such dial; --over list prints them", over);
    return FGSF_CLI_BAD;
}
