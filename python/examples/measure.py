"""Makes the table of docs/python.md: python3 measure.py [NAME ...]

The score is the mean return of greedy episodes after the last step (CartPole-v1, Acrobot-v1), the
exact value of the first state under the greedy policy (FrozenLake-v1), or the mean over ten weights
w that were not trained on of w . (discounted return) (MO-Gymnasium). Each cell has five seeds.
"""
import sys
import time

import gymnasium
import numpy as np

import fgsf

KINDS = ("semi", "full", "corrected")
DECAY = dict(explore_epsilon=1, explore_schedule="linear", explore_over=5000)
CONTROL = dict(train_gamma=0.99, train_batch_size=256, net_hidden=(64, 64), opt_grad_clip=0, **DECAY)
SMALL = dict(train_gamma=0.95, net_hidden=(64,), explore_epsilon=0.8)


def one_hot(*sizes):
    """An encoder of small whole numbers: one place for each value of each coordinate."""
    return lambda obs: np.concatenate([np.arange(n) == x for n, x in zip(sizes, obs)])


# Of each environment: steps (of each task), greedy episodes, arguments of make, settings of train.
CASES = {
    "CartPole-v1": (40_000, 20, {}, dict(
        encode=lambda obs: obs * np.float32([0.5, 0.5, 5, 0.5]), **CONTROL)),
    "Acrobot-v1": (20_000, 20, {}, CONTROL),
    "FrozenLake-v1": (20_000, 0, dict(is_slippery=True), dict(
        SMALL, explore_epsilon=1, gradient_h_rate=10)),
    "deep-sea-treasure-v0": (3000, 1, dict(max_episode_steps=60), dict(SMALL, encode=one_hot(11, 11))),
    "resource-gathering-v0": (20_000, 20, dict(max_episode_steps=60), {
        **SMALL, **DECAY, "encode": one_hot(5, 5, 2, 2), "train_batch_size": 128,
        "explore_over": 10_000, "explore_to": 0.1}),
    "fruit-tree-v0": (3000, 1, dict(max_episode_steps=10), dict(
        SMALL, encode=one_hot(7, 64), train_gamma=0.99)),
    "minecart-v0": (10_000, 5, dict(max_episode_steps=200), {
        **SMALL, **DECAY, "net_hidden": (64, 64), "train_gamma": 0.98}),
}


def make(name):
    """The environment, weights to train on (equal ones, an emphasis on each feature), and new ones."""
    if name[0].isupper():
        return gymnasium.make(name, **CASES[name][2]), None, None
    import mo_gymnasium
    env = mo_gymnasium.make(name, **CASES[name][2])
    width = env.unwrapped.reward_space.shape[0]
    tasks = [np.ones(width) / width, *(0.6 * np.eye(width) + 0.4 / width)]
    return env, tasks, np.random.default_rng(0).dirichlet(np.ones(width), 10)


def lake(env, gamma):
    """Discounted transition probabilities (S, A, S) and expected rewards (S, A)."""
    p, r = np.zeros((16, 4, 16)), np.zeros((16, 4))
    for (s, a) in np.ndindex(16, 4):
        for probability, s_next, reward, over in env.unwrapped.P[s][a]:
            r[s, a] += probability * reward
            p[s, a, s_next] += probability * gamma * (not over)
    return p, r


def optimum(name):
    """By value iteration, or of the Pareto front that MO-Gymnasium gives; NaN without one."""
    (env, _, weights), gamma = make(name), CASES[name][3]["train_gamma"]
    if name == "FrozenLake-v1":
        (p, r), q = lake(env, gamma), np.zeros((16, 4))
        for _ in range(2000):
            q = r + p @ q.max(axis=1)
        return q[0].max()
    return np.nan if weights is None else np.mean(
        (weights @ np.transpose(env.unwrapped.pareto_front(gamma))).max(axis=1))


def score(name, kind, seed, steps=None):
    """Trains one agent and returns its score. The semi-gradient has a target network."""
    (env, tasks, weights), (length, episodes, _, settings) = make(name), CASES[name]
    gamma = settings["train_gamma"]
    target = dict(target_mode="polyak", target_polyak=0.02, target_double=True) if kind == "semi" else {}
    agent, _ = fgsf.train(env, "fg-sfrql" if tasks else "fg-dqn", steps or length, tasks=tasks,
                          seed=seed, gradient_kind=kind, **settings, **target)
    if tasks:
        return np.mean([fgsf.evaluate(agent, env, episodes, w=w, gamma=gamma).mean(axis=0) @ w
                        for w in weights])
    if name == "FrozenLake-v1":
        (p, r), rows = lake(env, gamma), np.arange(16)
        greedy = [agent.act(s) for s in rows]
        return np.linalg.solve(np.eye(16) - p[rows, greedy], r[rows, greedy])[0]
    return fgsf.evaluate(agent, env, episodes).mean()


if __name__ == "__main__":
    print("| | optimum | " + " | ".join(KINDS) + " | CPU seconds of one |\n" + "|---" * 6 + "|")
    for name in sys.argv[1:] or CASES:
        cells, started = [f"{optimum(name):.3f}"], time.process_time()
        for kind in KINDS:
            found = [score(name, kind, seed) for seed in range(5)]
            cells.append(f"{np.mean(found):.3f} ({min(found):.3f} to {max(found):.3f})")
        cells.append(f"{(time.process_time() - started) / 15:.0f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
