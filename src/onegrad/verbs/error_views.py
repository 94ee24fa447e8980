"""Views of errors: those of some models, and a labelled data set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onegrad.describe.checks import is_list, listed, one_of
from onegrad.describe.extras import require_extra
from onegrad.describe.paths import last_words
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
    require_extra("to_xarray", "xarray")
    import xarray

    axes = dict(errors.axes)
    plain = last_words(list(axes))
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
