#!/usr/bin/python3
"""Writes made-up run directories of every kind, to try the exporter on: make_runs.py OUT

The numbers only look like results. The same call always writes the same files.
"""
import json
import math
import random
import sys
from pathlib import Path

METHODS = {"dqn": 0.15, "fg-dqn": 0.2, "sfrql": 0.55, "fg-sfrql": 0.9, "fg-sfrql-random": 0.4,
           "fg-sfrql-average": 0.35}
ROOMS = ["1....2X.....G", "......X......", "......1......", ".............", "......X......",
         "2....3X......", "XX3.XXXXX.1XX", "......X2....3", "......X......", ".............",
         "......2......", "......X......", "_.....X3....1"]


def write(path, header, rows):
    path.write_text("\n".join([header] + [",".join(map(str, row)) for row in rows]) + "\n")


def train_rows(rng, skill, tasks, steps, scale, method):
    every = steps // 25
    for task in range(tasks):
        level = scale * skill * (1 + 0.1 * math.sin(task)) * rng.gauss(1, 0.12)
        for k in range(1, 26):
            x = k / 25
            reward = level * (x * x if method.startswith("fg") else x) + rng.gauss(0, scale * 0.01)
            step = task * steps + k * every
            residual = 0.5 * math.exp(-3 * x) * (2 - skill) * rng.lognormvariate(0, 0.2) + 1e-3
            share = "" if "dqn" in method else round(min(1, task / tasks * (1 - x) + 0.05), 4)
            yield (step, task, k * every, round(reward, 3), step // 90, round(residual / 2, 6),
                   round(residual, 6), round(3 * residual ** 0.5, 5), share)


def eval_rows(rng, skill, tasks, held_out, best):
    names = [str(t) for t in range(tasks)] + [f"h{t}" for t in range(held_out)]
    for name in names:
        middle = best * (skill if name[0] != "h" else 0.8 * skill) * rng.gauss(1, 0.1)
        for model in ("learned", "true"):
            for epsilon in (0, 0.03):
                for episode in range(5):
                    value = middle * (1.05 if model == "true" else 1) + rng.gauss(0, 0.1 * best)
                    steps = rng.randrange(40, 80) if skill > 0.5 else 80
                    yield (name, episode, model, epsilon, round(value, 3), steps, int(skill > 0.5),
                           round(0.6 * value, 3))


def policy_rows(rng, tasks):
    for task in range(tasks):
        for r, line in enumerate(ROOMS):
            for c, cell in enumerate(line):
                if cell != "X":
                    action = rng.choice([1, 2, 2, 1, 0, 3]) if r > 6 else rng.choice([1, 2])
                    prior = rng.randrange(task + 1) if rng.random() < 0.4 else task
                    kind = {"_": "start", "G": "goal", ".": ""}.get(cell, cell)
                    reward = 1 if cell == "G" else "" if cell in "._" else (1, -1)[(task + int(cell)) % 2]
                    yield task, r, c, action, prior, round(rng.random(), 3), kind, reward


def path_rows(rng, tasks, env):
    for task in range(tasks):
        for episode in range(4):
            for t in range(60):
                if env == "reacher":
                    angle = t / 60 * (task + 1) * math.pi / 2 + 0.1 * episode
                    x, y = 0.02 + 0.12 * math.cos(angle), 0.14 * math.sin(angle)
                else:
                    s = t / 59 * (6 - 0.2 * task)
                    x = -1 + min(s, 2) - max(0, s - 4)
                    y = -1 + min(max(0, s - 2), 2)
                    x, y = x + rng.gauss(0, 0.05), y + rng.gauss(0, 0.05)
                yield task, episode, t, round(x, 4), round(y, 4)


def make_run(out, env, method, seed, skill, tasks, steps, scale, best, cell=None, **more):
    rng = random.Random(f"{env} {method} {cell} {seed}")
    folder = out / env / (f"{method}@{cell}" if cell else method) / f"seed-{seed}"
    folder.mkdir(parents=True)
    config = {"preset": "clean", "train.steps_per_task": steps, "eval.reward": "learned",
              "eval.epsilon": 0, "env.layout": "umaze", "sf.lr": 0.001, "dqn.lr": 0.001}
    status = more.get("status", "done")
    (folder / "run.json").write_text(json.dumps({
        "schema": "fgsf.run/1", "env": env, "method": method, "cell": cell, "seed": seed,
        "status": status, "config": config, "config_hash": "0" * 16, "fgsf_version": "0.1.0",
        "ggml_version": "0.15.1", "cpu": "made up", "seconds": 60 + 10 * skill,
        "steps": tasks * steps, "optimizer_steps": tasks * steps}, indent=1) + "\n")
    if status != "done":
        (folder / "train.csv").write_text("step,task,task_step,cum_re")  # killed while writing
        return
    write(folder / "train.csv",
          "step,task,task_step,cum_reward,episodes,loss,bellman_residual,grad_norm,gpi_share",
          train_rows(rng, skill, tasks, steps, scale, method))
    write(folder / "eval.csv", "task,episode,reward_model,epsilon,return,steps,success,discounted_return",
          eval_rows(rng, skill, tasks, more.get("held_out", 0), best))
    if more.get("picture") == "map":
        write(folder / "policy_map.csv", "task,row,col,action,prior,q,kind,reward", policy_rows(rng, tasks))
    if more.get("picture") == "path":
        write(folder / "trajectory.csv", "task,episode,t,x,y", path_rows(rng, tasks, env))


def make_studies(out):
    room = dict(tasks=6, steps=10000, scale=300, best=5)
    for slip in (0, 0.1, 0.2):
        for seed in range(3):
            for n in (1, 5, 10, 20):
                for estimator, gain in (("shared", 1 - slip * 3 / n), ("split", 0.9)):
                    if (estimator, n) != ("split", 1):
                        make_run(out, "four_rooms", "fg-sfrql", seed, 0.9 * gain,
                                 cell=f"{estimator}+avg.n={n}+env.slip={slip}", **room)
            for method in ("sfrql", "fg-sfrql"):
                make_run(out, "four_rooms", method, seed, 0.8, cell=f"plain+avg.n=1+env.slip={slip}", **room)
    for seed in range(2):
        for rate, skill in (("3e-3", 0.3), ("1e-4", 0.2), ("1e-3", 0.6), ("3e-4", 0.4)):
            for cell in ("", "hard+"):
                make_run(out, "four_rooms", "sfrql", seed, skill, cell=f"{cell}sf.lr_prior={rate}", **room)
    for seed in range(2):  # a grid of a number and a word
        for lr, skill in (("3e-3", 0.3), ("1e-3", 0.6)):
            for norm in ("none", "rms"):
                for method in ("sfrql", "fg-sfrql"):
                    make_run(out, "four_rooms", method, seed, skill,
                             cell=f"sf.lr={lr}+net.norm={norm}", **room)
    cells = {"A0": 0.5, "C2": 0.55, "C1": 0.75, "B0": 0.88, "B3": 0.86, "C3": 0.8, "D1": 0.6}
    for seed in range(5):
        for cell, skill in cells.items():
            make_run(out, "four_rooms", "sfrql", seed, skill, cell=cell, held_out=2, **room)
        for cell, skill in {"B1": 0.9, "A1": 0.93, "D1": 0.65}.items():
            make_run(out, "four_rooms", "fg-sfrql", seed, skill, cell=cell, held_out=2, **room)


def make_tables(out):
    (out / "theory").mkdir()
    write(out / "theory" / "theory.csv", "study,quantity,expected,measured,tolerance,pass",
          [("T2", "ring_xi_00", 2.907822041291074, 2.9078220413, 1e-12, 1),
           ("T4A", '"x_B, N = 5"', 0.9166666667, 0.91666671, 1e-4, 1)])
    curve = [("full gradient", k, 5 * math.exp(-k / 200)) for k in range(0, 2000, 20)]
    curve += [("semi-gradient", k, 5 * math.exp(k / 900)) for k in range(0, 2000, 20)]
    path = out / "theory" / "theory_baird.csv"
    write(path, "series,x,y", curve)
    path.write_text("# title: Baird's counterexample\n# x: sweeps\n# y: norm of the weights\n"
                    + path.read_text())
    write(out / "overhead.csv", "method,mean_ms,median_ms,p99_ms,updates_per_step,gflop_per_step,"
          "gflops,sgemm_gflops,efficiency,rss_mb",
          [(m, ms, 0.95 * ms, 1.4 * ms, u, 0.08 * ms, 70, 87, e, 60)
           for m, ms, u, e in (("dqn", 1.2, 1, 0.81), ("fg-dqn", 1.9, 1, 0.8),
                               ("sfrql", 32, 8, 0.86), ("fg-sfrql", 19.5, 3, 0.87),
                               ("fg-sfrql-random", 19, 3, 0.85))])
    write(out / "overhead_scaling.csv", "series,x,y,rss_mb",
          [("batch", x, 0.5 + x / 64, 20) for x in (16, 64, 256, 1024, 4096)]
          + [(s, x, 0.8 + 0.2 * x, 20) for s in ("tasks", "gpi") for x in (1, 2, 4, 8, 16, 32)]
          + [("hidden", x, x * x / 20000, 20) for x in (64, 128, 256, 512, 1024)]
          + [("features", x, 2 + x / 32, 20) for x in (4, 16, 64, 256)]
          + [("replay", x, 2.5, 20) for x in (1000, 10000, 50000, 200000)])


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True)
    for method, skill in METHODS.items():
        for seed in range(6 if "sfrql" in method else 5):
            make_run(out, "four_rooms", method, seed, skill, 6, 10000, 300, 5, held_out=4,
                     picture="map" if method == "fg-sfrql" else None)
    make_run(out, "four_rooms", "dqn", 5, 0.1, 6, 10000, 300, 5, status="diverged")
    for method in ("dqn", "fg-dqn", "sfrql", "fg-sfrql"):
        for seed in range(3):
            make_run(out, "reacher", method, seed, METHODS[method], 4, 100000, 20000, 80,
                     held_out=2, picture="path")
        for seed in range(2):
            make_run(out, "point_maze", method, seed, METHODS[method], 8, 30000, 7500, 60,
                     picture="path")
    make_studies(out)
    make_tables(out)


main()
