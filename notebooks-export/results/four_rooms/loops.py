"""How greedy episodes end on Four Rooms without slip, and what a rule against repeating oneself gains.

    python3 loops.py RUNS >loops.csv

reads every policy.gguf below RUNS and plays one episode of each trained task, twice: `greedy`, as eval.csv does, and
`no_repeat`, which takes the best action among those it has not yet taken in the same state of the episode (all of them
again when none is left). `period` is the length of the cycle of states in which an episode without goal ends, 0 where
no state came twice; `loop_value` is the mean value (largest Q) in that cycle, `loop_best` what the best policy would
collect from there, `loop_taken` how many objects were taken. `error` is the mean of |reward + gamma next value - value|,
divided by the mean value, over the steps before a state comes twice; `wrong` is the share of steps outside of the
cycle where it is above 5 % of the value, as it is on the mean step of every cycle. The map must be the usual one.
Needs the package fgsf (docs/python.md).
"""
import csv
import json
import pathlib
import sys

import numpy as np

import fgsf
import optimum

BEST = [optimum.best(weights, 0, 0.95, 500) for weights in optimum.WEIGHTS]


def place_of(state):
    """The cell and the set of taken objects, as indices of an array of BEST."""
    row, column, taken = state[:13].argmax(), state[13:26].argmax(), state[26:] > 0.5
    return optimum.place[row, column], int(taken @ (1 << np.arange(12)))


def play(agent, env, task, horizon, gamma, no_repeat):
    state, _ = env.reset(seed=0)
    seen, taken, values, errors, best = {}, {}, [], [], []
    total, steps, success, period = 0.0, 0, False, 0
    while steps < horizon and not success:
        key = state.tobytes()
        period = steps - seen[key] if key in seen else 0
        seen[key] = steps
        q = agent.q(state.astype(np.float32), task=task)
        values.append(float(q.max()))
        best.append(float(BEST[task][place_of(state)]))
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
    wrong = np.mean(np.array(errors[:first - cycle]) > 0.05 * np.array(values[:first - cycle])) if first > cycle else 0
    loop = [f"{np.mean(x[-cycle:]):.4f}" for x in (values, best)] + [int((state[26:] > 0.5).sum())] if cycle else [""] * 3
    return round(total, 6), int(success), steps, cycle, f"{error:.4f}", f"{wrong:.4f}", *loop


out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["method", "cell", "seed", "task", "rule", "discounted_return", "success", "steps", "period", "error", "wrong",
              "loop_value", "loop_best", "loop_taken"])
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
