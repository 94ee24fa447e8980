"""Views of errors: those of some models, and a labelled data set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onegrad.describe.checks import is_list, listed, one_of
from onegrad.describe.exceptions import InvalidInput
from onegrad.models.model import Model
from onegrad.models.resolve import parse_model

if TYPE_CHECKING:
    import xarray

    from onegrad.verbs.errors import Errors


def errors_of(errors: Errors, wanted: object) -> Errors:
    """Return the errors of one model by its name, or of several by a list of names."""
    known = [model.name for model in errors.models]
    asked = listed("models", wanted) if is_list(wanted) else [wanted]
    places = [known.index(one_of("models", name, known)) for name in asked]
    return replace(
        errors,
        models=tuple(errors.models[place] for place in places),
        metrics={name: values[:, places] for name, values in errors.metrics.items()},
    )


def errors_dataset(errors: Errors) -> xarray.Dataset:
    """Return a variable per metric over trial, model, (step, samples,) ridge.

    A curve over a field has the last word of its path as dimension: `strength` for
    "scaling.strength". Lists and descriptions along it become texts.
    """
    try:
        import xarray
    except ImportError:
        raise InvalidInput("xarray: is not installed; pip install 'onegrad[xarray]'") from None
    axes = dict(errors.axes)
    names = {name: name.rpartition(".")[2] for name in axes}
    plain = {n: n if list(names.values()).count(short) > 1 else short for n, short in names.items()}
    return xarray.Dataset(
        {name: (list(plain.values()), values) for name, values in errors.metrics.items()},
        coords={plain[name]: [_label(value) for value in axes[name]] for name in axes},
        attrs={
            "problem": errors.problem.digest,
            "seed": errors.seed,
            "verb": "predict" if errors.predicted else "simulate",
        },
    )


def _label(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)


def kept_models(models: tuple[Model, ...]) -> tuple[tuple[str, int | None], ...]:
    """Return what a file keeps of models: names, and degrees that the names may not tell."""
    return tuple((model.name, model.degree) for model in models)


def models_from_kept(kept: tuple[tuple[str, int | None], ...]) -> tuple[Model, ...]:
    """Return the models of names and degrees."""
    return tuple(parse_model(name, theorem_degree=degree or 0) for name, degree in kept)
