// MuJoCo behind statuses. MuJoCo reports errors through process-wide callbacks; ours jump back to
// the guarded call of the same thread, and hand on to whoever was there before when there is none.
#ifdef FGSF_HAVE_MUJOCO
#include "mujoco_sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "number.h"

#define MESSAGE_SIZE 256
#define MODEL_BYTES ((size_t)64 << 20) // to compile one of ours, with its stack

static _Thread_local jmp_buf *landing; // where this thread's guarded call returns on an error
static _Thread_local char said[MESSAGE_SIZE];

// The callbacks that were installed before ours, and the lock for them and for compiling models.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*other_error)(const char *);
static void (*other_warning)(const char *);

// MuJoCo's messages may have several lines; ours have one.
static void join_lines(char *text) {
    for (; *text; text++) {
        if (*text == '\n' || *text == '\r') *text = ' ';
    }
}

static void remember(const char *message) {
    snprintf(said, sizeof said, "%s", message);
    join_lines(said);
}

static void on_error(const char *message) {
    if (landing) {
        remember(message);
        longjmp(*landing, 1);
    }
    if (other_error) other_error(message);
}

static void on_warning(const char *message) {
    if (landing) {
        remember(message);
    } else if (other_warning) {
        other_warning(message);
    }
}

// Under the lock.
static void install_callbacks(void) {
    if (mju_user_error != on_error) {
        other_error = mju_user_error;
        mju_user_error = on_error;
    }
    if (mju_user_warning != on_warning) {
        other_warning = mju_user_warning;
        mju_user_warning = on_warning;
    }
}

// Returns false when MuJoCo raised an error inside fn. Guards may be nested.
static bool call(void (*fn)(void *), void *arg) {
    jmp_buf here;
    jmp_buf *volatile outer = landing;
    bool good = false;
    if (setjmp(here) == 0) {
        landing = &here;
        fn(arg);
        good = true;
    }
    landing = outer;
    return good;
}

fgsf_status fgsf_sim_guard(const char *name, void (*fn)(void *), void *arg) {
    said[0] = '\0';
    if (call(fn, arg) && said[0] == '\0') return FGSF_OK;
    return fgsf_fail(FGSF_ERR_SIMULATOR, "%s: MuJoCo: %s", name, said);
}

// ---- Loading -----------------------------------------------------------------------------------

typedef struct load_job {
    const char *path;
    fgsf_sim *sim;
    char error[MESSAGE_SIZE];
} load_job;

static void load_model(void *arg) {
    load_job *job = arg;
    job->sim->model = mj_loadXML(job->path, NULL, job->error, sizeof job->error);
}

typedef struct data_job {
    const mjModel *model;
    mjData *data;
} data_job;

static void make_data(void *arg) {
    data_job *job = arg;
    job->data = mj_makeData(job->model);
}

static void remove_model(char *path) {
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

// MuJoCo's in-memory files differ between versions; a file of its own directory does not.
static fgsf_status write_model(const char *name, const char *xml, char *path, size_t size) {
    const char *temporary = getenv("TMPDIR");
    snprintf(path, size, "%s/fgsf-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(path)) {
        return fgsf_fail(FGSF_ERR_IO, "%s: cannot make the temporary folder '%s': %s", name, path,
                         strerror(errno));
    }
    size_t used = strlen(path);
    snprintf(path + used, size - used, "/model.xml");
    FILE *file = fopen(path, "w");
    bool good = file && fputs(xml, file) >= 0;
    if (file && fclose(file) != 0) good = false;
    if (good) return FGSF_OK;
    fgsf_status status =
        fgsf_fail(FGSF_ERR_IO, "%s: cannot write '%s': %s", name, path, strerror(errno));
    remove_model(path);
    return status;
}

static fgsf_status compile(const char *path, fgsf_sim *sim) {
    load_job job = {.path = path, .sim = sim};
    fgsf_status status =
        fgsf_memory_check(MODEL_BYTES, "a MuJoCo model"); // it would end the program
    if (status != FGSF_OK) return status;
    pthread_mutex_lock(&lock);
    install_callbacks();
    locale_t before = fgsf_number_begin(); // for the numbers in the model
    status = fgsf_sim_guard(sim->name, load_model, &job);
    fgsf_number_end(before);
    pthread_mutex_unlock(&lock);
    if (status != FGSF_OK) return status;
    if (!sim->model) {
        join_lines(job.error);
        return fgsf_fail(FGSF_ERR_SIMULATOR, "%s: MuJoCo cannot load the model: %s", sim->name,
                         job.error);
    }
    if (sim->model->nv > FGSF_SIM_MAX_DOF || sim->model->nq != sim->model->nv) {
        return fgsf_fail(FGSF_ERR_UNSUPPORTED, "%s: a model with %d degrees of freedom", sim->name,
                         (int)sim->model->nv);
    }
    return FGSF_OK;
}

// Replaces the data; what was there before stays when that fails.
static fgsf_status renew_data(fgsf_sim *sim) {
    data_job job = {.model = sim->model};
    FGSF_TRY(fgsf_sim_guard(sim->name, make_data, &job));
    if (!job.data) return fgsf_fail(FGSF_ERR_MEMORY, "%s: out of memory", sim->name);
    if (sim->data) mj_deleteData(sim->data);
    sim->data = job.data;
    sim->broken = false;
    return FGSF_OK;
}

fgsf_status fgsf_sim_load(const char *name, const char *xml, fgsf_sim *out) {
    fgsf_sim sim = {.name = name};
    char path[1024];
    fgsf_status status = write_model(name, xml, path, sizeof path);
    if (status == FGSF_OK) {
        status = compile(path, &sim);
        remove_model(path);
    }
    if (status == FGSF_OK) status = renew_data(&sim);
    if (status == FGSF_OK) *out = sim;
    if (status != FGSF_OK) fgsf_sim_free(&sim);
    return status;
}

void fgsf_sim_free(fgsf_sim *sim) {
    if (sim->data) mj_deleteData(sim->data);
    if (sim->model) mj_deleteModel(sim->model);
    *sim = (fgsf_sim){0};
}

// ---- Stepping ----------------------------------------------------------------------------------

static void put(mjtNum *to, const double *from, int n) {
    for (int i = 0; i < n; i++) to[i] = from ? from[i] : 0.0;
}

fgsf_status fgsf_sim_set(fgsf_sim *sim, const double *qpos, const double *qvel,
                         const double *warm) {
    if (sim->broken) FGSF_TRY(renew_data(sim));
    int n = (int)sim->model->nv;
    put(sim->data->qpos, qpos, n);
    put(sim->data->qvel, qvel, n);
    put(sim->data->qacc_warmstart, warm, n);
    sim->data->time = 0.0; // nothing depends on it
    return FGSF_OK;
}

typedef struct step_job {
    fgsf_sim *sim;
    int count;
} step_job;

static void step(void *arg) {
    step_job *job = arg;
    for (int i = 0; i < job->count; i++) mj_step(job->sim->model, job->sim->data);
}

static bool warned(mjData *data) {
    bool any = false;
    for (int i = 0; i < mjNWARNING; i++) {
        any = any || data->warning[i].number > 0;
        data->warning[i].number = 0;
    }
    return any;
}

static bool is_finite(const fgsf_sim *sim) {
    double sum = 0.0; // not finite as soon as one of the terms is not
    for (int i = 0; i < (int)sim->model->nv; i++) {
        sum += fabs(sim->data->qpos[i]) + fabs(sim->data->qvel[i]);
    }
    return isfinite(sum);
}

fgsf_status fgsf_sim_step(fgsf_sim *sim, int count) {
    if (sim->broken) {
        return fgsf_fail(FGSF_ERR_SIMULATOR, "%s: the simulation failed; reset it first",
                         sim->name);
    }
    double before[3][FGSF_SIM_MAX_DOF];
    int n = (int)sim->model->nv;
    put(before[0], sim->data->qpos, n);
    put(before[1], sim->data->qvel, n);
    put(before[2], sim->data->qacc_warmstart, n);
    step_job job = {.sim = sim, .count = count};
    said[0] = '\0';
    bool good = call(step, &job);
    if (good && !warned(sim->data) && is_finite(sim)) return FGSF_OK;
    if (!good) {
        sim->broken = true; // the caller's next reset or set_state makes new data
    } else {
        put(sim->data->qpos, before[0], n);
        put(sim->data->qvel, before[1], n);
        put(sim->data->qacc_warmstart, before[2], n);
    }
    return fgsf_fail(FGSF_ERR_SIMULATOR, "%s: MuJoCo: %s", sim->name,
                     said[0] ? said : "the state is not a number");
}

#else
typedef int fgsf_sim_is_not_built; // ISO C wants a declaration in every file
#endif
