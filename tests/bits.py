#!/usr/bin/env python3
"""Hashes of the numbers of every run below a folder; tests/check_bits.sh says which runs.

    bits.py FOLDER GOLDEN            compare with GOLDEN: exit code 1, a line per run that differs
    bits.py FOLDER GOLDEN --write    write GOLDEN

FOLDER holds one OUT of a driver per name. A run is called NAME/env/method[@cell]. Its hashes cover
train.csv and summary.csv in the columns named below, and the networks and reward models in
policy.gguf. Columns, keys and tensors that are added later do not count.
"""
import csv
import hashlib
import pathlib
import re
import struct
import sys

# Every column but bellman_residual and psi_error.
TRAIN = "step task task_step cum_reward episodes loss grad_norm gpi_share w_error".split()
# Every column but seconds and config_hash.
SUMMARY = """env method cell seed status task heldout cum_reward area reward_model epsilon episodes
    eval_return eval_success eval_steps steps message""".split()
TENSORS = re.compile(r"policy\.\d+\.parameters|rho|members\.phi")
COLUMNS = ["run", "train", "summary", "policy"]


def rows_hash(rows, columns):
    text = "".join(",".join(row[column] for column in columns) + "\n" for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


class Gguf:
    """Reads the tensors of a GGUF file, version 3: name -> (shape, type, bytes)."""

    SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}  # 8: string, 9: array
    SIZES = {0: 4, 1: 2, 24: 1, 25: 2, 26: 4, 27: 8, 28: 8}  # bytes of F32, F16, I8 ... I64, F64

    def __init__(self, path):
        self.data, self.at, self.alignment = path.read_bytes(), 0, 32
        magic, version, num_tensors, num_keys = self.take("4sIQQ")
        if magic != b"GGUF" or version != 3:
            raise ValueError(f"{path}: not a GGUF file of version 3")
        for _ in range(num_keys):
            key, kind = self.string(), self.take("I")[0]
            value = self.value(kind)
            if key == "general.alignment":
                self.alignment = value
        about = [self.tensor() for _ in range(num_tensors)]
        start = -(-self.at // self.alignment) * self.alignment
        self.tensors = {}
        for name, shape, kind, offset in about:
            size = self.SIZES[kind]
            for extent in shape:
                size *= extent
            first = start + offset
            if first + size > len(self.data):
                raise ValueError(f"{path}: tensor {name} ends after the file")
            self.tensors[name] = (shape, kind, self.data[first : first + size])

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def string(self):
        size = self.take("Q")[0]
        return self.take(f"{size}s")[0].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            element, count = self.take("IQ")
            return [self.value(element) for _ in range(count)]
        return self.take(self.SCALARS[kind])[0]

    def tensor(self):
        name, num_dims = self.string(), self.take("I")[0]
        shape = self.take(f"{num_dims}Q")
        return name, shape, *self.take("IQ")


def policy_hash(path):
    tensors = Gguf(path).tensors
    names = sorted(filter(TENSORS.fullmatch, tensors))
    if not any(name.startswith("policy.") for name in names):
        raise ValueError(f"{path}: no policy.K.parameters among {sorted(tensors)}")
    digest = hashlib.sha256()
    for name in names:
        data = tensors[name][2]
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def hashes(folder):
    found = {}
    for out in sorted(path for path in folder.iterdir() if path.is_dir()):
        summary = read(out / "summary.csv")
        for run in sorted(out.glob("*/*/seed-*")):
            env, place = run.parts[-3:-1]
            method, _, cell = place.partition("@")
            mine = [r for r in summary if [r["env"], r["method"], r["cell"]] == [env, method, cell]]
            if not mine or any(row["status"] != "done" for row in mine):
                raise ValueError(f"{run}: not done: {mine}")
            found[f"{out.name}/{env}/{place}"] = {
                "train": rows_hash(read(run / "train.csv"), TRAIN),
                "summary": rows_hash(mine, SUMMARY),
                "policy": policy_hash(run / "policy.gguf"),
            }
    return found


def main(folder, golden, write):
    found = hashes(folder)
    if write:
        with open(golden, "w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows({"run": run, **found[run]} for run in sorted(found))
        print(f"bits: {len(found)} runs written to {golden}")
        return 0
    # A build without MuJoCo has no runs in its environments; check_bits.sh says so.
    envs = {run.split("/")[1] for run in found}
    wanted = {row["run"]: row for row in read(golden) if row["run"].split("/")[1] in envs}
    bad = 0
    for run in sorted(found.keys() | wanted.keys()):
        if run not in found or run not in wanted:
            print(f"bits: {run}: {'not run' if run in wanted else 'not in ' + str(golden)}")
            bad += 1
            continue
        differ = [what for what in COLUMNS[1:] if found[run][what] != wanted[run][what]]
        if differ:
            print(f"bits: {run}: {', '.join(differ)} changed")
            bad += 1
    print(f"bits: {len(found)} runs, {bad} differ")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2], "--write" in sys.argv[3:]))
