"""The mutants of benchmarks/mutants.py can be planted: their texts and their tests are there."""

import sys
from pathlib import Path

import pytest

import onegrad

TESTS = Path(__file__).parent


@pytest.fixture
def mutants(monkeypatch):
    monkeypatch.syspath_prepend(TESTS.parent / "benchmarks")
    import mutants

    yield mutants
    del sys.modules["mutants"]


def test_every_mutant_occurs_once_in_the_source_and_has_a_test(mutants):
    source = mutants.python_files(Path(onegrad.__file__).parent)
    together = "\n".join(map(mutants.squeezed, source.values()))
    tests = mutants.python_files(TESTS)
    for mutant in mutants.MUTANTS:
        assert together.count(mutants.squeezed(mutant.old)) == 1, mutant.name
        assert mutants.nodes_of(mutant.test, tests), mutant.name
