"""Save models as one file of plain data, and load them."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from mercer._files import container
from mercer._files.container import Content
from mercer._files.fields import WrongState
from mercer.exceptions import CannotSave, InvalidModelFile
from mercer.io.model_values import ObjectReader, ObjectWriter, Value

_PARTS = {"mercer", "objects", "model", "record"}

Path = str | os.PathLike[str]


def save(model: Value, path: Path, record: Value = None) -> None:
    """Save a model as one file of plain data: arrays and JSON, with a checksum, without code.

    The file is written whole or not at all: where something fails, an older file of that name
    stays as it is. It holds what the model holds, so the training data of a kernel machine too.

    Parameters
    ----------
    model : estimator, pipeline, search or kernel
        A machine or a kernel of mercer, or a scikit-learn pipeline of such machines. Of a search
        the best estimator is saved.
    path : str or path
        Where to; the usual ending is ``.mercer``.
    record : plain data, optional
        Numbers, texts, lists, dictionaries and arrays that travel with the model;
        :func:`load_record` gives them back.

    Raises
    ------
    CannotSave
        Where a part of the model is not plain data, for example a function used as a kernel.

    Examples
    --------
    >>> from mercer import SVC, load, load_data, save
    >>> heart = load_data("heart")
    >>> save(SVC().fit(heart.X, heart.y), "heart.mercer", record={"by": "me"})
    >>> bool((load("heart.mercer").predict(heart.X) == heart.y).mean() > 0.6)
    True
    """
    container.write(path, _content(getattr(model, "best_estimator_", model), record))


def load(path: Path) -> Any:
    """Load a model that :func:`save` has written.

    Nothing in the file is ever executed. Every number, shape and index is checked before it is
    used.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator, pipeline or kernel
        The model: same parameters, same attributes, same predictions to the last bit.

    Raises
    ------
    InvalidModelFile
        Where the file is missing, damaged, of another version or no model file at all.

    Examples
    --------
    >>> from mercer import RBF, load, save
    >>> save(RBF(gamma=0.5), "kernel.mercer")
    >>> load("kernel.mercer")
    RBF(gamma=0.5)
    """
    return _read(path, "model")


def load_record(path: Path) -> Any:
    """Load the record that was saved with a model, None where there was none.

    Parameters
    ----------
    path : str or path
        The file of the model.

    Examples
    --------
    >>> from mercer import RBF, load_record, save
    >>> save(RBF(gamma=0.5), "kernel.mercer", record={"score": 0.9})
    >>> load_record("kernel.mercer")
    {'score': 0.9}
    """
    return _read(path, "record")


def _read(path: Path, part: str) -> Any:
    content = container.read(path)
    try:
        return _restored(content, part)
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{os.fspath(path)!s}: {error}") from None


def _content(model: Value, record: Value) -> Content:
    """Return what to write, or refuse to write what could not be read again."""
    from mercer.io.model_classes import find

    writer = ObjectWriter(find)
    document = {
        "mercer": version("mercer"),
        "model": writer.write(model, type(model).__name__),
        "record": writer.write(record, "record"),
        "objects": writer.objects,
    }
    content = Content(document, writer.arrays)
    try:
        _restored(container.fresh_arrays(content), "model")
    except InvalidModelFile as error:
        raise CannotSave(
            f"The model is not in a state that can be saved: {error} Fit it again, and save it as "
            "it comes from fit."
        ) from None
    return content


def _restored(content: Content, part: str) -> Any:
    from mercer.io.model_classes import ROWS

    document = content.document
    if not isinstance(document, dict) or set(document) != _PARTS:
        raise InvalidModelFile("it holds arrays and JSON, but no model.")
    reader = ObjectReader(content, ROWS)
    reader.read_objects(document["objects"])
    try:
        model = document["model"]
        if not (isinstance(model, dict) and list(model) == ["object"]):
            raise WrongState("the model is not an object")
        return reader.decode(document[part])
    except WrongState as error:
        raise InvalidModelFile(f"its {part} is broken: {error}.") from None
