// Expands variants and seeds into jobs, runs them, then brings the results together.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "study.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/env.h"

#include "cost.h"
#include "devices.h"
#include "jobs.h"
#include "mpi_jobs.h"
#include "page.h"
#include "run_one.h"
#include "show_table.h"
#include "say.h"

typedef struct study_job {
    fgsf_run_id id;
    fgsf_config cfg;
} study_job;

typedef struct study {
    const fgsf_cli *cli;
    study_job *jobs;
    int num_jobs;
    fgsf_page *page;
    int refused; // jobs that ended with an error, not with a crash
    char name[512];
} study;

static int run_job(void *ctx, int index, fgsf_job_progress *progress) {
    const study *s = ctx;
    const study_job *job = &s->jobs[index];
    return fgsf_run_one(&job->id, &job->cfg, s->cli->resume, progress);
}

static const char *job_name(void *ctx, int index) {
    study *s = ctx;
    const fgsf_run_id *id = &s->jobs[index].id;
    snprintf(s->name, sizeof s->name, "%s%s%s seed %lld", id->method, *id->cell ? "@" : "",
             id->cell, (long long)id->seed);
    return s->name;
}

static void job_ended(void *ctx, int index, fgsf_job_end end, const char *message) {
    study *s = ctx;
    fgsf_page_end_run(s->page, index, message);
    s->refused += end == FGSF_JOB_FAILED; // which has said so in run.json, if the run is its own
    if (end == FGSF_JOB_CRASHED) {
        fgsf_run_mark_failed(&s->jobs[index].id, message);
    }
}

static double job_cost(void *ctx, int index) {
    return fgsf_cost_of_run(&((study *)ctx)->jobs[index].cfg);
}

static void show_page(void *ctx, double eta) {
    fgsf_page_show(((study *)ctx)->page, eta);
}

// Begins OUT/index.html. The page's run i is job i.
static void open_page(study *s) {
    char directory[4096];
    s->page = fgsf_page_open(s->cli->out, s->cli->spec->program);
    for (int i = 0; i < s->num_jobs; i++) {
        fgsf_run_directory(&s->jobs[i].id, directory, sizeof directory);
        fgsf_page_plan(s->page, directory + strlen(s->cli->out) + 1,
                       fgsf_cost_steps(&s->jobs[i].cfg));
    }
}

// ---- Figures and tables --------------------------------------------------------------------------

// Finds the export tool: in the build folder, or installed beside the driver.
static bool find_export(char *tool, size_t size) {
    static const char *const places[] = {"/../notebooks-export/export", "/fgsf-export"};
    ssize_t length = readlink("/proc/self/exe", tool, size - 64);
    bool found = false;
    tool[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(tool, '/');
    for (int i = 0; i < 2 && slash && !found; i++) {
        snprintf(slash, 64, "%s", places[i]);
        found = access(tool, X_OK) == 0;
    }
    return found;
}

// Prints the summary tables that the export has written.
static void print_tables(const char *target) {
    char pattern[4096];
    glob_t found;
    // The name of OUT is no pattern: its special characters are escaped.
    size_t used = 0;
    for (const char *c = target; *c && used + 64 < sizeof pattern; c++) {
        if (strchr("*?[\\", *c)) pattern[used++] = '\\';
        pattern[used++] = *c;
    }
    snprintf(pattern + used, sizeof pattern - used, "/tables/*_summary.md");
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            putchar('\n');
            fgsf_show_table(stdout, found.gl_pathv[i]);
        }
        globfree(&found);
    }
    fflush(stdout);
}

static bool in_path(const char *program) {
    char path[4096];
    const char *rest = getenv("PATH");
    for (size_t n; rest && *rest; rest += n + (rest[n] == ':')) {
        n = strcspn(rest, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, rest, program);
        if (n > 0 && access(path, X_OK) == 0) return true;
    }
    return false;
}

// Draws OUT/export and shows its list of figures and its table. Without the tools there are no
// figures; false when there should have been.
static bool draw(const fgsf_cli *cli) {
    char tool[4096], target[4096];
    bool built = find_export(tool, sizeof tool);
    snprintf(target, sizeof target, "%s/export", cli->out);
    if (!built || !in_path("gnuplot")) {
        fgsf_say("%s: no figures: %s", cli->spec->program,
                 built ? "gnuplot is not installed" : "the export tool is not built");
        return true;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (cli->quiet && !freopen("/dev/null", "w", stdout)) _exit(127);
        execl(tool, tool, "-o", target, "--", cli->out, (char *)NULL);
        _exit(127);
    }
    int code = 0;
    if (pid < 0 || waitpid(pid, &code, 0) < 0 || code != 0) {
        fgsf_say("%s: the figures of %s could not be drawn", cli->spec->program, cli->out);
        return false;
    }
    if (!cli->quiet) print_tables(target);
    return true;
}

// ---- Jobs ----------------------------------------------------------------------------------------

static bool wants_method(const fgsf_cli *cli, const char *method) {
    for (int m = 0; m < cli->num_methods; m++) {
        if (strcmp(cli->methods[m], method) == 0) {
            return true;
        }
    }
    return false;
}

// A cell is what its settings say: --config and --set may not undo them under the same name.
static bool keeps_cell(const fgsf_cli *cli, const fgsf_variant *variant, const fgsf_config *cfg) {
    for (int i = 0; *variant->cell && i < variant->num_settings; i++) {
        const char *key = variant->settings[i].key;
        char is[FGSF_TEXT_SIZE], wanted[FGSF_TEXT_SIZE];
        fgsf_config as_cell = *cfg;
        fgsf_config_set(&as_cell, key, variant->settings[i].value, "cell");
        fgsf_config_get(&as_cell, key, wanted, sizeof wanted);
        fgsf_config_get(cfg, key, is, sizeof is);
        if (strcmp(is, wanted) != 0) {
            fgsf_say("%s: %s=%s contradicts cell %s of %s, which is %s=%s", cli->spec->program, key,
                     is, variant->cell, variant->method, key, wanted);
            return false;
        }
    }
    return true;
}

// What a job would fail with is said once, before any is started: another configuration in OUT, an
// unfinished run without --resume, an environment that cannot be made. Under MPI rank 0 does it.
static bool check_job(const fgsf_cli *cli, const study_job *job, bool first_seed) {
    fgsf_run_found found = FGSF_FOUND_NOTHING;
    fgsf_env *env = NULL;
    fgsf_status status = fgsf_run_check(&job->id, &job->cfg);
    if (status == FGSF_OK && !cli->resume) status = fgsf_run_look(&job->id, &found);
    if (status == FGSF_OK && found == FGSF_FOUND_UNFINISHED) {
        char directory[4096];
        fgsf_run_directory(&job->id, directory, sizeof directory);
        status = fgsf_fail(FGSF_ERR_INVALID,
                           "%s holds an unfinished run: add --resume to finish it", directory);
    }
    if (status == FGSF_OK && first_seed) {
        status = fgsf_env_create(&job->cfg, &env);
        fgsf_env_free(env);
    }
    return status == FGSF_OK || (fgsf_cli_fail(cli), false);
}

// One job per variant and seed, those of this part of a job array. Seeds are the outer loop, so that
// an early look at a long study compares all variants on the seeds that are there.
static bool expand(study *s, const fgsf_variant *variants, int num_variants) {
    const fgsf_cli *cli = s->cli;
    int index = 0;
    s->jobs = calloc((size_t)(num_variants * cli->num_seeds) + 1, sizeof *s->jobs);
    for (int k = 0; k < cli->num_seeds && s->jobs; k++) {
        for (int v = 0; v < num_variants; v++) {
            const fgsf_variant *variant = &variants[v];
            if (!wants_method(cli, variant->method) || !fgsf_cli_mine(cli, index++)) {
                continue;
            }
            study_job *job = &s->jobs[s->num_jobs];
            job->id = (fgsf_run_id){cli->out, cli->spec->env, variant->method, variant->cell,
                                    cli->seeds[k]};
            if (!fgsf_cli_config(cli, variant->method, variant->settings, variant->num_settings,
                                 &job->cfg)) {
                return false;
            }
            job->cfg.seed = cli->seeds[k];
            if (!keeps_cell(cli, variant, &job->cfg) ||
                (fgsf_mpi_rank() == 0 && !check_job(cli, job, k == 0))) {
                return false;
            }
            s->num_jobs++;
        }
    }
    return s->jobs != NULL;
}

// Checks the device of the first job of each variant; rank 0 speaks about it.
static bool vet_devices(const study *s) {
    const fgsf_cli *cli = s->cli;
    const fgsf_config **cfgs = calloc((size_t)s->num_jobs + 1, sizeof *cfgs);
    int count = 0;
    for (int i = 0; i < s->num_jobs && cfgs; i++) {
        const fgsf_run_id *id = &s->jobs[i].id;
        int k = 0;
        while (strcmp(s->jobs[k].id.method, id->method) || strcmp(s->jobs[k].id.cell, id->cell)) {
            k++;
        }
        if (k == i) cfgs[count++] = &s->jobs[i].cfg;
    }
    FILE *out = cli->quiet || fgsf_mpi_rank() > 0 ? NULL : stderr;
    bool good = cfgs && fgsf_devices_vet(out, cli->spec->program, cfgs, count);
    free(cfgs);
    return good;
}

static bool bad_out(const fgsf_cli *cli, int error) {
    fgsf_say("%s: --out '%s': %s", cli->spec->program, cli->out, strerror(error));
    return false;
}

// Within each seed the long jobs come first, so that the last ones to end are short.
static void sort_jobs(study *s) {
    for (int i = 1; i < s->num_jobs; i++) {
        study_job moved = s->jobs[i];
        double cost = fgsf_cost_of_run(&moved.cfg);
        int at = i;
        for (; at > 0 && s->jobs[at - 1].id.seed == moved.id.seed &&
               fgsf_cost_of_run(&s->jobs[at - 1].cfg) < cost;
             at--) {
            s->jobs[at] = s->jobs[at - 1];
        }
        s->jobs[at] = moved;
    }
}

// Makes OUT and its parents, so that one line says what every job would say.
static bool make_out(const fgsf_cli *cli) {
    char part[4096];
    snprintf(part, sizeof part, "%s", cli->out);
    for (char *c = part + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(part, 0777);
        *c = '/';
    }
    if (mkdir(part, 0777) != 0 && errno != EEXIST) {
        return bad_out(cli, errno);
    }
    return access(part, W_OK | X_OK) == 0 || bad_out(cli, errno);
}

// ---- The study -----------------------------------------------------------------------------------

static int print_config(const fgsf_cli *cli, const fgsf_variant *variants, int num_variants) {
    for (int v = 0; v < num_variants; v++) {
        if (wants_method(cli, variants[v].method)) {
            return fgsf_cli_print_config(cli, variants[v].method, variants[v].settings,
                                         variants[v].num_settings);
        }
    }
    fgsf_say("%s: nothing to run: no variant has these --methods", cli->spec->program);
    return FGSF_CLI_BAD;
}

// Rebuilds summary.csv and draws, one driver after the other: of several that share OUT, the last
// one to end has then seen everything. One part of a job array leaves the figures to the others.
static int close_study(const fgsf_cli *cli, bool anything_done) {
    char path[4096];
    snprintf(path, sizeof path, "%s/lock", cli->out);
    int lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666), code = 0;
    while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR) continue;
    if (fgsf_run_summarize(cli->out) != FGSF_OK) {
        code = fgsf_cli_fail(cli);
    } else if (fgsf_stop) {
        fgsf_say("%s: stopped; go on with --resume", cli->spec->program);
        code = 130;
    } else if (anything_done && cli->parts == 1 && !draw(cli)) {
        code = FGSF_CLI_BAD;
    }
    if (lock >= 0) close(lock); // gives it back
    return code;
}

// Whether one of the jobs has left something to draw: it may have diverged, or be another driver's.
static bool any_done(const study *s) {
    char directory[4096];
    fgsf_run_record record;
    for (int i = 0; i < s->num_jobs; i++) {
        if (fgsf_run_directory(&s->jobs[i].id, directory, sizeof directory) == FGSF_OK &&
            fgsf_run_read(directory, &record) == FGSF_OK && record.status == FGSF_RUN_DONE) {
            return true;
        }
    }
    return false;
}

// Under mpirun: over all ranks, the long jobs first, so that the last ones to end are short.
static int run_on_ranks(study *s, int num_jobs, const fgsf_jobs_options *options) {
    int *order = calloc((size_t)num_jobs + 1, sizeof *order);
    double *costs = calloc((size_t)num_jobs + 1, sizeof *costs);
    for (int i = 0; i < num_jobs && costs; i++) costs[i] = fgsf_cost_of_run(&s->jobs[i].cfg);
    if (order && costs) fgsf_cost_order(costs, num_jobs, order);
    int unfinished = order && costs ? fgsf_mpi_jobs_run(run_job, s, num_jobs, order, options) : -1;
    free(order);
    free(costs);
    return unfinished;
}

// Runs everything; on ranks that are not the first one that is all.
static int run_jobs(study *s) {
    const fgsf_cli *cli = s->cli;
    fgsf_jobs_options options = {.parallel = cli->jobs,
                                 .quiet = cli->quiet,
                                 .name = job_name,
                                 .ended = job_ended,
                                 .cost = job_cost,
                                 .tick = show_page};
    if (fgsf_mpi_rank() == 0) open_page(s);
    int unfinished = fgsf_mpi_ranks() > 1 ? run_on_ranks(s, s->num_jobs, &options)
                                          : fgsf_jobs_run(run_job, s, s->num_jobs, &options);
    if (fgsf_mpi_rank() > 0) {
        return unfinished < 0 ? fgsf_cli_fail(cli) : 0;
    }
    int code = unfinished < 0 ? fgsf_cli_fail(cli) : close_study(cli, any_done(s));
    if (!fgsf_page_close(s->page, fgsf_stop || unfinished < 0 ? "stopped" : "done")) {
        fprintf(stderr, "%s: %s/index.html: %s\n", cli->spec->program, cli->out, strerror(errno));
    }
    if (code != 0) {
        return code;
    }
    return s->refused ? FGSF_CLI_BAD : unfinished ? 1 : 0;
}

int fgsf_study_choose(const fgsf_cli *cli, const char *cells, fgsf_variant *variants, int count) {
    bool keep[FGSF_STUDY_MAX_VARIANTS] = {false}, any = false;
    while (*cells) {
        size_t length = strcspn(cells, ",");
        bool found = false;
        for (int i = 0; i < count; i++) {
            bool same =
                strlen(variants[i].cell) == length && strncmp(variants[i].cell, cells, length) == 0;
            keep[i] |= same;
            found |= same;
        }
        if (!found) {
            fgsf_say("%s: --cells '%.*s': no such cell; see --cells list", cli->spec->program,
                     (int)(length < 80 ? length : 80), cells);
            return -1;
        }
        any = true;
        cells += length + (cells[length] == ',');
    }
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (keep[i] || !any) variants[kept++] = variants[i];
    }
    return kept;
}

int fgsf_study_run(const fgsf_cli *cli, const fgsf_variant *variants, int num_variants) {
    if (cli->print_config) {
        return print_config(cli, variants, num_variants);
    }
    study s = {.cli = cli};
    struct stat info;
    if (stat(cli->out, &info) == 0 && !S_ISDIR(info.st_mode)) {
        bad_out(cli, ENOTDIR);
        return FGSF_CLI_BAD;
    }
    bool ready = expand(&s, variants, num_variants);
    if (ready && s.num_jobs == 0 && cli->parts == 1) {
        fgsf_say("%s: nothing to run: no variant has these --methods", cli->spec->program);
        ready = false;
    }
    sort_jobs(&s);
    ready = ready && vet_devices(&s) && make_out(cli);
    int code = ready ? run_jobs(&s) : FGSF_CLI_BAD;
    if (!ready && fgsf_mpi_ranks() > 1) {
        fgsf_mpi_jobs_run(run_job, &s, -1, NULL, &(fgsf_jobs_options){.quiet = true});
    }
    free(s.jobs);
    return code;
}

int fgsf_study_run_methods(const fgsf_cli *cli) {
    fgsf_variant variants[FGSF_CLI_MAX_METHODS];
    for (int m = 0; m < cli->num_methods; m++) {
        variants[m] = (fgsf_variant){.method = cli->methods[m], .cell = ""};
    }
    return fgsf_study_run(cli, variants, cli->num_methods);
}
