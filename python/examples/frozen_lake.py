"""FrozenLake-v1, slippery: semi, full and corrected gradient beside the optimum by value iteration.

    PYTHONPATH=... python3 frozen_lake.py [SEEDS]
"""
import sys

import gymnasium
import numpy as np

import fgsf

GAMMA, STEPS = 0.95, 20_000


def model(env):
    """Transition probabilities (S, A, S) and expected rewards (S, A) that the environment gives."""
    table = env.unwrapped.P
    p, r = np.zeros((16, 4, 16)), np.zeros((16, 4))
    for s in table:
        for a in table[s]:
            for probability, s_next, reward, over in table[s][a]:
                r[s, a] += probability * reward
                if not over:
                    p[s, a, s_next] += probability
    return p, r


def value_of(p, r, actions):
    """The exact discounted value of the first state under a policy."""
    rows = np.arange(16)
    return np.linalg.solve(np.eye(16) - GAMMA * p[rows, actions], r[rows, actions])[0]


def main(seeds):
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    p, r = model(env)
    q = np.zeros((16, 4))
    for _ in range(2000):
        q = r + GAMMA * p @ q.max(axis=1)
    print(f"optimum {q.max(axis=1)[0]:.4f}")
    for name, settings in (("semi", {}), ("full", {}), ("corrected", {"gradient_h_rate": 10}),
                           ("full, mean of 5 next states", {"avg_n": 5})):
        values = []
        for seed in range(seeds):
            agent, _ = fgsf.train(env, "fg-dqn", STEPS, seed=seed, net_hidden=(64,),
                                  gradient_kind=name.split(",")[0], train_gamma=GAMMA,
                                  explore_epsilon=1.0, dqn_lr=1e-3, **settings)
            values.append(value_of(p, r, [agent.act(s) for s in range(16)]))
        print(f"{name:30} {np.mean(values):.4f}  {np.round(values, 4).tolist()}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
