"""How greedy episodes end on Four Rooms without slip, and what a rule against repeating oneself gains.

    python3 loops.py RUNS >loops.csv

reads every policy.gguf below RUNS and plays one episode of each trained task, twice: `greedy`, as eval.csv does, and
`no_repeat`, which takes the best action among those it has not yet taken in the same state of the episode (all of them
again when none is left). `period` is the length of the cycle of states in which an episode without goal ends, 0 where
no state came twice. The value of a state is its largest Q; `error` is the mean of |reward + gamma next value - value|,
divided by the mean value, over the steps before a state comes twice; `loop_value` is the mean value in the cycle.
Needs the package fgsf (docs/python.md).
"""
import csv
import json
import pathlib
import sys

import numpy as np

import fgsf


def play(agent, env, task, horizon, gamma, no_repeat):
    state, _ = env.reset(seed=0)
    seen, taken, values, errors = {}, {}, [], []
    total, steps, success, period = 0.0, 0, False, 0
    while steps < horizon and not success:
        key = state.tobytes()
        period = steps - seen[key] if key in seen else 0
        seen[key] = steps
        q = agent.q(state.astype(np.float32), task=task)
        values.append(float(q.max()))
        if no_repeat:
            used = taken.setdefault(key, set())
            if len(used) == q.shape[1]:
                used.clear()
            q[:, sorted(used)] = -np.inf
        action = int(q[q.max(axis=1).argmax()].argmax())
        taken.setdefault(key, set()).add(action)
        state, reward, _, _, info = env.step(action)
        state = state.copy()
        total += gamma ** steps * reward
        success = bool(info["success"])
        after = 0 if success else float(agent.q(state.astype(np.float32), task=task).max())
        errors.append(abs(reward + gamma * after - values[-1]))
        steps += 1
    cycle = 0 if success else period
    first = len(seen)  # every state came once until then
    error = np.mean(errors[:first]) / np.mean(values[:first])
    loop_value = f"{np.mean(values[-cycle:]):.4f}" if cycle else ""
    return round(total, 6), int(success), steps, cycle, f"{error:.4f}", loop_value


out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["method", "cell", "seed", "task", "rule", "discounted_return", "success", "steps", "period", "error", "loop_value"])
for path in sorted(pathlib.Path(sys.argv[1]).rglob("policy.gguf")):
    run = json.loads((path.parent / "run.json").read_text())
    if run["status"] != "done" or run["config"]["env.slip"] != 0:
        continue
    config, agent = run["config"], fgsf.load(path)
    for task in range(agent.num_tasks):
        env = fgsf.Env("four_rooms", task=task, env_map=config["env.map"])
        for rule in ("greedy", "no_repeat"):
            result = play(agent, env, task, config["eval.horizon"], config["train.gamma"], rule == "no_repeat")
            out.writerow([run["method"], run["cell"], run["seed"], task, rule, *result])
