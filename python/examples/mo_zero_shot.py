"""MO-Gymnasium: successor features trained on a few weights, acting at once on weights never seen.

    PYTHONPATH=... python3 mo_zero_shot.py deep-sea-treasure-v0|resource-gathering-v0 [SEEDS]

Prints, for each gradient and seed, the mean over ten new weights w of w . (discounted return), and
the mean of the best that the exact Pareto front allows.
"""
import sys

import mo_gymnasium
import numpy as np

import fgsf

GAMMA, EPISODES = 0.95, {"deep-sea-treasure-v0": 1, "resource-gathering-v0": 20}


def one_hot(high):
    """An encoder of small whole numbers: one place for each value of each coordinate."""
    sizes = np.asarray(high, int) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def encode(obs):
        state = np.zeros(sizes.sum(), np.float32)
        state[starts + np.asarray(obs, int)] = 1.0
        return state
    return encode


def main(name, seeds):
    env = mo_gymnasium.make(name, max_episode_steps=60)
    width = env.unwrapped.reward_space.shape[0]
    trained = [np.ones(width) / width, *(0.6 * np.eye(width) + 0.4 / width)]
    new = np.random.default_rng(0).dirichlet(np.ones(width), 10)
    front = np.array(env.unwrapped.pareto_front(GAMMA))
    print(f"{name}: optimum {np.mean([(front @ w).max() for w in new]):.3f}", flush=True)
    high = [10, 10] if "sea" in name else [4, 4, 1, 1]
    for kind in ("semi", "full", "corrected"):
        scores = []
        for seed in range(seeds):
            agent, _ = fgsf.train(env, "fg-sfrql", 3000, tasks=trained, seed=seed,
                                  encode=one_hot(high), gradient_kind=kind, train_gamma=GAMMA,
                                  net_hidden=(64,), explore_epsilon=0.8)
            scores.append(np.mean([fgsf.evaluate(agent, env, EPISODES[name], w=w, gamma=GAMMA)
                                   .mean(axis=0) @ w for w in new]))
        print(f"{kind:10} {np.mean(scores):.3f}  {np.round(scores, 3).tolist()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
