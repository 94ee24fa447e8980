"""Files that nobody should name on a command line, and TOML files of odd fields."""

import io
import struct
import zipfile

import numpy as np

from onegrad.core.problem import Problem
from onegrad.describe.value import nested_fields
from onegrad.sweeps.sweep import Sweep

SMALL_PROBLEM = "dimension = 12\nreadout.samples = 14\nnetwork.width = 10\n"
SMALL_SWEEP = (
    "trials = 1\ndraws = 1\nmodels = ['linear']\n[problem]\ndimension = 12\n"
    "readout.samples = 14\nnetwork.width = 10\n"
)
# Whatever TOML can hold.
VALUES = ["0", "1", "2", "-1", "0.5", "nan", "inf", "1e308", "1e-320", "9" * 400, "1" + "0" * 4400]
VALUES += [
    "''",
    "' '",
    "'\\u0000'",
    '"\\u0000"',
    "'[/x]'",
    "'relu'",
    "'u**u'",
    "'~nouser/x.npz'",
    "true",
]
VALUES += [
    "[]",
    "[1, 2]",
    "[1, 'a']",
    "[[1, 2], [3]]",
    "[[]]",
    "{}",
    "{a = 1}",
    "{start = 1}",
    "1979-05-27",
]
VALUES += [
    "'" + "a" * 3000 + "'",
    "[" * 50 + "]" * 50,
    "'sampled'",
    "'uniform'",
    "'random'",
    "'spikes'",
]
VALUES += [f"{{start = 1, stop = {'9' * 400}, count = 2}}", "{start = 1, stop = 2, count = 2}"]
VALUES += [f"{{start = 1, stop = 2, count = {'9' * 400}}}", "{start = nan, stop = 1, count = 2}"]
VALUES += ["{npz = 'big.npz', key = 'X', digest = 'x'}", "{npz = '/', key = '', digest = ''}"]


def odd_problem(rng):
    """Return TOML text of a small problem with a few odd fields."""
    paths = sorted({path.replace("*", "0") for path, _ in nested_fields(Problem)})
    return _toml(rng, [p for p in paths if "components" not in p], SMALL_PROBLEM)


def odd_sweep(rng):
    """Return TOML text of a small sweep with a few odd fields and axes."""
    paths = sorted({path for path, _ in nested_fields(Problem)})
    text = "".join(
        f"{name} = {rng.choice(VALUES)}\n"
        for name in rng.sample(sorted(set(Sweep.model_fields) - {"problem", "axes"}), 2)
        if name not in ("trials", "draws", "models") and rng.random() < 0.5
    )
    axes = [f"'{p}' = {rng.choice(VALUES)}\n" for p in rng.sample(paths, rng.choice([0, 1, 2]))]
    return f"{text}{SMALL_SWEEP}[axes]\n{''.join(axes)}"


def _toml(rng, paths, small):
    lines = {line.split(" = ")[0]: line.split(" = ")[1] for line in small.splitlines()}
    lines |= {path: rng.choice(VALUES) for path in rng.sample(paths, rng.choice([0, 1, 2, 4]))}
    for path in [p for p in lines if any(p.startswith(f"{other}.") for other in lines)]:
        del lines[path]  # a table and one of its fields cannot both be said
    return "".join(f"{path} = {value}\n" for path, value in lines.items())


def exabytes():
    """Return an .npz whose header claims an array of exabytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**30, 2**30)}
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("X.npy", "y.npy"):
            archive.writestr(name, header.getvalue() + bytes(64))
    return out.getvalue()


def small_rows():
    """Return an .npz of 400 labelled rows."""
    rng = np.random.default_rng(0)
    out = io.BytesIO()
    np.savez(out, X=rng.standard_normal((400, 4)), y=np.repeat([0, 1], 200))
    return out.getvalue()


TABLE = "a,b,label\n" + "".join(f"{i % 7},{i * 0.1:.2f},{i % 2}\n" for i in range(400))
FILES = {
    "small.toml": SMALL_PROBLEM.encode(),
    "sweep.toml": SMALL_SWEEP.encode(),
    "empty.toml": b"",
    "broken.toml": b"dimension = [",
    "bytes.toml": bytes(range(256)),
    "deep.toml": b"a = " + b"[" * 5000 + b"]" * 5000,
    "long.toml": b"dimension = 1" + b"0" * 5000,
    "big.npz": exabytes(),
    "rows.npz": small_rows(),
    "cut.npz": small_rows()[:200],
    "garbled.npz": small_rows().replace(struct.pack("<d", 1.0)[:2], b"\0\1"),
    "empty.npz": b"",
    "table.csv": TABLE.encode(),
    "empty.csv": b"",
    "words.csv": b"a,label\nx,1\n,2\n",
    "bytes.csv": bytes(range(256)) * 3,
    "one.csv": b"label\n1\n2\n",
    "nothing.parquet": b"PAR1",
    "noname": b"",
}
FOLDERS = ("folder.toml", "folder", "folder.npz")
LOOP = "loop.toml"


def make_files(folder):
    """Write all of them into a folder."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    for name in FOLDERS:
        (folder / name).mkdir()
    (folder / LOOP).symlink_to(LOOP)
