// Fuzzes the reader of env.goals, alone and with the maze that the goals must lie in.
#include "fuzz.h"

#include <math.h>

#include "goals.h"
#include "point_maze.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fgsf_goal goals[FGSF_GOALS_MAX];
    char *text = fuzz_text(data, size);
    int count = 0;
    if (fgsf_goals_parse(text, goals, &count) == FGSF_OK) {
        require(count >= 0 && count <= FGSF_GOALS_MAX);
        for (int i = 0; i < count; i++)
            require(isfinite(goals[i].at[0]) && isfinite(goals[i].at[1]));
    } else {
        require_message();
    }
    fgsf_point_maze_params params = {.layout = "medium"};
    fgsf_point_maze_plan plan = {0};
    snprintf(params.goals, sizeof params.goals, "%s", text);
    if (fgsf_point_maze_plan_make(&params, 2, &plan) == FGSF_OK) {
        for (int i = 0; i < plan.num_tasks + plan.num_heldout; i++) {
            require(fgsf_point_maze_is_free(&plan.grid, plan.goals[i][0], plan.goals[i][1]));
        }
    } else {
        require_message();
    }
    fgsf_point_maze_plan_free(&plan);
    free(text);
    return 0;
}
