"""The estimators beside scikit-learn's own, and predicted beside measured test errors.

    python benchmarks/estimators.py table [--splits 3] [--only NAME …]
    python benchmarks/estimators.py coverage [--splits 2]

One core; seconds are those of the processor. A split keeps 40 % of the rows for the test. Features
of tables are standardised on the training rows, pixels are divided by their largest value. `table`
prints test error (mean ± standard error over splits) and seconds of a fit, cross-validation
included; `coverage` how often the measured test error lies within one and two stated standard
errors, the test's own sampling error added in squares.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from onegrad import OneStepClassifier, OneStepRegressor, load_fashion_mnist

PENALTIES = np.logspace(-4, 4, 17)
GRID = {"learning_rate": [3.0, 30.0, 300.0], "ridge": np.logspace(-5, -1, 9).tolist()}
JUDGED_DIGITS, JUDGED_IMAGES = [(3, 8), (4, 9)], [(0, 6), (2, 4), (5, 7)]
IMAGES, WIDTH = 1500, 300
FEW_FEATURES = 10  # below it neurons without a bias bend at the centre alone
Table = tuple[str, np.ndarray, np.ndarray, bool]  # name, rows, labels, whether to standardise


def judged() -> Iterator[Table]:
    """Yield the data sets of the table and of the stated coverage."""
    for name, load in (
        ("breast_cancer", datasets.load_breast_cancer),
        ("wine", datasets.load_wine),
        ("iris", datasets.load_iris),
        ("diabetes", datasets.load_diabetes),
    ):
        yield name, *load(return_X_y=True), True
    rows, labels = datasets.load_digits(return_X_y=True)
    yield from _pairs("digits", rows / 16, labels, JUDGED_DIGITS)
    yield "digits even/odd", rows / 16, labels % 2, False
    yield from _images(JUDGED_IMAGES)


def _images(pairs: list[tuple[int, int]]) -> Iterator[Table]:
    images = load_fashion_mnist()
    yield from _pairs("Fashion-MNIST", images.images / 255, images.labels, pairs)


def _pairs(
    name: str, rows: np.ndarray, labels: np.ndarray, pairs: list[tuple[int, int]]
) -> Iterator[Table]:
    for pair in pairs:
        places = np.flatnonzero(np.isin(labels, pair))
        kept = np.random.default_rng(0).permutation(places)[:IMAGES]
        yield f"{name} {pair[0]}/{pair[1]}", rows[kept], labels[kept], False


def splits_of(table: Table, count: int) -> Iterator[tuple[Any, ...]]:
    """Yield training rows, test rows and their labels."""
    _, rows, labels, standardise = table
    classes = not is_numbers(labels)
    for seed in range(count):
        train, test, y, z = train_test_split(
            rows, labels, test_size=0.4, random_state=seed, stratify=labels if classes else None
        )
        if standardise:
            scaler = StandardScaler().fit(train)
            train, test = scaler.transform(train), scaler.transform(test)
        yield seed, train, test, y, z


def is_numbers(labels: np.ndarray) -> bool:
    """Return whether labels are numbers to predict, not classes."""
    return len(np.unique(labels)) > 20


def one_step(table: Table) -> partial[Any]:
    """Return our estimator for a data set: with a constant input where features are few."""
    made = OneStepRegressor if is_numbers(table[2]) else OneStepClassifier
    return partial(made, WIDTH, bias=1.0 if table[1].shape[1] < FEW_FEATURES else 0.0)


def methods(table: Table) -> dict[str, Callable[[int], Any]]:
    """Return what is compared, made anew for every split."""
    ours, numbers = one_step(table), is_numbers(table[2])
    linear = RidgeCV if numbers else RidgeClassifierCV
    perceptron = MLPRegressor if numbers else MLPClassifier
    machine: Any = SVR if numbers else SVC
    by_theory = {"ridge": "theory", "learning_rate": "theory"}
    without = {"one step, no bias": lambda s: ours(bias=0.0, random_state=s)}
    return {
        **(without if ours.keywords["bias"] else {}),
        "linear ridge, CV": lambda s: linear(PENALTIES),
        "RBFSampler + ridge, CV": lambda s: GridSearchCV(
            make_pipeline(RBFSampler(n_components=WIDTH, random_state=s), linear(PENALTIES)),
            {"rbfsampler__gamma": [0.002, 0.01, 0.05]},
            cv=3,
        ),
        "MLP, as many neurons": lambda s: perceptron(
            hidden_layer_sizes=(WIDTH,), random_state=s, max_iter=300
        ),
        "SVM, CV": lambda s: GridSearchCV(machine(), {"C": [0.1, 1.0, 10.0, 100.0]}, cv=3),
        "one step, as it comes": lambda s: ours(random_state=s),
        "one step, CV": lambda s: GridSearchCV(ours(random_state=s), GRID, cv=3),
        "one step, half, CV": lambda s: GridSearchCV(
            ours(step_share=0.5, random_state=s), GRID, cv=3
        ),
        "one step, theory": lambda s: ours(**by_theory, random_state=s),
    }


def test_error(estimator: Any, rows: np.ndarray, labels: np.ndarray) -> float:
    """Return misclassification, or the mean square as a share of the labels' variance."""
    return float(1 - estimator.score(rows, labels))


def print_table(tables: Iterator[Table], splits: int) -> None:
    """Print a row per method for every data set."""
    for table in tables:
        print(f"\n{table[0]}: {table[1].shape[0]} rows, {table[1].shape[1]} features")
        for name, make in methods(table).items():
            errors, times = [], []
            for seed, train, test, y, z in splits_of(table, splits):
                start = process_time()
                estimator = make(seed).fit(train, y)
                times.append(process_time() - start)
                errors.append(100 * test_error(estimator, test, z))
            stderr = np.std(errors, ddof=1) / np.sqrt(splits)
            print(
                f"  {name:24s} {np.mean(errors):6.2f} ± {stderr:4.2f} %  {np.mean(times):7.2f} s",
                flush=True,
            )


def print_coverage(tables: Iterator[Table], splits: int) -> None:
    """Print predicted and measured errors, and how often they agree."""
    every, by_rows = [], []
    for table in tables:
        numbers = is_numbers(table[2])
        ours = one_step(table)
        found = []
        for seed, train, test, y, z in splits_of(table, splits):
            model = ours(ridge="theory", learning_rate="theory", random_state=seed).fit(train, y)
            losses = (model.predict(test) - z) ** 2 if numbers else model.predict(test) != z
            unit = 1 / np.var(z) if numbers else 1.0
            share = (np.sum(losses) + 1) / (len(losses) + 2)
            noise = np.std(losses) if numbers else np.sqrt(share * (1 - share))
            parts = (
                model.predicted_error_,
                model.predicted_error_stderr_,
                np.mean(losses),
                noise / np.sqrt(len(losses)),
                model.held_out_error_,
            )
            found.append(100 * unit * np.array(parts))
        predicted, stderr, measured, noise, held_out = np.mean(found, axis=0)
        f = np.array(found)
        distance = np.abs(f[:, 0] - f[:, 2]) / np.hypot(f[:, 1], f[:, 3])
        every.append(distance)
        by_rows.append(f[:, [0, 4]] - f[:, [2]])
        print(
            f"{table[0]:20s} predicted {predicted:6.2f} ± {stderr:5.2f} %, measured "
            f"{measured:6.2f} ± {noise:4.2f} %, held out {held_out:6.2f} %; within 1: "
            f"{np.mean(distance < 1):.2f}, within 2: {np.mean(distance < 2):.2f}",
            flush=True,
        )
    all_distances, differences = np.concatenate(every), np.concatenate(by_rows)
    print(
        f"all {len(all_distances)} fits: within one standard error {np.mean(all_distances < 1):.2f}"
        f", within two {np.mean(all_distances < 2):.2f}; median |predicted − measured| "
        f"{np.median(np.abs(differences[:, 0])):.2f} points, of held-out rows "
        f"{np.median(np.abs(differences[:, 1])):.2f}; mean {differences[:, 0].mean():+.2f} and "
        f"{differences[:, 1].mean():+.2f}"
    )


def main() -> None:
    """Run the part that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("table", "coverage"))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--only", nargs="+", help="beginnings of names of data sets")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    names = tuple(given.only or ("",))
    tables = (table for table in judged() if table[0].startswith(names))
    if given.part == "table":
        print_table(tables, given.splits or 3)
    else:
        print_coverage(tables, given.splits or 2)


if __name__ == "__main__":
    main()
