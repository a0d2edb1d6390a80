"""Generative models written as text, such as ``"mixture(n_components=3)"``."""

from __future__ import annotations

import ast
import inspect
from typing import Any, NamedTuple

from mercer.exceptions import InvalidParameter

NAMES = {
    "mixture": ("mercer.generative.mixture", "GaussianMixture"),
    "hmm": ("mercer.generative.hidden_markov", "HiddenMarkovModel"),
}


def read_model(text: str) -> Any:
    """Return the unfitted model that a text describes; nothing is evaluated but plain values."""
    from importlib import import_module

    name, parameters = _parts(text)
    module, cls = NAMES[name]
    model = getattr(import_module(module), cls)
    unknown = set(parameters) - set(inspect.signature(model).parameters)
    if unknown:
        raise InvalidParameter(
            f"model={text!r}: {cls} has no parameter {min(unknown)!r}. It has "
            f"{', '.join(inspect.signature(model).parameters)}."
        )
    made = model(**parameters)
    try:
        made.check_parameters()
    except ValueError as error:
        raise InvalidParameter(f"model={text!r}: {error}") from None
    return made


class ModelInput(NamedTuple):
    """What a model takes, known before it is made."""

    takes: str
    time: str


def form_of(text: str) -> ModelInput:
    """Return what the model that a text describes takes."""
    name, parameters = _parts(text)
    if name == "mixture":
        return ModelInput("vectors", "last")
    series = parameters.get("emissions", "gaussian") == "gaussian"
    return ModelInput("series" if series else "strings", str(parameters.get("time", "last")))


def _parts(text: str) -> tuple[str, dict[str, Any]]:
    try:
        call: Any = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name):
            name, parameters = call.id, {}
        else:
            name = call.func.id
            parameters = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            if call.args:
                raise ValueError
    except (SyntaxError, ValueError, AttributeError, TypeError, MemoryError, RecursionError):
        raise _not_a_model(text) from None
    if name not in NAMES:
        raise _not_a_model(text)
    return name, parameters


def _not_a_model(text: str) -> InvalidParameter:
    return InvalidParameter(
        f"model={text!r} is not a model. Write 'mixture(n_components=3)' or "
        "'hmm(n_states=3, emissions=\"discrete\")', or pass a model."
    )
