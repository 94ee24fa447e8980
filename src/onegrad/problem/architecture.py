"""The network's description: width, activation, second layer."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from onegrad.calculus import functions
from onegrad.describe.fields import Count, Flag, Positive, Text, control
from onegrad.describe.value import Value

ActivationName = Annotated[Text, AfterValidator(lambda name: functions.get_activation(name).name)]


class Network(Value):
    """A two-layer network ŷ = wᵀσ(Fx)/√k with `width` neurons, or width_ratio × samples.

    `second_layer`: w_i ~ N(0, 1/k), ±1/√k at random, or 1/√k. `normalise_rows` scales the rows
    of the initial F to norm 1; otherwise F_ij ~ N(0, 1/Tr Σ).
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "width": ("width_ratio",),
        "width_ratio": ("width",),
    }

    width: Count | None = Field(
        default=None,
        description="Neurons k, in place of the ratio.",
        json_schema_extra=control(
            label="Neurons",
            symbol="k",
            sentence="How many neurons the network has.",
            low=50,
            high=10_000,
        ),
    )
    width_ratio: Positive | None = Field(
        default=None,
        description="Neurons per sample, k/m; 1.",
        json_schema_extra=control(
            label="Neurons per sample",
            symbol="k/m",
            sentence="How wide the network is, over the samples of its readout.",
            low=0.1,
            high=5,
            scale="log",
            main=True,
        ),
    )
    activation: ActivationName = Field(
        default="relu",
        description="Activation σ: a name or a formula such as max(u, 0.1*u).",
        json_schema_extra=control(
            label="Activation",
            symbol="σ",
            sentence="The function of a neuron: a name, or a formula such as max(u, 0.1*u).",
            names="functions",
            main=True,
        ),
    )
    second_layer: Literal["gaussian", "sign", "constant"] = Field(
        default="gaussian",
        description="w_i: N(0, 1/k), ±1/√k, or 1/√k.",
        json_schema_extra=control(
            label="Second layer", symbol="w", sentence="How the second layer starts."
        ),
    )
    normalise_rows: Flag = Field(
        default=False,
        description="Rows of the initial F have norm 1.",
        json_schema_extra=control(
            label="Rows of length 1", sentence="Every neuron starts with weights of length 1."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _default_width(cls, fields: Any) -> Any:
        """Write the default ratio out, so that a saved problem says what it used."""
        if isinstance(fields, dict) and all(
            fields.get(name) is None for name in ("width", "width_ratio")
        ):
            return {**fields, "width_ratio": 1.0}
        return fields

    @model_validator(mode="after")
    def _one_width(self) -> Network:
        if self.width is not None and self.width_ratio is not None:
            raise ValueError(
                f"width={self.width} and width_ratio={self.width_ratio}: must not be given "
                "together; remove one"
            )
        return self
