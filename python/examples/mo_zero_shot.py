"""MO-Gymnasium: successor features trained on a few weights, acting at once on weights never seen.

    PYTHONPATH=... python3 mo_zero_shot.py [NAME ...]

Prints, for each gradient, the mean over ten new weights w of w . (discounted return) for five seeds,
and the mean of the best that the exact Pareto front allows where MO-Gymnasium has it.
"""
import sys

import mo_gymnasium
import numpy as np

import fgsf


def one_hot(*sizes):
    """An encoder of small whole numbers: one place for each value of each coordinate."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def encode(obs):
        state = np.zeros(sum(sizes), np.float32)
        state[starts + np.asarray(obs, int)] = 1.0
        return state
    return encode


# Discount, steps for each trained weight, longest episode, evaluation episodes, observations.
CASES = {"deep-sea-treasure-v0": (0.95, 3000, 60, 1, one_hot(11, 11)),
         "resource-gathering-v0": (0.95, 10_000, 60, 20, one_hot(5, 5, 2, 2)),
         "fruit-tree-v0": (0.99, 3000, 10, 1, one_hot(7, 64)),
         "minecart-v0": (0.98, 5000, 200, 5, None)}


def main(name):
    gamma, steps, longest, episodes, encode = CASES[name]
    env = mo_gymnasium.make(name, max_episode_steps=longest)
    width = env.unwrapped.reward_space.shape[0]
    trained = [np.ones(width) / width, *(0.6 * np.eye(width) + 0.4 / width)]
    new = np.random.default_rng(0).dirichlet(np.ones(width), 10)
    try:
        front = np.array(env.unwrapped.pareto_front(gamma))
        print(f"{name}: optimum {np.mean([(front @ w).max() for w in new]):.3f}", flush=True)
    except (AttributeError, NotImplementedError):
        print(f"{name}: no exact front", flush=True)
    for kind in ("semi", "full", "corrected"):
        scores = []
        for seed in range(5):
            agent, _ = fgsf.train(env, "fg-sfrql", steps, tasks=trained, seed=seed, encode=encode,
                                  gradient_kind=kind, train_gamma=gamma, net_hidden=(64,),
                                  explore_epsilon=0.8)
            scores.append(np.mean([fgsf.evaluate(agent, env, episodes, w=w, gamma=gamma)
                                   .mean(axis=0) @ w for w in new]))
        print(f"{kind:10} {np.mean(scores):.3f}  {np.round(scores, 3).tolist()}", flush=True)


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        main(case)
