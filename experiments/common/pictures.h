// What the export draws of a trained agent: a policy map of Four Rooms, trajectories elsewhere.
#ifndef FGSF_PICTURES_H
#define FGSF_PICTURES_H

#include "fgsf/agent.h"
#include "fgsf/run.h"

// Writes policy_map.csv (task,row,col,action,prior,q) or trajectory.csv (task,episode,t,x,y).
fgsf_status fgsf_pictures_write(fgsf_run *run, const fgsf_config *cfg, fgsf_agent *agent);

#endif
