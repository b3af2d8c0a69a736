"""CartPole-v1: DQN with a target network; mean greedy return of 20 episodes after the last step.

    PYTHONPATH=... python3 cartpole.py [SEEDS]
"""
import sys
import time

import gymnasium

import fgsf

env = gymnasium.make("CartPole-v1")
for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
    started = time.process_time()
    agent, log = fgsf.train(env, "dqn", 50_000, seed=seed, net_hidden=(128, 128), dqn_lr=3e-4,
                            train_gamma=0.99, explore_epsilon=0.1, target_mode="polyak",
                            target_polyak=0.01, target_double=True)
    returns = fgsf.evaluate(agent, env, 20)
    print(f"seed {seed}: mean {returns.mean():.1f}, least {returns.min():.0f}; "
          f"{time.process_time() - started:.0f} s of CPU, {log.env_seconds / log.seconds:.0%} of the "
          "time in the environment", flush=True)
