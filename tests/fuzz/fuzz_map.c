// Fuzzes the readers of maps: the input is a map of Four Rooms and of PointMaze. In what is accepted, every
// cell and action leads to a cell, and the maze becomes a model; what is refused is named.
#include "fuzz.h"

#include "four_rooms.h"
#include "point_maze.h"

static void walk(const fgsf_four_rooms *model) {
    require(model->num_cells > 0 && model->start >= 0 && model->start < model->num_cells);
    for (int cell = 0; cell < model->num_cells; cell++) {
        for (int action = 0; action < 4; action++) {
            fgsf_four_rooms_outcome to = fgsf_four_rooms_move(model, cell, 0, action);
            require(to.cell >= 0 && to.cell < model->num_cells);
            require(to.kind >= 0 && to.kind < model->num_kinds);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fgsf_four_rooms rooms = {0};
    fgsf_point_maze_params params = {.layout = "umaze"};
    fgsf_point_maze_plan plan = {0};
    int fd = fuzz_file(data, size, params.map);
    if (fgsf_four_rooms_load(params.map, &rooms) == FGSF_OK) {
        walk(&rooms);
    } else {
        require_message();
    }
    fgsf_four_rooms_unload(&rooms);
    if (fgsf_point_maze_plan_make(&params, 1 + (int)(size % 4), &plan) == FGSF_OK) {
        char *xml = fgsf_point_maze_xml(&plan);
        require(xml && plan.num_tasks > 0);
        free(xml);
    } else {
        require_message();
    }
    fgsf_point_maze_plan_free(&plan);
    close(fd);
    return 0;
}
