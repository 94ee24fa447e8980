"""What a run of giant steps takes."""

from __future__ import annotations

from onegrad.machine.rates import Rates
from onegrad.steps.steps_problem import StepsProblem


def work(problem: StepsProblem, rates: Rates | None = None) -> float:
    """Return about how many floating-point operations a run takes, or seconds at these rates."""
    d, p, steps = problem.dimension, problem.width, problem.steps
    batch, readout, test = problem.batch_size, problem.readout_size, problem.test_samples
    linear = problem.subtract == "linear"
    side, records = min(p, d), steps + 1
    products = steps * (4.0 * p * d * batch + 4.0 * p * d * side)
    products += records * (2.0 * p * d * (readout + test) + 1.0 * p * p * readout)
    # The linear part is found once for every batch; a fresh readout has one of its own.
    estimated = linear * (steps * batch + (readout if problem.readout == "fresh" else 0))
    products += 1.0 * d * d * estimated
    reductions = records * 4 / 3 * p**3 + 2 * steps * 4 / 3 * side**3
    if rates is None:
        return products + 4 * reductions
    drawn = d * (steps * batch + records * (readout + test) + estimated)
    elements = 2.0 * p * (2 * steps * batch + records * (readout + test))
    return (
        products / rates.product
        + reductions / rates.reduction
        + drawn / rates.normal
        + elements / rates.element
    )
