// Expands variants and seeds into jobs, runs them, then brings the results together.
#include "study.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fgsf/env.h"
#include "fgsf/stats.h"

#include "cells.h"
#include "changes.h"
#include "cost.h"
#include "devices.h"
#include "draw.h"
#include "jobs.h"
#include "mpi_jobs.h"
#include "overwrite.h"
#include "page.h"
#include "plugins.h"
#include "run_one.h"
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

// ---- Jobs ----------------------------------------------------------------------------------------

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

// Reads the first run of a folder of seeds that can be read.
static bool read_any(const char *family, fgsf_run_record *record) {
    char directory[4096 + sizeof((struct dirent *)0)->d_name];
    bool found = false;
    DIR *dir = opendir(family);
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "seed-", 5) != 0) continue;
        snprintf(directory, sizeof directory, "%s/%s", family, entry->d_name);
        found = fgsf_run_read(directory, record) == FGSF_OK;
    }
    if (dir) closedir(dir);
    return found;
}

// The figures compare methods, so everything else must be the same in OUT, except in cells, which are
// there to differ.
static bool comparable(const fgsf_cli *cli, const study_job *job) {
    char path[4096], key[64], is[FGSF_TEXT_SIZE], was[FGSF_TEXT_SIZE];
    fgsf_run_record other;
    bool good = true;
    snprintf(path, sizeof path, "%s/%s", cli->out, cli->env);
    size_t used = strlen(path);
    DIR *dir = *job->id.cell ? NULL : opendir(path);
    for (struct dirent *entry; dir && good && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || strchr(entry->d_name, '@')) continue;
        snprintf(path + used, sizeof path - used, "/%s", entry->d_name);
        good = !read_any(path, &other) ||
               !fgsf_changes_conflict(&job->cfg, &other.config, key, sizeof key);
        if (good) continue;
        fgsf_config_get(&job->cfg, key, is, sizeof is);
        fgsf_config_get(&other.config, key, was, sizeof was);
        fgsf_say(
            "%s: %s with %s=%s cannot be compared with %s, which has %s=%s: use another --out, "
            "or --grid",
            cli->spec->program, job->id.method, key, is, path, key, was);
    }
    if (dir) closedir(dir);
    return good;
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
    if (status != FGSF_OK) return fgsf_cli_fail(cli), false;
    return !first_seed || comparable(cli, job);
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
            if (!fgsf_cli_mine(cli, index++)) continue;
            study_job *job = &s->jobs[s->num_jobs];
            job->id =
                (fgsf_run_id){cli->out, cli->env, variant->method, variant->cell, cli->seeds[k]};
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

// The long jobs come first, so that the last ones to end are short: within each seed, or over all
// seeds under mpirun, where many jobs run at once.
static void sort_jobs(study *s) {
    bool over_all = fgsf_mpi_ranks() > 1;
    for (int i = 1; i < s->num_jobs; i++) {
        study_job moved = s->jobs[i];
        double cost = fgsf_cost_of_run(&moved.cfg);
        int at = i;
        for (; at > 0 && (over_all || s->jobs[at - 1].id.seed == moved.id.seed) &&
               fgsf_cost_of_run(&s->jobs[at - 1].cfg) < cost;
             at--) {
            s->jobs[at] = s->jobs[at - 1];
        }
        s->jobs[at] = moved;
    }
}

// ---- The study -----------------------------------------------------------------------------------

// What to do next: look at what was learned, by the full gradient if it was there.
static void suggest(const study *s) {
    char directory[4096], shown[4096] = "";
    fgsf_run_record record;
    bool full = false;
    for (int i = 0; i < s->num_jobs; i++) {
        const fgsf_run_id *id = &s->jobs[i].id;
        if (full || fgsf_run_directory(id, directory, sizeof directory) != FGSF_OK ||
            fgsf_run_read(directory, &record) != FGSF_OK || record.status != FGSF_RUN_DONE) {
            continue;
        }
        full = strcmp(id->method, "fg-sfrql") == 0;
        snprintf(shown, sizeof shown, "%s", directory);
    }
    if (s->cli->smoke) {
        printf("\nThis was --scale smoke, which is too short to learn: it shows that everything "
               "runs, not which method is better.\n");
    } else if (s->cli->num_seeds < FGSF_STATS_MIN_SEEDS) {
        printf("\nSeeds differ a lot: use --seeds %d or more before you trust a difference.\n",
               FGSF_STATS_MIN_SEEDS);
    }
    const char *quote = strpbrk(shown, " '\"$&()*;<>?[]{}|~#!\\") ? "'" : "";
    if (*shown) {
        printf("\nWatch what was learned:\n    %s %s%s/policy.gguf%s\n", fgsf_plugins_watch(),
               quote, shown, quote);
    }
}

// Rebuilds summary.csv and draws, one driver after the other: of several that share OUT, the last
// one to end has then seen everything. One part of a job array leaves the figures to the others.
static int close_study(const study *s, bool anything_done) {
    const fgsf_cli *cli = s->cli;
    char path[4096];
    snprintf(path, sizeof path, "%s/lock", cli->out);
    int lock = open(path, O_CREAT | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), code = 0;
    while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR) continue;
    if (fgsf_run_summarize(cli->out) != FGSF_OK) {
        code = fgsf_cli_fail(cli);
    } else if (fgsf_stop) {
        fgsf_say("%s: stopped; the same command with --resume goes on", cli->spec->program);
        code = 130;
    } else if (anything_done && cli->parts == 1) {
        if (!fgsf_draw(cli->spec->program, cli->out, cli->quiet)) code = FGSF_CLI_BAD;
        if (!cli->quiet) suggest(s);
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

// Processes at once: as asked, or so many that all their threads have a core.
static int parallel_jobs(const study *s) {
    int64_t threads = 1;
    for (int i = 0; i < s->num_jobs; i++) {
        int64_t own = s->jobs[i].cfg.learner.agent.threads;
        threads = own > threads ? own : threads;
    }
    int room = (int)(fgsf_jobs_cores() / threads);
    return s->cli->jobs > 0 ? (int)s->cli->jobs : room > 0 ? room : 1;
}

// Runs everything; on ranks that are not the first one that is all.
static int run_jobs(study *s) {
    const fgsf_cli *cli = s->cli;
    fgsf_jobs_options options = {.parallel = parallel_jobs(s),
                                 .quiet = cli->quiet,
                                 .name = job_name,
                                 .ended = job_ended,
                                 .cost = job_cost,
                                 .tick = show_page};
    if (fgsf_mpi_rank() == 0) open_page(s);
    int unfinished = fgsf_mpi_ranks() > 1 ? fgsf_mpi_jobs_run(run_job, s, s->num_jobs, &options)
                                          : fgsf_jobs_run(run_job, s, s->num_jobs, &options);
    if (fgsf_mpi_rank() > 0) {
        return unfinished < 0 ? fgsf_cli_fail(cli) : 0;
    }
    int code = unfinished < 0 ? fgsf_cli_fail(cli) : close_study(s, any_done(s));
    if (!fgsf_page_close(s->page, fgsf_stop || unfinished < 0 ? "stopped" : "done")) {
        fgsf_say("%s: %s/index.html: %s", cli->spec->program, cli->out, strerror(errno));
        code = code ? code : FGSF_CLI_BAD;
    }
    if (code != 0) {
        return code;
    }
    return s->refused ? FGSF_CLI_BAD : unfinished ? 1 : 0;
}

// Plans and runs all variants with all seeds of the command line.
static int run_study(const fgsf_cli *cli, const fgsf_variant *variants, int count) {
    study s = {.cli = cli};
    struct stat info;
    if (stat(cli->out, &info) == 0 && !S_ISDIR(info.st_mode)) {
        fgsf_say("%s: --out '%s': is not a folder", cli->spec->program, cli->out);
        return FGSF_CLI_BAD;
    }
    bool ready = !cli->overwrite || fgsf_mpi_rank() > 0 || fgsf_overwrite(cli, variants, count);
    ready = ready && expand(&s, variants, count);
    sort_jobs(&s);
    ready = ready && vet_devices(&s) && fgsf_draw_folder(cli->spec->program, cli->out);
    int code = ready ? run_jobs(&s) : FGSF_CLI_BAD;
    if (!ready && fgsf_mpi_ranks() > 1) {
        fgsf_mpi_jobs_run(run_job, &s, -1, &(fgsf_jobs_options){.quiet = true});
    }
    free(s.jobs);
    return code;
}

int fgsf_study_main(const fgsf_cli_spec *spec, int argc, char **argv) {
    fgsf_cli cli;
    fgsf_variant *variants = NULL;
    int code = fgsf_cli_parse(spec, argc, argv, &cli);
    if (code != FGSF_CLI_RUN) return code;
    int count = fgsf_cells_expand(&cli, &variants);
    code = count < 0 ? FGSF_CLI_BAD : 0;
    if (count == 0) {
        fgsf_say("%s: nothing to run: no cell has these --methods", spec->program);
        code = FGSF_CLI_BAD;
    } else if (count > 0 && strcmp(cli.cells, "list") == 0) {
        fgsf_cells_print(variants, count);
    } else if (count > 0 && cli.print_config) {
        code = fgsf_cli_print_config(&cli, variants[0].method, variants[0].settings,
                                     variants[0].num_settings);
    } else if (count > 0) {
        code = run_study(&cli, variants, count);
    }
    fgsf_cells_free(variants);
    return code;
}
