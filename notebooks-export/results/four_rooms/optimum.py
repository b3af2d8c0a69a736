"""The best that any policy can do on Four Rooms: value iteration over all 152 x 4,096 states.

    python3 optimum.py >optimum.csv

`discounted_return` is the largest expected discounted return (gamma 0.95) from the start, `final_return` the largest
expected sum of rewards within 100 steps. The map and the rewards are those of envs/four_rooms_map.c. Needs numpy.
"""
import numpy as np

MAP = """1....2X.....G
......X......
......1......
.............
......X......
2....3X......
XX3.XXXXX.1XX
......X2....3
......X......
.............
......2......
......X......
_.....X3....1""".splitlines()
WEIGHTS = [(1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1), (1, -1, 0, 1), (0, 1, -1, 1), (1, 0, 0, 1)]

cells = [(r, c) for r, row in enumerate(MAP) for c, mark in enumerate(row) if mark != "X"]
place = {cell: i for i, cell in enumerate(cells)}
marks = [MAP[r][c] for r, c in cells]
objects = [i for i in sorted(range(len(cells)), key=lambda i: cells[i][::-1]) if marks[i].isdigit()]  # column by column
bits = {i: 1 << k for k, i in enumerate(objects)}
taken = np.arange(1 << len(bits))
after = np.array([[place.get((r + dr, c + dc), place[r, c]) for dr, dc in ((0, -1), (-1, 0), (0, 1), (1, 0))]
                  for r, c in cells])


def best(weights, slip, gamma, steps):
    """The value of every cell and set of taken objects."""
    value = np.zeros((len(cells), len(taken)), np.float32)
    for _ in range(steps):
        enter = gamma * value
        for i, mark in enumerate(marks):
            if mark == "G":
                enter[i] = weights[3]
            elif i in bits:
                gain = weights[int(mark) - 1] + gamma * value[i, taken | bits[i]]
                enter[i] = np.where(taken & bits[i], gamma * value[i], gain)
        q = enter[after]
        for action in range(4):  # a bump enters nothing
            bump = after[:, action] == np.arange(len(cells))
            q[bump, action] = gamma * value[bump]
        old, value = value, ((1 - slip) * q + slip * q.mean(1, keepdims=True)).max(1)
        value[marks.index("G")] = 0
        if np.abs(value - old).max() < 1e-6:
            break
    return value


if __name__ == "__main__":
    start = marks.index("_"), 0
    print("slip,task,discounted_return,final_return")
    for slip in (0, 0.1):
        for task, weights in enumerate(WEIGHTS):
            print(f"{slip},{task},{best(weights, slip, 0.95, 500)[start]:.4f},{best(weights, slip, 1.0, 100)[start]:.4f}")
