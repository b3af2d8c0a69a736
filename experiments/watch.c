// Replays a trained policy in the terminal.
//
// Each step shows the Q-values of every prior and the prior that GPI picked.
//
//     watch runs/four_rooms-clean/four_rooms/fg-sfrql/seed-0/policy.gguf --task 2
//     watch POLICY.gguf --task h3 --episodes 1 --plain          a held-out task, as plain text
//     watch POLICY.gguf --reward "1,-0.5,2,1"                   a reward never trained on
//     watch POLICY.gguf --reward "2*phi0 - phi1*phi1"           and a formula of the features
//
// Episodes are those of eval.csv: the same seeds, so the same returns. On a terminal the picture is
// redrawn in place; elsewhere, or with --plain, the frames follow each other.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "fgsf/archive.h"
#include "fgsf/evaluate.h"
#include "flags.h"
#include "formula.h"
#include "say.h"
#include "watch_view.h"

#define MAX_SHOWN 12 // priors in the table of Q-values
#define TRIED 2000   // transitions that the error of a reward is measured on

typedef struct options {
    const char *policy, *task, *frames, *reward;
    long episodes, delay, seed, steps; // -1: not given
    double epsilon;
    bool plain;
} options;

typedef struct watcher {
    fgsf_config cfg;
    const options *o;
    fgsf_agent *agent;
    fgsf_env *env;
    fgsf_watch_view *view;
    int task;
    float *rho; // NULL: the learned one
    float *given, *state, *q;
    const char *reward_name;
    bool live;
    int episode, step, frame, num_policies;
    fgsf_choice choice;
    bool explored; // the action was a random one
    double total;  // return so far
    double *w;     // typed weights, or the fit of a typed formula
    bool typed;    // the reward is the command line's
    bool infinite; // it was not finite somewhere
    double sum;    // of returns
    int reached;   // episodes that reached the goal
    fgsf_step_result last;
} watcher;

static volatile sig_atomic_t stopped = 0;

static void on_stop(int signal_number) {
    stopped = signal_number;
}

// ---- The command line ----------------------------------------------------------------------------

static bool read_epsilon(fgsf_flags *flags, const char *value) {
    double *epsilon = &((options *)flags->ctx)->epsilon;
    char *end = NULL;
    *epsilon = strtod(value, &end);
    return (end != value && *end == '\0' && *epsilon >= 0 && *epsilon <= 1) ||
           fgsf_flags_bad(flags, value, "is not a number in [0, 1]");
}

// Reads the command line; returns FGSF_FLAGS_RUN or the exit code.
static int read_arguments(int argc, char **argv, options *o) {
    *o = (options){.task = "0",
                   .reward = "learned",
                   .episodes = 1,
                   .delay = -1,
                   .seed = FGSF_EVAL_SEED,
                   .steps = -1};
    const fgsf_flag table[] = {
        {"--task", "K", "the task: 0, 1, ... trained on, h0, h1, ... held out (default 0)",
         .text = &o->task},
        {"--episodes", "N", "episodes to play (default 1)", .number = &o->episodes, .max = 1000000},
        {"--steps", "T", "steps of an episode at most (default: eval.horizon)", .number = &o->steps,
         .max = 1000000},
        {"--delay", "MS", "milliseconds per step (default 150 on a terminal, else 0)",
         .number = &o->delay, .max = 60000},
        {"--epsilon", "E", "probability of a uniform action (default 0)", .read = read_epsilon},
        {"--reward", "R",
         "what the priors are scored with: learned (default), true, weights of the features\n"
         "                         (1,-0.5,2) or a formula of them (2*phi0 - phi1*phi1)",
         .text = &o->reward},
        {"--seed", "N", "of the episodes (default: those of eval.csv)", .number = &o->seed,
         .max = 2000000000},
        {"--plain", NULL, "print one frame after the other, as when the output is not a terminal",
         .on = &o->plain},
        {"--frames", "DIR", "write every frame to DIR/frame-00000.ppm and so on",
         .text = &o->frames},
    };
    fgsf_flags flags = {"watch",
                        "POLICY.gguf [FLAGS]",
                        "Replays a trained policy in the terminal.",
                        table,
                        sizeof table / sizeof *table,
                        .words = &o->policy,
                        .max_words = 1,
                        .ctx = o};
    int code = fgsf_flags_read(&flags, argc, argv);
    if (code == FGSF_FLAGS_RUN && !o->policy) {
        fgsf_say("watch: a POLICY.gguf is needed; every run directory has one");
        return FGSF_FLAGS_BAD;
    }
    return code;
}

// ---- Frames --------------------------------------------------------------------------------------

static const char *task_name(const watcher *w) {
    static char text[32];
    int trained = w->env->spec.num_tasks;
    snprintf(text, sizeof text, "%s%d", w->task < trained ? "" : "h",
             w->task < trained ? w->task : w->task - trained);
    return text;
}

static void print_head(const watcher *w, FILE *out) {
    char method[32];
    fgsf_config_get(&w->cfg, "method", method, sizeof method);
    fprintf(out, "%s  %s  task %s (reward %s)  episode %d  step %d  return %.3g\n",
            w->env->def->name, method, task_name(w), w->reward_name, w->episode, w->step, w->total);
}

// Three decimals while they fit into the columns.
static int decimals(const watcher *w) {
    float largest = 0;
    for (int i = 0; i < w->num_policies * w->env->spec.num_actions; i++) {
        if (fabsf(w->q[i]) > largest) largest = fabsf(w->q[i]);
    }
    return largest < 9.9995f ? 3 : largest < 99.995f ? 2 : largest < 999.95f ? 1 : 0;
}

// DQN asks the task's own network alone, which is then the only row.
static int own_network(const watcher *w) {
    int last = fgsf_agent_num_policies(w->agent) - 1;
    if (fgsf_agent_get_params(w->agent)->representation != FGSF_Q) return -1;
    return w->task < last ? w->task : last;
}

static void print_q_row(const watcher *w, FILE *out, int k, int digits) {
    int actions = w->env->spec.num_actions;
    int own = own_network(w);
    fprintf(out, "%c %s %-3d", k == w->choice.policy ? '>' : ' ', own >= 0 ? "net  " : "prior",
            own >= 0 ? own : k);
    for (int a = 0; a < actions; a++) {
        bool chosen = k == w->choice.policy && a == w->choice.action;
        fprintf(out, " %6.*f%c", digits, (double)w->q[k * actions + a], chosen ? '*' : ' ');
    }
    putc('\n', out);
}

// Q-values by prior and action; the chosen ones are marked.
static void print_q(const watcher *w, FILE *out) {
    fprintf(out, "           ");
    for (int a = 0; a < w->env->spec.num_actions; a++) {
        fprintf(out, " %6s ", fgsf_watch_action(w->env, a));
    }
    putc('\n', out);
    int digits = decimals(w);
    for (int k = 0; k < w->num_policies; k++) {
        if (k < MAX_SHOWN || k == w->choice.policy) print_q_row(w, out, k, digits);
    }
    if (w->num_policies > MAX_SHOWN) {
        fprintf(out, "  ... %d priors in all\n", w->num_policies);
    }
}

static void print_choice(const watcher *w, FILE *out, bool over) {
    if (over) {
        fprintf(out, "%s\n", w->last.terminal ? "the episode is over" : "cut at the step limit");
    } else if (w->explored) {
        fprintf(out, "a random action: %s\n", fgsf_watch_action(w->env, w->choice.action));
    } else {
        int own = own_network(w);
        fprintf(out, "%s %d: %s\n", own >= 0 ? "net" : "prior", own >= 0 ? own : w->choice.policy,
                fgsf_watch_action(w->env, w->choice.action));
    }
}

static const char *colour(char what) {
    switch (what) {
    case '@':
        return "\033[1;31m";
    case 'G':
        return "\033[1;32m";
    case '.':
    case '#':
        return "\033[2m";
    case '*':
    case '+':
        return "\033[36m";
    default:
        return what >= '1' && what <= '9' ? "\033[1;34m" : "";
    }
}

// Prints a frame over the last one, cut to the terminal, the picture's rows in colour.
static void redraw(const char *frame, int first_row, int rows) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    int height = known ? size.ws_row - 1 : 1000, width = known ? size.ws_col - 1 : 1000, row = 0;
    fputs("\033[H", stdout);
    for (const char *line = frame, *end; *line && row < height; line = end + 1, row++) {
        end = strchr(line, '\n');
        int length = (int)(end - line) < width ? (int)(end - line) : width;
        bool picture = row >= first_row && row < first_row + rows;
        for (int i = 0; i < length; i++) {
            const char *code = picture ? colour(line[i]) : "";
            printf("%s%c%s", code, line[i], *code ? "\033[0m" : "");
        }
        fputs("\033[K\n", stdout);
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

static fgsf_status save_frame(watcher *w) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/frame-%05d.ppm", w->o->frames, w->frame++);
    if (n >= (int)sizeof path) {
        return fgsf_fail(FGSF_ERR_INVALID, "%.200s...: the path is too long", w->o->frames);
    }
    return fgsf_watch_view_save(w->view, path);
}

static void wait_step(const watcher *w) {
    long ms = w->o->delay >= 0 ? w->o->delay : w->live ? 150 : 0;
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0) nanosleep(&t, NULL); // a signal ends it early
}

static fgsf_status show(watcher *w, bool over) {
    char *frame = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&frame, &length);
    if (!out) return fgsf_fail(FGSF_ERR_MEMORY, "no memory for a frame");
    print_head(w, out);
    putc('\n', out);
    for (int row = 0; row < w->view->rows; row++) {
        fprintf(out, "%s\n", fgsf_watch_view_row(w->view, row));
    }
    putc('\n', out);
    print_q(w, out);
    print_choice(w, out, over);
    fclose(out);
    errno = 0;
    if (w->live) {
        redraw(frame, 2, w->view->numbers ? 0 : w->view->rows);
    } else {
        printf("%s\n", frame);
        fflush(stdout);
    }
    free(frame);
    if (ferror(stdout) && errno == EPIPE) { // who reads has seen enough
        stopped = SIGPIPE;
        clearerr(stdout);
    } else if (ferror(stdout)) {
        return fgsf_fail(FGSF_ERR_IO, "the frames cannot be written");
    }
    fgsf_status status = w->o->frames ? save_frame(w) : FGSF_OK;
    wait_step(w);
    return status;
}

// ---- Playing -------------------------------------------------------------------------------------

static fgsf_status choose(watcher *w, fgsf_rng *rng) {
    int actions = w->env->spec.num_actions;
    fgsf_env_observe(w->env, w->state);
    // Drawn first, as the evaluation does.
    w->explored = w->o->epsilon > 0.0 && fgsf_rng_uniform(rng) < w->o->epsilon;
    int random = w->explored ? (int)fgsf_rng_below(rng, (uint64_t)actions) : -1;
    FGSF_TRY(fgsf_agent_q(w->agent, w->task, w->rho, w->state, w->q, &w->num_policies));
    if (w->explored) {
        w->choice = (fgsf_choice){-1, random};
    } else {
        w->choice = fgsf_gpi_choose(w->q, w->num_policies, actions,
                                    fgsf_agent_get_params(w->agent)->tie, rng);
    }
    return FGSF_OK;
}

// The typed reward of a feature vector: weights have commas, formulas have features.
static bool typed_reward(const void *context, int task, const double *phi, double *reward) {
    watcher *w = (watcher *)context;
    int n = w->env->spec.num_features;
    bool formula = strstr(w->o->reward, "phi");
    (void)task;
    *reward = 0;
    if (formula && fgsf_formula(w->o->reward, phi, n, reward) != FGSF_OK) return false;
    for (int i = 0; i < n && !formula; i++) *reward += w->w[i] * phi[i];
    w->infinite = w->infinite || !isfinite((float)*reward); // networks compute in floats
    return true;
}

static fgsf_status check_finite(const watcher *w) {
    if (!w->infinite) return FGSF_OK;
    return fgsf_fail(FGSF_ERR_INVALID, "--reward '%.200s': is not finite for features that occur",
                     w->o->reward);
}

static fgsf_status play(watcher *w) {
    long horizon = w->o->steps >= 0 ? w->o->steps : (long)w->cfg.eval.horizon;
    fgsf_rng rng = fgsf_rng_make(
        (uint64_t)w->o->seed + 1000u * (unsigned)w->task + (unsigned)w->episode, FGSF_STREAM_EVAL);
    bool success = false;
    fgsf_status status = fgsf_env_reset(w->env, &rng);
    w->last = (fgsf_step_result){0};
    w->total = 0;
    for (w->step = 0; status == FGSF_OK && !stopped; w->step++) {
        bool over = w->last.terminal || w->step >= horizon;
        fgsf_watch_view_draw(w->view, w->env, w->task, w->step == 0);
        if (!over) status = choose(w, &rng);
        if (status == FGSF_OK) status = show(w, over);
        if (over || status != FGSF_OK) break;
        status = fgsf_env_step(w->env, w->choice.action, &rng, &w->last);
        double reward = w->last.reward;
        if (w->typed && status == FGSF_OK) {
            typed_reward(w, w->task, w->last.phi, &reward);
            status = check_finite(w);
        }
        w->total += reward;
        success = success || w->last.success;
    }
    w->sum += w->total;
    w->reached += success;
    if (status == FGSF_OK && !stopped) {
        printf("episode %d: return %.9g, %d steps, goal %sreached\n%s", w->episode, w->total,
               w->step, success ? "" : "not ", w->live ? "" : "\n");
        fflush(stdout);
    }
    return status;
}

// ---- Setting up ----------------------------------------------------------------------------------

static fgsf_status find_task(watcher *w) {
    const char *text = w->o->task;
    const fgsf_env_spec *spec = fgsf_env_get_spec(w->env);
    bool heldout = text[0] == 'h';
    const char *digits = text + heldout;
    size_t n = strlen(digits);
    int count = heldout ? spec->num_heldout : spec->num_tasks;
    if (n == 0 || n > 6 || strspn(digits, "0123456789") != n || atoi(digits) >= count) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "--task '%.80s': %s has tasks 0..%d and held-out ones h0..h%d", text,
                         w->env->def->name, spec->num_tasks - 1, spec->num_heldout - 1);
    }
    w->task = atoi(digits) + (heldout ? spec->num_tasks : 0);
    return fgsf_env_set_task(w->env, w->task);
}

// xi knows a reward at the members of its feature set. Says how far it is from that between them, on
// transitions of random actions.
static fgsf_status tell_error(watcher *w) {
    const fgsf_feature_set *set = fgsf_agent_feature_set(w->agent);
    const fgsf_env_spec *spec = fgsf_env_get_spec(w->env);
    fgsf_rng rng = fgsf_rng_make((uint64_t)w->o->seed, FGSF_STREAM_EVAL);
    fgsf_step_result step = {.terminal = true};
    fgsf_status status = check_finite(w);
    double squares = 0, reward;
    float phi[spec->num_features];
    for (int i = 0; set && i < TRIED && status == FGSF_OK; i++) {
        if (step.terminal || i % 200 == 0) status = fgsf_env_reset(w->env, &rng);
        int action = (int)fgsf_rng_below(&rng, (uint64_t)spec->num_actions);
        if (status == FGSF_OK) status = fgsf_env_step(w->env, action, &rng, &step);
        if (status != FGSF_OK) return status;
        for (int k = 0; k < spec->num_features; k++) phi[k] = (float)step.phi[k];
        typed_reward(w, w->task, step.phi, &reward);
        int member = fgsf_feature_set_nearest(set, phi);
        if (member >= 0) reward -= (double)w->rho[member];
        squares += reward * reward;
        status = check_finite(w);
    }
    if (status == FGSF_OK && squares > 1e-12 * TRIED) {
        fgsf_say(
            "watch: --reward '%.200s': xi has met %d feature vectors and takes the nearest for any "
            "other: root mean squared error %.3g",
            w->o->reward, fgsf_feature_set_count(set), sqrt(squares / TRIED));
    }
    return status;
}

// A reward from the command line: acted on as it is where the representation can express it, else as
// its best fit, which is said.
static fgsf_status find_typed(watcher *w) {
    const char *text = w->o->reward;
    int n = w->env->spec.num_features;
    fgsf_task task = {.w = w->w, .reward = typed_reward, .context = w, .task = w->task};
    double error, zero[n];
    memset(zero, 0, sizeof zero);
    w->typed = true;
    w->rho = w->given;
    w->reward_name = "typed";
    if (fgsf_agent_get_params(w->agent)->representation == FGSF_Q) {
        return fgsf_fail(FGSF_ERR_INVALID,
                         "--reward '%.200s': values of DQN contain the reward that "
                         "they were trained on; psi and xi can be given another",
                         text);
    }
    if (!strstr(text, "phi")) {
        if (fgsf_formula_weights(text, w->w, n) != FGSF_OK) {
            return fgsf_fail(FGSF_ERR_INVALID,
                             "--reward %s (%d weights, learned, true or a formula)",
                             fgsf_last_error(), n);
        }
    } else if (fgsf_formula(text, zero, n, &error) != FGSF_OK) {
        return fgsf_fail(FGSF_ERR_INVALID, "--reward %s", fgsf_last_error());
    } else {
        task.w = NULL;
    }
    if (fgsf_agent_rho_from_task(w->agent, &task, w->rho)) return tell_error(w);
    fgsf_status status = fgsf_evaluate_fit(w->env, w->task, &task, w->w, &error);
    if (w->infinite) return check_finite(w);
    if (status != FGSF_OK) return status;
    fgsf_agent_rho_from_weights(w->agent, w->w, w->rho);
    if (error < 1e-6) return FGSF_OK; // linear after all
    w->reward_name = "fitted";
    fgsf_say(
        "watch: --reward '%.200s' is not linear in the features, as psi needs: acting on the best "
        "fit, root mean squared error %.3g",
        text, error);
    return FGSF_OK;
}

// What the priors are scored with: the learned vector, the true one, or a fit of it.
static fgsf_status find_reward(watcher *w) {
    double error = 0;
    bool heldout = w->task >= w->env->spec.num_tasks;
    bool as_true = strcmp(w->o->reward, "true") == 0;
    w->reward_name = "learned";
    if (!as_true && strcmp(w->o->reward, "learned") != 0) return find_typed(w);
    if (!heldout && !as_true) return FGSF_OK;
    w->rho = w->given;
    if (heldout) {
        return fgsf_evaluate_rho(w->agent, w->env, w->task, w->rho, &w->reward_name, &error);
    }
    if (fgsf_evaluate_expressible(w->agent, w->env, w->task)) {
        return fgsf_evaluate_rho(w->agent, w->env, w->task, w->rho, &w->reward_name, &error);
    }
    return fgsf_fail(FGSF_ERR_INVALID, "--reward 'true': task %s has none that this policy can use",
                     w->o->task);
}

static fgsf_status set_up(watcher *w) {
    FGSF_TRY(fgsf_agent_load(w->o->policy, "auto", &w->cfg, &w->agent));
    FGSF_TRY(fgsf_evaluate_env(w->agent, &w->cfg, &w->env));
    const fgsf_env_spec *spec = fgsf_env_get_spec(w->env);
    w->given = calloc((size_t)fgsf_agent_shape(w->agent)->features, sizeof(float));
    w->w = calloc((size_t)spec->num_features, sizeof(double));
    w->state = calloc((size_t)spec->state_size, sizeof(float));
    w->q = calloc((size_t)(fgsf_agent_num_policies(w->agent) * spec->num_actions), sizeof(float));
    if (!w->given || !w->w || !w->state || !w->q)
        return fgsf_fail(FGSF_ERR_MEMORY, "no memory to watch");
    fgsf_status status = find_task(w);
    if (status == FGSF_OK) status = find_reward(w);
    if (status == FGSF_OK) status = fgsf_watch_view_create(&w->cfg, w->env, &w->view);
    if (status == FGSF_OK && w->o->frames && w->view->numbers) {
        status =
            fgsf_fail(FGSF_ERR_INVALID, "--frames: there is no picture of '%s'", w->env->def->name);
    } else if (status == FGSF_OK && w->o->frames && access(w->o->frames, W_OK | X_OK) != 0) {
        status = fgsf_fail(FGSF_ERR_IO, "--frames '%s': %s", w->o->frames, strerror(errno));
    }
    return status;
}

static void tear_down(watcher *w) {
    fgsf_watch_view_free(w->view);
    fgsf_env_free(w->env);
    fgsf_agent_free(w->agent);
    free(w->given);
    free(w->w);
    free(w->state);
    free(w->q);
}

int main(int argc, char **argv) {
    options o;
    int code = read_arguments(argc, argv, &o);
    if (code != FGSF_FLAGS_RUN) return code;
    watcher w = {.o = &o, .live = !o.plain && isatty(STDOUT_FILENO)};
    struct sigaction action = {.sa_handler = on_stop};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    fgsf_status status = set_up(&w);
    if (status == FGSF_OK && w.live) fputs("\033[?25l\033[2J", stdout); // no cursor, clean screen
    for (; status == FGSF_OK && !stopped && w.episode < o.episodes; w.episode++) {
        status = play(&w);
    }
    if (w.live) {
        fputs("\033[0m\033[?25h", stdout);
        if (stopped) putchar('\n');
        fflush(stdout);
    }
    if (status == FGSF_OK && !stopped && w.typed) {
        printf("reward %s: mean return %.9g, goal reached in %d of %ld episodes\n", o.reward,
               w.sum / (double)(o.episodes > 0 ? o.episodes : 1), w.reached, o.episodes);
    }
    tear_down(&w);
    if (status != FGSF_OK) {
        bool unknown = strstr(fgsf_last_error(), "no environment is called");
        fgsf_say("watch: %s%s", fgsf_last_error(),
                 unknown ? "; --plugin FILE.so brings others" : "");
    }
    return status != FGSF_OK ? 2 : stopped && stopped != SIGPIPE ? 128 + stopped : 0;
}
