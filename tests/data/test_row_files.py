"""Files of rows: longer rows refused, index columns named, and reads bounded before they begin."""

import os
import struct
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from onegrad import EmpiricalData, InvalidInput, Problem
from onegrad.data import rows_files

LINES = [f"{i % 7},{i * 5 % 11},{i % 2}" for i in range(40)]


def npy(shape, body=b""):
    """Return an .npy whose header claims this shape of float64."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (64 - (len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def refused(path, match):
    with pytest.raises(InvalidInput, match=match) as caught:
        EmpiricalData(file=str(path))
    assert len(str(caught.value).splitlines()) == 1


def written(path, lines, header="a,b,label"):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.mark.parametrize("place", [0, 20, 39])
def test_a_row_longer_than_the_header_is_refused_by_its_line(place, tmp_path):
    lines = [*LINES]
    lines[place] += ",9"
    path = written(tmp_path / "d.csv", lines)
    refused(path, f"line {place + 2} has 4 fields, the header has 3; name every column")


def test_rows_that_are_all_longer_do_not_shift_columns(tmp_path):
    refused(written(tmp_path / "d.csv", [f"{line},9" for line in LINES]), "line 2 has 4 fields")
    EmpiricalData(file=str(written(tmp_path / "good.csv", LINES)))  # negative control


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = written(tmp_path / "d.csv", LINES, header="a,label,label")
    refused(path, "names the column 'label' twice")


def test_columns_that_look_like_an_index_are_named(tmp_path, rng):
    table = pd.DataFrame({"a": rng.standard_normal(40), "label": [0, 1] * 20})
    table.assign(patient_id=rng.integers(0, 999, 40), t=range(5, 45)).to_csv(tmp_path / "d.csv")
    with pytest.warns(UserWarning, match="'Unnamed: 0', 'patient_id', 't' looks like an index"):
        EmpiricalData(file=str(tmp_path / "d.csv"))
    named = table.rename(columns={"a": "humidity"})  # ends in "ity", holds "id": no index
    named.to_csv(tmp_path / "good.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EmpiricalData(file=str(tmp_path / "good.csv"))


def test_devices_pipes_and_folders_are_not_read(tmp_path):
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "folder.csv").mkdir()
    for name in ("zero.csv", "pipe.npz", "folder.csv"):
        refused(tmp_path / name, "must be a regular file, not a device, pipe or folder")


def test_an_array_that_claims_exabytes_is_refused_before_it_is_made(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", npy("(1000000000, 1000000000)", bytes(80)))
        archive.writestr("y.npy", npy("(10,)", bytes(80)))
    refused(tmp_path / "d.npz", r"holds 7\.45e\+09 GiB, at most 4 GiB are read")


def test_a_header_that_claims_more_than_there_is_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", npy("(10, 3)", bytes(80)))
        archive.writestr("y.npy", npy("(10,)", bytes(80)))
    refused(tmp_path / "d.npz", "the header of X claims 240 bytes, there are 80")


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    x, y = np.zeros((4000, 8)), np.arange(4000) % 2
    np.savez_compressed(tmp_path / "d.npz", X=x, y=y)
    pd.DataFrame(x).rename(columns=str).assign(label=y).to_parquet(tmp_path / "d.parquet")
    written(tmp_path / "d.csv", LINES * 200)
    for name in ("d.npz", "d.parquet", "d.csv"):
        assert (tmp_path / name).stat().st_size < 2**17
    monkeypatch.setattr("onegrad.describe.files.LARGEST_VALUES", 2**17)
    monkeypatch.setattr("onegrad.describe.files.require_size.__defaults__", (2**17,))
    monkeypatch.setattr(rows_files, "LARGEST_TEXT", 2**14)
    for name in ("d.npz", "d.parquet", "d.csv"):
        refused(tmp_path / name, "GiB are read of")


def test_a_description_without_end_is_refused(tmp_path):
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    with pytest.raises(InvalidInput, match="is longer than 16 MiB"):
        Problem.load(tmp_path / "zero.toml")


@pytest.mark.parametrize("name", ["~nouser/x.npz", "a" * 5000 + ".csv", "a\0b.csv"])
def test_paths_that_cannot_be_are_one_short_line(name):
    with pytest.raises(InvalidInput, match="file=") as caught:
        EmpiricalData(file=name)
    assert len(str(caught.value)) < 300
