"""Four Rooms for the PyTorch peer: the same map, features and encoding as envs/four_rooms.c."""
import torch

MAP = """
1....2X.....G
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
_.....X3....1
""".split()
SIZE = len(MAP)
ACTIONS, FEATURES = 4, 4
MOVES = ((0, -1), (-1, 0), (0, 1), (1, 0))  # left, up, right, down
POOL = ((1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1), (1, -1, 0, 1), (0, 1, -1, 1))
OBJECTS = {}  # (row, column) -> (inventory bit, type); bits count column by column
for column in range(SIZE):
    for row in range(SIZE):
        if MAP[row][column] in "123":
            OBJECTS[row, column] = (len(OBJECTS), int(MAP[row][column]) - 1)
INPUT = 2 * SIZE + len(OBJECTS)
NOTHING = torch.zeros(FEATURES)
EVENTS = torch.eye(FEATURES)


class FourRooms:
    def __init__(self, tasks):
        self.weights = [POOL[task % len(POOL)] for task in range(tasks)]

    def reset(self):
        self.row, self.column, self.inventory = SIZE - 1, 0, 0

    def step(self, action, task):
        """Returns the features, the reward and whether the episode ends."""
        row, column = self.row + MOVES[action][0], self.column + MOVES[action][1]
        if not (0 <= row < SIZE and 0 <= column < SIZE) or MAP[row][column] == "X":
            return NOTHING, 0.0, False
        self.row, self.column = row, column
        if MAP[row][column] == "G":
            return EVENTS[3], float(self.weights[task][3]), True
        bit, kind = OBJECTS.get((row, column), (-1, 0))
        if bit < 0 or self.inventory >> bit & 1:
            return NOTHING, 0.0, False
        self.inventory |= 1 << bit
        return EVENTS[kind], float(self.weights[task][kind]), False

    def key(self):
        return self.row, self.column, self.inventory

    def encode(self):
        state = [0.0] * INPUT
        state[self.row] = state[SIZE + self.column] = 1.0
        for bit in range(len(OBJECTS)):
            state[2 * SIZE + bit] = float(self.inventory >> bit & 1)
        return torch.tensor(state)
