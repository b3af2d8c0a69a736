"""Full-gradient successor features from Python.

    agent, log = fgsf.train(env, method="fg-dqn", steps=20_000)    # any Gymnasium environment
    agent = fgsf.load("policy.gguf")                               # a trained policy
    agent.act(obs), agent.act(obs, w=[1, -1, 0, 1])                # its task; a reward never seen
    loss, gradients = fgsf.bellman(net, batch, kind="full")        # check your own backward pass
    table = fgsf.runs("runs/four_rooms-clean")                     # what the drivers wrote

docs/python.md has five recipes. Errors are fgsf.Error with the library's own message.
"""
from ._lib import Config, Error, Learned, lib
from .learner import Agent, Learner, load
from .oracle import bellman
from .runs import runs
from .training import Interrupted, evaluate, train
from .envs import Env, VectorEnv, vector_env

__version__ = lib.fgsf_version().decode()
__all__ = ["Agent", "Config", "Env", "Error", "Interrupted", "Learned", "Learner", "VectorEnv",
           "bellman", "evaluate", "load", "runs", "train", "vector_env"]
