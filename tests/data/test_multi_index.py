"""Teachers of several directions: links, Hermite tensors, leaps, the first step's direction."""

import warnings
from itertools import product

import numpy as np
import pytest

from onegrad import Component, InvalidInput, MixtureSource, MultiIndex, Problem, register_function
from onegrad.calculus import functions
from onegrad.calculus.function import GRID, gauss_hermite
from onegrad.data import staircase as module
from onegrad.data.staircase import first_direction, hermite_tensor, leap_index, staircase

POINTS = np.linspace(-3, 3, 31)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("z", lambda z: z),
        ("4*z+z**2", lambda z: 4 * z + z**2),
        ("-z^3/2 - 1", lambda z: -(z**3) / 2 - 1),
        ("He4/24 + He2/2 + He1", lambda z: (z**4 - 6 * z**2 + 3) / 24 + (z**2 - 1) / 2 + z),
        ("relu(z - 0.5)", lambda z: np.maximum(z - 0.5, 0)),
        ("tanh(2*z)*z", lambda z: np.tanh(2 * z) * z),
        ("abs(z)", np.abs),
        ("3", lambda z: 3 + 0 * z),
        ("hermite:2", lambda z: z**2 - 1),
        ("relu", lambda z: np.maximum(z, 0)),
    ],
)
def test_links_are_what_they_say(text, function):
    assert functions.get(text)(POINTS) == pytest.approx(function(POINTS), abs=1e-12)


def test_kinks_of_formulas_are_found_so_that_expectations_are_exact():
    """E[z·relu(z − ½)] = P(z > ½) and E[z²·|z² − 1|] by the normal integral."""
    from scipy.special import ndtr

    assert first_direction(MultiIndex(links=["relu(z-0.5)"]))[0] == pytest.approx(
        ndtr(-0.5), abs=1e-12
    )
    assert functions.get("abs(z**2-1)").kinks == pytest.approx((-1, 1))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("1/(z-z)", "divides by z - z, which is zero near z = -12"),
        ("z**0.5", "is not a finite number"),
        ("1/z", "divides by z, which is zero near z = 0"),
        ("1/(z-0.05)", "divides by z - 0.05"),
        ("1/(z-0.033)", "divides by z - 0.033"),
        ("1/(z-0.0333)**2", "divides by"),
        ("(81-z**2)**0.5*z", "is not a finite number at z = -12"),
        ("1or z", "does not understand"),
        ("log(z)", "does not understand"),
        ("w+1", "does not know 'w'"),
        ("z**z", "as power"),
        ("z**99", "as power"),
        ("__import__('os')", "does not understand"),
        ("z.real", "does not understand"),
        ("(" * 150 + "z" + ")" * 150, "formula of up to"),
        ("z +", "is not a formula"),
        ("", "must be a name"),
        (3, "must be a name, a formula or a callable"),
    ],
)
def test_bad_links_are_one_line(link, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        MultiIndex(links=[link])
    assert "\n" not in str(raised.value)


def test_callables_are_links_and_nan_is_refused():
    def cubed(z):
        return z**3

    teacher = MultiIndex(links=[cubed, "z"], combine="sum")
    assert teacher.links == ("cubed", "z")
    assert first_direction(teacher) == pytest.approx([3, 1])
    with pytest.raises(InvalidInput, match="is not a finite number at z = -12"):
        MultiIndex(links=[np.log1p])
    with pytest.raises(InvalidInput, match="values of its shape"):
        register_function("short", lambda z: z[:2])
    with pytest.raises(InvalidInput, match="use numpy functions"):
        register_function("scalar", lambda z: float(z))
    with pytest.raises(InvalidInput, match="is built in"):
        register_function("tanh", np.tanh)
    with pytest.raises(InvalidInput, match="pass the text 'tanh'"):
        MultiIndex(links=[np.tanh])
    with pytest.raises(InvalidInput, match="complex"):
        MultiIndex(links=[lambda z: np.sqrt(z + 0j)])
    for kinks in ((np.nan,), "a", [[0.0]]):
        with pytest.raises(InvalidInput, match="kinks="):
            register_function("bent", np.cos, kinks=kinks)


def test_two_callables_are_never_the_same_link_by_name():
    teacher = MultiIndex(links=[lambda z: z, lambda z: z**2], combine="sum")
    assert len(set(teacher.links)) == 2
    assert all(name.startswith("link_") for name in teacher.links)
    assert hermite_tensor(teacher, 2) == pytest.approx(np.diag([0, 2]), abs=1e-9)
    again = MultiIndex(links=[lambda z: z])
    assert again.links == teacher.links[:1]  # the same values have the same name

    def powered(power):
        def shared_name(z):
            return z**power

        return shared_name

    named = MultiIndex(links=[powered(1)])
    renamed = MultiIndex(links=[powered(3)])
    assert named.links == ("shared_name",)
    assert renamed.links != named.links
    assert renamed.links[0].startswith("shared_name_")
    assert first_direction(named) == pytest.approx([1])
    assert first_direction(renamed) == pytest.approx([3])
    register_function("shared_name", powered(2))  # whoever registers again replaces
    assert first_direction(MultiIndex(links=["shared_name"])) == pytest.approx([0], abs=1e-9)
    smooth, bent = powered(2), register_function("bent_once", powered(2), kinks=(0.0,))
    assert register_function("smooth", smooth).fingerprint() != bent.fingerprint()


def test_a_callable_that_writes_into_its_argument_spoils_nothing():
    def doubles_in_place(z):
        z *= 2
        return z

    before = GRID.copy()
    assert first_direction(MultiIndex(links=[doubles_in_place])) == pytest.approx([2])
    assert np.array_equal(GRID, before)


def test_a_formula_of_a_registered_activation_follows_it(monkeypatch):
    entries = dict(functions.FUNCTIONS.entries)
    monkeypatch.setattr(functions.FUNCTIONS, "entries", entries)
    marks = []
    for scale in (1.0, 2.0):
        functions.register_function("tuned", lambda z, s=scale: s * z, lambda z, s=scale: s + 0 * z)
        teacher = MultiIndex(links=["tuned(z) + z"])
        assert first_direction(teacher) == pytest.approx([scale + 1])
        marks.append(functions.fingerprint("tuned(z) + z"))
    assert None not in marks
    assert marks[0] != marks[1]
    assert functions.fingerprint("tanh(z) + z") is None
    assert functions.fingerprint("tanh") is None


def test_python_s_notes_on_a_formula_are_not_shown():
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        with pytest.raises(InvalidInput):
            MultiIndex(links=["1or z"])
    assert noted == []


TEACHERS = [
    MultiIndex(links=["z+z**2", "z-z**2"]),
    MultiIndex(links=["4*z+z**2", "z"], combine="sum"),
    MultiIndex(links=["z+1", "z**2", "z**3-z"], combine="product"),
    MultiIndex(links=["z", "z+2", "z**2"], combine="staircase"),
]


def definition(teacher, projections):
    """The label without noise, as it is written."""
    parts = [functions.get(name)(projections[:, i]) for i, name in enumerate(teacher.links)]
    if teacher.combine == "product":
        return np.prod(parts, axis=0)
    if teacher.combine == "staircase":
        return np.sum(np.cumprod(parts, axis=0), axis=0)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / teacher.rank if teacher.combine == "mean" else total


@pytest.mark.parametrize("teacher", TEACHERS)
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_hermite_tensors_agree_with_quadrature_in_all_variables(teacher, degree):
    nodes, weights = gauss_hermite(12)
    grid = np.array(list(product(nodes, repeat=teacher.rank)))
    measure = np.array([np.prod(w) for w in product(weights / weights.sum(), repeat=teacher.rank)])
    values = definition(teacher, grid) * measure
    tensor = hermite_tensor(teacher, degree)
    for place in product(range(teacher.rank), repeat=degree):
        powers = [place.count(i) for i in range(teacher.rank)]
        factors = [
            np.polynomial.hermite_e.hermeval(grid[:, i], [0] * k + [1])
            for i, k in enumerate(powers)
        ]
        assert tensor[place] == pytest.approx(values @ np.prod(factors, axis=0), abs=1e-9)


def test_the_first_direction_is_the_published_sum():
    assert first_direction(MultiIndex(links=["4*z+z**2", "z"])) == pytest.approx([2, 0.5])
    assert first_direction(MultiIndex(links=["He2", "He3"])) == pytest.approx([0, 0])


@pytest.mark.parametrize(
    ("fields", "index", "dimensions"),
    [
        ({"links": ["z"]}, 1, [1]),
        ({"links": ["He2"]}, 2, [1]),
        ({"links": ["He3"]}, 3, [1]),
        ({"links": ["z+z**2", "z-z**2"]}, 1, [1, 2]),
        ({"links": ["z", "He2"]}, 2, [1, 2]),
        ({"links": ["z", "z"]}, 1, [1]),  # z_1 + z_2 has one direction
        ({"links": ["z", "z", "z"], "combine": "staircase"}, 1, [1, 2, 3]),
        ({"links": ["z", "z", "z"], "combine": "product"}, 3, [3]),
        ({"links": ["z", "He2", "z"], "combine": "staircase"}, 2, [1, 2, 3]),
        ({"links": ["He4/24+He2/2+He1"] * 2}, 2, [1, 2]),  # even in z_1 − z_2
        ({"links": ["5"]}, 0, []),
        ({"links": ["5", "0"], "combine": "product"}, 0, []),
        # Sizes do not matter.
        ({"links": ["1e10*He3"]}, 3, [1]),
        ({"links": ["1e-8*z"]}, 1, [1]),
        ({"links": ["1e200*z"]}, 1, [1]),
        ({"links": ["1e8 + z"]}, 1, [1]),
        ({"links": ["3e9*z", "7.1e9*z"], "combine": "sum"}, 1, [1]),
        ({"links": ["1e-9*z", "1e-9*He2"]}, 2, [1, 2]),
        ({"links": ["1e200*z", "1e200*He2"], "combine": "product"}, 3, [2]),
        ({"links": ["z**30"]}, 2, [1]),
        # Nothing is left out: z_1 + z_2 is one direction, the tail of tanh is along its own.
        ({"links": ["z", "z", "tanh"]}, 1, [1, 2]),
        ({"links": ["tanh", "5"]}, 1, [1]),
        # Beyond degree 6 there is more than tensors show.
        ({"links": ["He7"]}, None, []),
        ({"links": ["1e8 + He7"]}, None, []),
        ({"links": ["He15"]}, None, []),
        ({"links": ["He20"]}, None, []),
        ({"links": ["He30"]}, None, []),
        ({"links": ["z", "He7"]}, None, [1]),
        ({"links": ["He3", "He2", "He2"], "combine": "product"}, None, []),
        ({"links": ["He2", "He2", "He2"], "combine": "product"}, 6, [3]),
        ({"links": ["z", "He7"], "combine": "staircase"}, None, [1]),
        # More links than a dense tensor of degree 6 can have.
        ({"links": ["z", *["He2"] * 11], "combine": "sum"}, 2, [1, 12]),
        ({"links": ["z"] * 12, "combine": "sum"}, 1, [1]),
        ({"links": ["He6", *["z"] * 11], "combine": "sum"}, 6, [1, 2]),
        ({"links": ["z"] * 12, "combine": "product"}, None, []),
        ({"links": ["z"] * 12, "combine": "staircase"}, None, [1, 2, 3, 4, 5]),
    ],
)
def test_leap_indices_of_known_targets(fields, index, dimensions):
    teacher = MultiIndex(**fields)
    assert leap_index(teacher) == index
    assert [basis.shape[1] for basis in staircase(teacher).subspaces] == dimensions


def test_a_link_without_linear_part_has_no_first_direction_at_any_size():
    for link in ("He30", "He20", "z**30", "1e10*He3", "5e12"):
        assert first_direction(MultiIndex(links=[link])) == pytest.approx([0], abs=0)
    assert first_direction(MultiIndex(links=["1e-8*z"])) == pytest.approx([1e-8])
    assert first_direction(MultiIndex(links=["1e160*z"])) == pytest.approx([1e160])


def test_many_links_of_a_sum_climb_as_dense_tensors_do(monkeypatch):
    teacher = MultiIndex(links=["z+z**2", "z-z**2", "He2", "He4+He3", "tanh"], combine="sum")
    dense = staircase(teacher)
    monkeypatch.setattr(module, "MOST_ENTRIES", 4)
    sparse = staircase(teacher)
    assert (sparse.leaps, sparse.degree, sparse.complete) == (dense.leaps, 6, True)
    for basis, expected in zip(sparse.subspaces, dense.subspaces, strict=True):
        assert basis @ basis.T == pytest.approx(expected @ expected.T, abs=1e-9)
        assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]), abs=1e-14)


def test_the_degree_that_was_looked_at_is_said():
    many = staircase(MultiIndex(links=["z"] * 12, combine="product"))
    assert many.degree == 5
    assert not many.complete
    assert staircase(MultiIndex(links=["He7"]), degree=7).index == 7


@pytest.mark.parametrize("degree", [2.5, 0, 20, True, None])
def test_bad_degrees_are_one_line(degree):
    with pytest.raises(InvalidInput, match="degree="):
        leap_index(MultiIndex(), degree=degree)


def test_coefficients_that_overflow_are_refused():
    for combine in ("product", "staircase"):
        teacher = MultiIndex(links=["1e200*z", "1e200*z"], combine=combine)
        with pytest.raises(InvalidInput, match="Hermite coefficients are not finite"):
            hermite_tensor(teacher, 2)
    with pytest.raises(InvalidInput, match="Hermite coefficients are not finite"):
        staircase(MultiIndex(links=["1e200*z", "1e200*z"], combine="staircase"))


def test_the_leap_index_does_not_depend_on_the_basis():
    """z_1² − z_2² = 2uv with u, v turned by 45°: when u is known, v is one leap away."""
    turned = staircase(MultiIndex(links=["z+z**2", "z-z**2"]))
    assert turned.leaps == (1, 1)
    assert np.abs(turned.subspaces[0][:, 0]) == pytest.approx([0.5**0.5] * 2)


def drawn(teacher, dimension=40, seed=0):
    population = MixtureSource(components=(Component(rank=0),)).draw(
        dimension, 1.0, np.random.default_rng(5)
    )
    return teacher.draw(population, 1.0, np.random.default_rng(seed))


@pytest.mark.parametrize("combine", ["mean", "sum", "product", "staircase"])
def test_directions_are_orthogonal_and_the_labels_follow(combine):
    description = MultiIndex(links=["z", "tanh", "z**2"], combine=combine, noise=0.5, norm=2.0)
    teacher = drawn(description)
    assert teacher.directions.T @ teacher.directions == pytest.approx(4 * np.eye(3), abs=1e-12)
    projections = np.random.default_rng(1).standard_normal((4000, 3))
    noisy = teacher.labels(projections, 0, np.random.default_rng(2))
    noise = np.random.default_rng(2).standard_normal(4000)
    assert np.array_equal(noisy, definition(description, projections) + 0.5 * noise)
    assert teacher.noise == 0.5


def test_directions_are_drawn_one_after_the_other():
    """More links leave the first directions as they are."""
    two, three = (drawn(MultiIndex(links=["z"] * rank, combine="sum")) for rank in (2, 3))
    assert np.array_equal(three.directions[:, :2], two.directions)


def test_one_link_is_the_teacher_of_one_direction():
    for combine in ("mean", "sum", "product", "staircase"):
        assert drawn(MultiIndex(links=["relu"], combine=combine)).link is functions.get("relu")


@pytest.mark.parametrize(("directions", "place"), [("spikes", 0), ("last_spikes", 2)])
def test_a_direction_along_the_spikes(directions, place):
    source = MixtureSource(components=(Component(rank=2),))
    population = source.draw(30, 1.0, np.random.default_rng(0))
    description = MultiIndex(links=["z", "z**2", "tanh"], directions=directions)
    columns = description.draw(population, 1.0, np.random.default_rng(1)).directions
    assert columns.T @ columns == pytest.approx(np.eye(3), abs=1e-12)
    spikes = population.spike_sum / np.linalg.norm(population.spike_sum)
    assert columns[:, place] == pytest.approx(spikes)
    with pytest.raises(InvalidInput, match=f'directions="{directions}": the data have no spikes'):
        Problem(dimension=30, data={"components": [{"rank": 0}]}, teacher=description)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"links": ["z"] * 4}, "4 directions, must be at most dimension=3"),
        ({"links": ["z"], "directions": np.eye(3)}, r"has shape \(3, 3\)"),
        ({"links": ["z"], "directions": "spike"}, 'must be "random", "spikes"'),
        ({"links": ["z"], "directions": np.ones((3, 1))}, "orthonormal columns"),
        ({"links": ["z"], "norm": 0.0}, "norm=0.0: must be greater than 0"),
        ({"links": ["z"], "link": "z"}, "no such field; did you mean 'links'"),
    ],
)
def test_bad_teachers_are_one_line(fields, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        Problem(dimension=3, readout={"samples": 5}, teacher=fields)
    assert "\n" not in str(raised.value)


def test_tensors_know_the_length_of_directions():
    """E[(2z)² H_2(z)] = 8, and a kink moves with the length."""
    assert hermite_tensor(MultiIndex(links=["z**2"], norm=2.0), 2).item() == pytest.approx(8)
    longer = first_direction(MultiIndex(links=["relu(z-1)"], norm=2.0))
    assert longer == pytest.approx(first_direction(MultiIndex(links=["relu(2*z-1)"])))


def test_a_tensor_of_high_degree_is_symmetric_and_takes_no_factorial_of_time():
    """12! permutations of one entry would take minutes."""
    tensor = hermite_tensor(MultiIndex(links=["z+1", "z**11"], combine="product"), 12)
    assert tensor.shape == (2,) * 12
    value = tensor[(0,) + (1,) * 11]
    assert value == pytest.approx(39916800)  # E[z H_1] E[z¹¹ H_11] = 11!
    assert np.count_nonzero(tensor) == 12
    assert tensor[(1,) * 11 + (0,)] == value
    assert np.array_equal(tensor, np.moveaxis(tensor, 0, 7))


def test_tensors_have_a_largest_degree():
    with pytest.raises(InvalidInput, match="at most 12"):
        hermite_tensor(MultiIndex(links=["z"]), 13)
    with pytest.raises(InvalidInput, match="entries"):
        hermite_tensor(MultiIndex(links=["z"] * 11), 6)
