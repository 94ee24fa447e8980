"""Mutants: faults planted one at a time in a copy of the source, each of which a test must notice.

    python benchmarks/mutants.py [--all-tests] [NAME ...]

A mutant is a line of text that occurs once in src/onegrad ("-", in any layout) and its replacement
("+"), and is found by that text, so that files may move. Beside its name is the test that notices
it, found by its own name. Names on the command line are parts of mutants' names. `--all-tests` runs
the whole suite on every mutant. The exit code is 1 if a mutant survives or is not found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__", ".*_cache")
VERDICTS = {0: "survived", 1: "killed"}  # by the exit code of pytest

TABLE = """
shift of exact counts: test_a_solution_satisfies_its_equations
- response.solve(force / share) / self.samples
+ response.solve(force / share)
error of ridge: test_the_reduction_is_the_dense_algebra
- law.variance - 2 * law.label
+ law.variance + 2 * law.label
means of convex losses: test_logistic_regression_on_gaussian_inputs_is_the_published_one
- centre - f.mean), projection=-p * f.pull
+ centre - f.mean), projection=p * f.pull
covariance of two outputs: test_three_classes_are_those_of_simulation
- own[j] - own[other]) / 2
+ own[j] - own[other])
covariance with the label: test_the_square_loss_is_a_convex_loss_of_its_own
- / root - types.label_mean * mean
+ / root + types.label_mean * mean
trace of a low-rank resolvent: test_the_reduction_is_the_dense_algebra
- - 2 * float(np.sum(weight * cross))
+ - float(np.sum(weight * cross))
limit at the maximal rate: test_the_limit_agrees_with_its_simulation_and_the_correction_matters
- 2 * f.slope * state.psi * h1
+ f.slope * state.psi * h1
label off the spikes: test_types_agree_with_simulation
- rest = xi - basis @ (basis.T @ xi)
+ rest = xi + basis @ (basis.T @ xi)
labels of types: test_types_agree_with_simulation
- label - labels.means[:, None] * means
+ label + labels.means[:, None] * means
equivalent: test_the_solution_satisfies_its_equations
- gamma - gamma @ linear @ gamma
+ gamma + gamma @ linear @ gamma
response to samples: test_the_response_is_that_of_dense_algebra
- np.sqrt(grid.groups[:, j] * k / grid.bulk)
+ np.sqrt(grid.groups[:, j] / grid.bulk)
noise of a small batch: test_loads_after_a_step_on_a_small_batch_vary_as_drawn
- - setting.row_variance * ratio * lost
+ + setting.row_variance * ratio * lost
length of trained rows: test_the_limit_is_met_while_the_step_s_batch_spans_all_directions
- scale = 1 + rows.om * (
+ scale = 1 - rows.om * (
power of residuals: test_drawn_steps_have_the_moments_of_the_law
- features.square / setting.neurons
+ features.square
output of convex losses: test_the_square_loss_as_a_convex_one_is_ridge_regression
- -p * f.pull * self.read
+ p * f.pull * self.read
exact counts in closed theory: test_the_norm_is_the_derivative_of_the_objective
- dressed = vectors - reach @
+ dressed = vectors + reach @
fourth moment of labels: test_noise_signs_and_flips_have_their_powers
- powers[4] += 6 * variance * powers[2]
+ powers[4] += 3 * variance * powers[2]
free cumulants: test_groups_are_the_spectrum_of_a_drawn_batch
- ratio ** (p - 1) * float(w @ d**p)
+ ratio**p * float(w @ d**p)
error at a point: test_the_square_loss_as_a_convex_one_is_ridge_regression
- - 2 * h1 * fit.covariance
+ - h1 * fit.covariance
pairs of neurons: test_blocks_of_neurons_add_up_for_widths_beyond_one_tile
- block if rows == columns else 2 * block
+ block
series of label moments: test_exact_error_equals_the_dense_definition
- range(order - 1, -1, -1)
+ range(order - 1, 0, -1)
joint series: test_label_moments_are_those_of_samples
- np.exp(0.5 * (gammaln(degrees + 1)
+ np.exp((gammaln(degrees + 1)
exact test error: test_exact_error_equals_the_dense_definition
- - 2 * cross / np.sqrt(len(weights))
+ - cross / np.sqrt(len(weights))
error of classes: test_exact_and_sampled_errors_agree
- error -= 2 * own[:, None]
+ error += 2 * own[:, None]
dual readout: test_primal_and_dual_equal_the_normal_equations
- shifts * solution if dual
+ penalties * solution if dual
gradient step: test_step_direction_equals_finite_differences_of_the_loss
- total *= (scaled / samples)[:, None]
+ total *= scaled[:, None]
linear part by moments: test_the_linear_part_is_estimated_on_the_step_s_batch_alone
- mean[1:] - mean[0] * sums / samples
+ mean[1:]
stream of test points: test_step_training_and_test_sets_have_no_row_in_common
- TEST_DATA = 4
+ TEST_DATA = 3
stream of labels: test_the_noise_of_labels_is_independent_of_the_inputs
- generator(self.stream, *self.names, "labels")
+ generator(self.stream, *self.names)
digest: test_the_order_of_keys_does_not_matter_and_values_do
- sort_keys=True, separators
+ sort_keys=False, separators
expectations with kinks: test_relu_closed_forms_equal_quadrature_split_at_the_kink
- (kink - means) / deviations
+ (kink + means) / deviations
quadrature in panels: test_each_side_of_a_cut_is_exact_to_its_own_degree
- weights.append(share * w)
+ weights.append(w)
Hermite polynomials: test_parseval_holds
- np.sqrt(degree) * out[degree - 1]
+ degree * out[degree - 1]
label given the output: test_expectations_are_those_of_draws
- product - outputs.projection * slope
+ product + outputs.projection * slope
slope of a loss: test_the_derivative_is_the_slope_of_the_value
- return -y * expit(-y * u)
+ return y * expit(-y * u)
proximal point: test_no_point_is_better_than_the_proximal_point
- (t - margin - gamma * below)
+ (t - margin + gamma * below)
update rule: test_the_whitened_rule_is_the_dense_formula
- total /= samples
+ total /= dimension
teacher of several directions: test_hermite_tensors_agree_with_quadrature_in_all_variables
- np.cumprod(values)[first:]
+ np.cumprod(values)[first + 1 :]
colour of a mixture: test_sample_moments_agree_within_their_standard_errors
- (np.sqrt(self.level + self.strengths) - root)
+ np.sqrt(self.level + self.strengths)
"""


class Mutant(NamedTuple):
    """A fault: the text that is replaced, its replacement, and the test that notices it."""

    name: str
    old: str
    new: str
    test: str


def listed(table: str) -> list[Mutant]:
    """Return the mutants of a table, three lines each."""
    lines = table.strip().splitlines()
    records = zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    return [
        Mutant(head.partition(": ")[0], old[2:], new[2:], head.partition(": ")[2])
        for head, old, new in records
    ]


MUTANTS = listed(TABLE)


def python_files(folder: Path) -> dict[Path, str]:
    """Return the text of every Python file below a folder."""
    return {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}


def squeezed(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def planted(text: str, mutant: Mutant) -> str:
    """Return the text of a file with the fault in it."""
    layout = r"\s*".join(re.escape(letter) for letter in squeezed(mutant.old))
    return re.sub(layout, lambda _: mutant.new, text)


def nodes_of(test: str, tests: dict[Path, str]) -> list[str]:
    """Return what pytest calls a test, in every file that defines it."""
    defined = re.compile(rf"^def {test}\(", re.MULTILINE)
    return [f"{path}::{test}" for path, text in tests.items() if defined.search(text)]


def exit_code(folder: Path, *chosen: str) -> int:
    """Return how the tests of a copy end: the first failure is enough."""
    # No bytecode: a fault of the same length within a second would not be noticed.
    paths = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *chosen], cwd=folder, env=os.environ | paths, capture_output=True, check=False
    )
    return done.returncode


def verdict(mutant: Mutant, folder: Path, *, all_tests: bool) -> str:
    """Return whether the tests of the copy notice a mutant, which is then taken out again."""
    files = python_files(folder / "src" / "onegrad")
    old = squeezed(mutant.old)
    places = [path for path, text in files.items() for _ in range(squeezed(text).count(old))]
    nodes = nodes_of(mutant.test, python_files(folder / "tests"))
    if len(places) != 1 or not nodes:
        return "not found"
    places[0].write_text(planted(files[places[0]], mutant), "utf-8")
    code = exit_code(folder, *([] if all_tests else ["-n", "0", *nodes]))
    places[0].write_text(files[places[0]], "utf-8")
    return VERDICTS.get(code, f"pytest ended with {code}")


def main() -> None:
    """Print what becomes of every mutant."""
    all_tests = "--all-tests" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--all-tests"]
    chosen = [m for m in MUTANTS if not names or any(name in m.name for name in names)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(ROOT, Path(scratch) / "copy", ignore=LEFT_OUT))
        tests = python_files(folder / "tests")
        nodes = [node for mutant in chosen for node in nodes_of(mutant.test, tests)]
        if exit_code(folder, *([] if all_tests else ["-n", "0", *dict.fromkeys(nodes)])):
            sys.exit("the tests fail without a mutant")
        killed = 0
        for mutant in chosen:
            start = time.perf_counter()
            found = verdict(mutant, folder, all_tests=all_tests)
            killed += found == "killed"
            print(f"{found:10} {time.perf_counter() - start:6.1f} s  {mutant.name}", flush=True)
    print(f"{killed} of {len(chosen)} mutants are killed")
    sys.exit(killed < len(chosen))


if __name__ == "__main__":
    main()
