#!/usr/bin/env python3
"""The updates of the preset compat in PyTorch, as the peer that `overhead --peer` measures.

    pytorch_overhead.py --method fg-sfrql --batch 512 --tasks 8       time steps, print one line
    pytorch_overhead.py --check build/experiments/gradient_oracle     compare gradients with ours
    pytorch_overhead.py --serve ...                                   take steps when asked on stdin

A step is what a training step of ours is: choose an action by GPI, step Four Rooms, store the
transition, sample a batch, update the policies that the method updates. One thread.

Written to be fast where the method allows it: values at s' are computed once per batch and again
only for networks that have changed, and only for the rows that need it; a network's own values at
s' come from the pass that is differentiated; groups are index tensors. Two styles:
    plain   nn.Sequential, torch.optim.Adam and clip_grad_norm_ as everybody writes them
    best    the same with each network's parameters and gradients in one flat tensor, so that
            zeroing, clipping and Adam are a few calls, and all policies in batched products
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave nothing in the source tree
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # read at load time
try:
    import torch
except ImportError:
    sys.exit("pytorch_overhead: this Python has no torch; `third_party/setup --with torch` "
             "installs Debian's (python3-torch, for /usr/bin/python3)")

from torch import nn

from four_rooms import ACTIONS, FEATURES, INPUT, FourRooms

GAMMA, EPSILON, HORIZON = 0.95, 0.6, 200
LR, LR_PRIOR, LR_DQN, ALPHA_W = 1e-3, 1e-5, 0.5, 0.5
TARGET_PERIOD, SAMPLES, CAPACITY = 1000, 5, 200000
SF_HIDDEN, DQN_HIDDEN = 256, 128


# ---- losses: what is differentiated, and what --check compares -----------------------------------

def chosen(x, action):
    """x (B, A, F), action (B) -> (B, F)"""
    return x[torch.arange(len(action)), action]


def full_loss(x, action, y, discount, next_action):
    """Half mean of the squared residual; x (2, B, A, F) holds s and s', both differentiated."""
    delta = y + discount * chosen(x[1], next_action) - chosen(x[0], action)
    return 0.5 * delta.square().mean()


def semi_loss(x, action, target):
    """Mean squared residual against a constant target (B, F)."""
    return (target - chosen(x, action)).square().mean()


# ---- networks ------------------------------------------------------------------------------------

def make_mlp(hidden, outputs, normal):
    layers = nn.Sequential(nn.Linear(INPUT, hidden), nn.ReLU(inplace=True),
                           nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
                           nn.Linear(hidden, outputs))
    for layer in layers if normal else ():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=math.sqrt(1.0 / layer.in_features))
            nn.init.zeros_(layer.bias)
    return layers


class PlainPolicies:
    """Networks and optimisers, one per policy, as modules."""

    def __init__(self, count, hidden, features, normal, lr, clip):
        self.nets = [make_mlp(hidden, ACTIONS * features, normal) for _ in range(count)]
        self.opts = [torch.optim.Adam(net.parameters(), lr=lr) for net in self.nets]
        self.features, self.clip = features, clip
        self.updates = 0

    def forward(self, k, s):
        return self.nets[k](s).view(*s.shape[:-1], ACTIONS, self.features)

    def evaluate(self, k, s):
        with torch.no_grad():
            return self.forward(k, s)

    def evaluate_all(self, s):
        """(M, B, A, F)"""
        with torch.no_grad():
            return torch.stack([self.forward(k, s) for k in range(len(self.nets))])

    def step(self, k, loss, lr):
        opt = self.opts[k]
        opt.zero_grad(set_to_none=True)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.nets[k].parameters(), self.clip)
        opt.param_groups[0]["lr"] = lr
        opt.step()
        self.updates += 1


class BestPolicies(PlainPolicies):
    """All parameters in one tensor (policies, parameters), of which the modules hold views."""

    def __init__(self, count, hidden, features, normal, lr, clip):
        super().__init__(count, hidden, features, normal, lr, clip)
        size = sum(p.numel() for p in self.nets[0].parameters())
        self.flat = torch.empty(count, size)
        self.grad = torch.zeros(count, size)
        self.opts = []
        for k, net in enumerate(self.nets):
            at = 0
            for p in net.parameters():
                n = p.numel()
                self.flat[k, at:at + n] = p.detach().reshape(-1)
                p.data = self.flat[k, at:at + n].view(p.shape)
                p.grad = self.grad[k, at:at + n].view(p.shape)
                at += n
            whole = self.flat[k].detach()
            whole.grad = self.grad[k]
            self.opts.append(torch.optim.Adam([whole], lr=lr, foreach=False))
        self.stacked = self.stack()

    def stack(self):
        """Views (M, in, out) and (M, 1, out) of each layer's weights and biases."""
        views, at = [], 0
        for p in self.nets[0].parameters():
            part = self.flat[:, at:at + p.numel()].view(len(self.nets), *p.shape)
            views.append(part.transpose(1, 2) if p.dim() == 2 else part.unsqueeze(1))
            at += p.numel()
        return list(zip(views[0::2], views[1::2]))

    def evaluate_all(self, s):
        with torch.no_grad():
            x = s.expand(len(self.nets), *s.shape)
            for depth, (weight, bias) in enumerate(self.stacked):
                x = torch.baddbmm(bias, x, weight)
                if depth + 1 < len(self.stacked):
                    x.relu_()
            return x.view(*x.shape[:-1], ACTIONS, self.features)

    def step(self, k, loss, lr):
        grad = self.grad[k]
        grad.zero_()
        loss.backward()
        if self.clip:
            grad.mul_(torch.clamp(self.clip / (grad.norm() + 1e-6), max=1.0))
        opt = self.opts[k]
        opt.param_groups[0]["lr"] = lr
        opt.step()
        self.updates += 1


# ---- replay --------------------------------------------------------------------------------------

class Replay:
    """A ring of transitions in tensors; with `indexed`, what followed the same (s, a) is known."""

    def __init__(self, features, indexed):
        self.s, self.s_next = torch.zeros(CAPACITY, INPUT), torch.zeros(CAPACITY, INPUT)
        self.a = torch.zeros(CAPACITY, dtype=torch.int64)
        self.y = torch.zeros(CAPACITY, features)
        self.discount = torch.zeros(CAPACITY, 1)
        self.count, self.keys, self.index = 0, [], {} if indexed else None

    def add(self, key, s, a, y, s_next, discount):
        slot = self.count % CAPACITY
        self.s[slot], self.s_next[slot], self.a[slot] = s, s_next, a
        self.y[slot], self.discount[slot] = y, discount
        if self.index is not None:
            self.index.setdefault((key, a), []).append(slot)
            self.keys.append((key, a))
        self.count += 1

    def get(self, rows):
        return (self.s[rows], self.a[rows], self.y[rows], self.s_next[rows], self.discount[rows])

    def sample(self, n):
        return self.get(torch.randint(min(self.count, CAPACITY), (n,)))

    def sample_matching(self, n):
        """A pivot, and n draws with replacement of what followed its (s, a)."""
        slot = random.randrange(min(self.count, CAPACITY))
        stored = self.index[self.keys[slot]]
        return self.get(torch.tensor(random.choices(stored, k=n)))


# ---- methods -------------------------------------------------------------------------------------

class Learner:
    """One run in the benchmark's situation: all policies present, the first task active."""

    def __init__(self, method, batch, tasks, style):
        dqn = method in ("dqn", "fg-dqn")
        self.method, self.batch, self.tasks, self.dqn = method, batch, tasks, dqn
        self.random_task = method in ("fg-sfrql-random", "fg-sfrql-average")
        kind = BestPolicies if style == "best" else PlainPolicies
        features = 1 if dqn else FEATURES
        arguments = (1 if dqn else tasks, DQN_HIDDEN if dqn else SF_HIDDEN, features, not dqn,
                     LR_DQN if dqn else LR, 0.0 if dqn else 1.0)
        self.policies = kind(*arguments)
        has_target = method in ("dqn", "sfrql")
        self.targets = kind(*arguments) if has_target else None
        for k, net in enumerate(self.policies.nets if has_target else ()):
            self.targets.nets[k].load_state_dict(net.state_dict())
        self.own_updates = [0] * tasks
        self.rho = torch.ones(tasks, 1) if dqn else 0.02 * torch.rand(tasks, FEATURES) - 0.01
        self.replay = Replay(features, method == "fg-sfrql-average")
        self.env = FourRooms(tasks)
        self.steps, self.length, self.over = 0, 0, True

    def load(self, path):
        """Networks and scoring vectors as the driver wrote them."""
        with open(path, "rb") as file:
            values = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
        with torch.no_grad():
            for net in self.policies.nets:
                for p in net.parameters():
                    p.copy_(values[:p.numel()].view(p.shape))
                    values = values[p.numel():]
            for k in range(len(self.policies.nets)):
                self.rho[k] = values[:self.rho.shape[1]]
                values = values[self.rho.shape[1]:]
                if self.targets:
                    self.targets.nets[k].load_state_dict(self.policies.nets[k].state_dict())

    # -- acting --

    def act(self, s, task):
        if random.random() < EPSILON:
            return random.randrange(ACTIONS)
        x = self.policies.evaluate_all(s.unsqueeze(0))
        return int((x[:, 0] @ self.rho[task]).flatten().argmax()) % ACTIONS

    def interact(self, task, greedy):
        env = self.env
        if self.over:
            env.reset()
            self.s, self.key, self.length = env.encode(), env.key(), 0
        a = self.act(self.s, task) if greedy else random.randrange(ACTIONS)
        key = self.key
        phi, reward, terminal = env.step(a, task)
        s_next, self.key = env.encode(), env.key()
        if self.dqn:
            y = torch.tensor((reward,))
        else:
            y, rho = phi, self.rho[task]
            rho += ALPHA_W * (reward - torch.dot(rho, phi)) * phi
        self.replay.add(key, self.s, a, y, s_next, 0.0 if terminal else GAMMA)
        self.s = s_next
        self.length += 1
        self.over = terminal or self.length >= HORIZON

    def prefill(self, count):
        for _ in range(count):
            self.interact(0, False)

    def step(self):
        warm = self.steps < self.batch  # compat: the first steps of a random schedule are in task 1
        task = random.randrange(self.tasks) if self.random_task and not warm else 0
        self.interact(task, True)
        self.steps += 1
        {"dqn": self.learn_dqn, "fg-dqn": self.learn_fg_dqn, "sfrql": self.learn_all,
         "fg-sfrql": self.learn_groups, "fg-sfrql-random": self.learn_groups,
         "fg-sfrql-average": self.learn_average}[self.method](task)

    # -- updates --

    def synchronise(self, k):
        self.own_updates[k] += 1
        if self.own_updates[k] % TARGET_PERIOD == 0:
            self.targets.nets[k].load_state_dict(self.policies.nets[k].state_dict())

    def learn_dqn(self, _):
        s, a, y, s_next, discount = self.replay.sample(self.batch)
        next_action = self.policies.evaluate(0, s_next).squeeze(-1).argmax(-1)
        target = y + discount * chosen(self.targets.evaluate(0, s_next), next_action)
        loss = semi_loss(self.policies.forward(0, s), a, target) / ACTIONS
        self.policies.step(0, loss, LR_DQN)
        self.synchronise(0)

    def learn_fg_dqn(self, _):
        s, a, y, s_next, discount = self.replay.sample(self.batch)
        x = self.policies.forward(0, torch.stack((s, s_next)))
        next_action = x[1].detach().squeeze(-1).argmax(-1)
        loss = 2.0 * full_loss(x, a, y, discount, next_action)
        self.policies.step(0, loss, LR_DQN)

    def learn_all(self, _):
        """Every policy on the whole batch, with the GPI action under its own reward."""
        s, a, y, s_next, discount = self.replay.sample(self.batch)
        policies, count = self.policies, self.tasks
        x_next = policies.evaluate_all(s_next)
        bootstrap = self.targets.evaluate_all(s_next)
        for k in range(count):
            next_action = (x_next @ self.rho[k]).amax(0).argmax(-1)
            target = y + discount * chosen(bootstrap[k], next_action)
            policies.step(k, semi_loss(policies.forward(k, s), a, target), LR)
            self.synchronise(k)
            if k + 1 < count:
                x_next[k] = policies.evaluate(k, s_next)

    def learn_groups(self, i):
        """The batch split by prior c; each part updates i and c, lower index first."""
        batch = self.replay.sample(self.batch)
        x_next = self.policies.evaluate_all(batch[3])
        priors = (x_next @ self.rho[i]).amax(-1).argmax(0)
        changed = set()
        for c in dict.fromkeys(priors.tolist()):  # in order of first appearance
            rows = (priors == c).nonzero().squeeze(1)
            part = tuple(t[rows] for t in batch)
            for k in sorted({i, c}):
                self.update_part(k, i, part, x_next, rows, changed)
                changed.add(k)

    def update_part(self, k, i, part, x_next, rows, changed):
        s, a, y, s_next, discount = part
        x = self.policies.forward(k, torch.stack((s, s_next)))
        own = x[1].detach()
        if k == i:  # GPI over all policies: those that have changed are evaluated anew
            values = (x_next[:, rows] @ self.rho[i])
            values[k] = own @ self.rho[i]
            for m in changed - {k}:
                values[m] = self.policies.evaluate(m, s_next) @ self.rho[i]
            next_action = values.amax(0).argmax(-1)
        else:
            next_action = (own @ self.rho[k]).argmax(-1)
        loss = full_loss(x, a, y, discount, next_action)
        self.policies.step(k, loss, LR if k == i else LR_PRIOR)

    def learn_average(self, i):
        """One pivot with the mean over what followed it."""
        s, a, y, s_next, discount = self.replay.sample_matching(SAMPLES)
        x_mean = self.policies.evaluate_all(s_next).mean(1)
        c = int((x_mean @ self.rho[i]).amax(-1).argmax())
        for k in dict.fromkeys((i, c)):
            x = self.policies.forward(k, torch.cat((s[:1], s_next)))
            best = int((x[1:].detach().mean(0) @ self.rho[i]).argmax())
            target = (y + discount * x[1:, best]).mean(0)
            delta = target - x[0, int(a[0])]
            self.policies.step(k, 0.5 * delta.square().mean(), LR if k == i else LR_PRIOR)


# ---- equal gradients -----------------------------------------------------------------------------

def ask_oracle(oracle, problem):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(problem, file)
        answer = subprocess.run([oracle, path], check=True, capture_output=True, text=True).stdout
    return json.loads(answer)


def as_network(net, features):
    linear = [layer for layer in net if isinstance(layer, nn.Linear)]
    return {"input": INPUT, "hidden": [layer.out_features for layer in linear[:-1]],
            "actions": ACTIONS, "features": features, "activation": "relu",
            "weights": [layer.weight.detach().flatten().tolist() for layer in linear],
            "biases": [layer.bias.detach().tolist() for layer in linear]}


def check_method(oracle, method, style):
    """Largest gradient difference on one batch, relative to the largest entry of the gradient."""
    learner = Learner(method, 64, 2, style)
    learner.prefill(400)
    s, a, y, s_next, discount = learner.replay.sample(64)
    y = y + torch.randn_like(y)
    policies, features = learner.policies, learner.policies.features
    next_action = torch.randint(ACTIONS, (64,))
    full = learner.targets is None
    problem = {"schema": "fgsf.gradient-problem/1",
               "network": as_network(policies.nets[0], features),
               "loss": "half_mean" if full else "mean", "grad_mix": 1.0 if full else 0.0,
               "samples_per_pair": 1, "optimizer": None,
               "batches": [{"s": s.tolist(), "a": a.tolist(), "y": y.tolist(),
                            "s_next": s_next.tolist(), "a_next": next_action.tolist(),
                            "discount": discount.squeeze(1).tolist()}]}
    if full:
        x = policies.forward(0, torch.stack((s, s_next)))
        loss = full_loss(x, a, y, discount, next_action)
    else:
        for p in learner.targets.nets[0].parameters():
            p.data.mul_(0.9)
        problem["target_network"] = as_network(learner.targets.nets[0], features)
        target = y + discount * chosen(learner.targets.evaluate(0, s_next), next_action)
        loss = semi_loss(policies.forward(0, s), a, target)
    for p in policies.nets[0].parameters():
        p.grad = None
    loss.backward()
    answer = ask_oracle(oracle, problem)
    parts = [v for pair in zip(answer["gradient"]["weights"], answer["gradient"]["biases"])
             for v in pair]
    ours = [torch.tensor(v) for v in parts]
    theirs = [p.grad.flatten() for p in policies.nets[0].parameters()]
    scale = max(float(v.abs().max()) for v in theirs)
    worst = max(float((u - v).abs().max()) for u, v in zip(ours, theirs)) / scale
    print(f"{method:10s} {style:6s} loss {answer['loss'][0]:.8g} and {float(loss):.8g}, "
          f"gradients differ by {worst:.2e} of the largest entry")
    return worst < 1e-5


def check(oracle):
    good = [check_method(oracle, method, style) for method in ("dqn", "fg-dqn", "sfrql", "fg-sfrql")
            for style in ("plain", "best")]
    return 0 if all(good) else 1


# ---- timing --------------------------------------------------------------------------------------

def timed_steps(learner, count):
    before, ms = learner.policies.updates, []
    for _ in range(count):
        start = time.process_time_ns()
        learner.step()
        ms.append(1e-6 * (time.process_time_ns() - start))
    return learner.policies.updates - before, ms


def serve(learner):
    kernel = os.environ.get("OPENBLAS_CORETYPE", "OpenBLAS's own choice")
    print(f"torch {torch.__version__} with {kernel}", flush=True)
    for line in sys.stdin:
        updates, ms = timed_steps(learner, int(line))
        print(updates, *(f"{t:.6f}" for t in ms), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", default="fg-sfrql",
                        choices=("dqn", "fg-dqn", "sfrql", "fg-sfrql", "fg-sfrql-random",
                                 "fg-sfrql-average"))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--replay", type=int, default=0)
    parser.add_argument("--style", choices=("plain", "best"), default="best")
    parser.add_argument("--start", metavar="FILE")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--check", metavar="ORACLE")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    if args.check:
        return check(args.check)
    learner = Learner(args.method, args.batch, args.tasks, args.style)
    if args.start:
        learner.load(args.start)
    learner.prefill(args.replay or max(args.batch, 1000))
    for _ in range(args.warmup):
        learner.step()
    if args.serve:
        serve(learner)
        return 0
    updates, ms = timed_steps(learner, args.steps)
    ms.sort()
    print(f"{args.method} {args.style}: median {ms[len(ms) // 2]:.3f} ms, "
          f"{updates / len(ms):.2f} updates per step")
    return 0


if __name__ == "__main__":
    sys.exit(main())
