"""Files that commands write: where to, and whether that would destroy something."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mercer._typing import Targets
from mercer.exceptions import InvalidInput, InvalidParameter

_REPORT_MARK = b'<meta name="generator" content="mercer">'
_HEAD = 4096
"""Bytes in which the mark of a report stands, if it is one of ours."""


def is_model(path: Path) -> bool:
    """Whether a file is one of mercer's model files."""
    from mercer._files.container import MAGIC

    return _head(path).startswith(MAGIC)


def is_report(path: Path) -> bool:
    """Whether a file is one of mercer's reports."""
    return _REPORT_MARK in _head(path)


def check_output(path: Path, ours: Callable[[Path], bool], force: bool) -> None:
    """Refuse a place that cannot be written, or a file that mercer has not written."""
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInput(f"{path}: there is no folder {folder}. Make it, or choose another name.")
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"{path}: the folder {folder} cannot be written. Choose another one.")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder. Choose another name.")
    if path.exists() and not force and not ours(path):
        raise InvalidInput(
            f"{path} exists and is not a file that mercer has written. Choose another name, or "
            "overwrite it with --force."
        )


def check_model(path: Path, target: str | None, force: bool) -> None:
    """Refuse to replace a model that predicts something else."""
    if force or not path.exists():
        return
    from mercer.exceptions import InvalidModelFile
    from mercer.io.models import load_record

    try:
        record = load_record(path)
    except InvalidModelFile:  # nothing that could still be used
        return
    there = record.get("schema", {}).get("target") if isinstance(record, dict) else None
    if there is not None and there != target:
        raise InvalidInput(
            f"{path} is a model that predicts {there!r}, not {target!r}. Choose another name with "
            "--out, or replace it with --force."
        )


def study_paths(data: str, out: str | None) -> tuple[Path, Path]:
    """Return where the model and its report go."""
    if out is not None:
        base = Path(out)
        if base.suffix in (".mercer", ".html"):
            base = base.with_suffix("")
        if not base.name or out.endswith(("/", os.sep)):
            raise InvalidParameter(f"--out {out!r} has to be a name, such as results/heart.")
    else:
        from mercer.io.unpacked import PACKED

        name = Path(data).name
        name = next((name.removesuffix(end) for end in PACKED if name.endswith(end)), name)
        base = Path(Path(name).stem.lstrip(".") or "model")
    return base.with_name(base.name + ".mercer"), base.with_name(base.name + ".html")


# ---- predictions -------------------------------------------------------------------------------


def write_answers(answers: Targets, out: str | None, force: bool, inputs: tuple[str, ...]) -> None:
    """Write predictions to a file in the format of its ending, or as CSV to the terminal."""
    if out is None or out == "-":
        import sys

        _csv(answers, sys.stdout)
        return
    path = Path(out)
    if any(path.exists() and Path(i).exists() and path.samefile(i) for i in inputs):
        raise InvalidInput(f"-o {out}: that is one of the files to read. Choose another name.")
    check_output(path, lambda p: _columns(p) == answers.names, force)
    from mercer._files import atomic

    atomic.write(path, [_FORMATS[path.suffix](answers)])


def check_suffix(out: str | None) -> None:
    """Refuse an ending that names no format."""
    if out not in (None, "-") and Path(str(out)).suffix not in _FORMATS:
        raise InvalidParameter(
            f"-o {out}: the ending has to say the format: {', '.join(_FORMATS)}. Leave -o away to "
            "print CSV."
        )


def _csv(answers: Targets, stream: Any) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(as_cell, answers.names))
    writer.writerows(map(as_cell, row) for row in zip(*answers.columns.values(), strict=True))


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection)."""


def as_cell(value: Any) -> Any:
    """Return a value as it is written to CSV: text that is no formula to a spreadsheet.

    An apostrophe goes before text that begins as a formula does, numbers excepted; one more goes
    before such apostrophes, so that ``from_cell`` gives every text back.
    """
    if isinstance(value, str) and value.lstrip("'").startswith(_FORMULA) and not _number(value):
        return "'" + value
    return value


def from_cell(text: str) -> str:
    """Return the text that ``as_cell`` wrote."""
    formula = text.startswith("'") and text.lstrip("'").startswith(_FORMULA)
    return text[1:] if formula else text


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv_bytes(answers: Targets) -> bytes:
    text = io.StringIO()
    _csv(answers, text)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _json_lines(answers: Targets) -> bytes:
    return "".join(json.dumps(row, default=str) + "\n" for row in answers.rows()).encode()


def _parquet(answers: Targets) -> bytes:
    from mercer.io.table_source import arrow

    pa = arrow()
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table(answers.columns), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


_FORMATS: dict[str, Callable[[Any], bytes]] = {
    ".csv": _csv_bytes,
    ".parquet": _parquet,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}


def _columns(path: Path) -> list[str]:
    """Return the names of the columns of a file of predictions; none if it is something else."""
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet

            return list(pyarrow.parquet.read_schema(path).names)
        with path.open(encoding="utf-8", newline="") as file:
            if path.suffix == ".csv":
                return list(map(from_cell, next(csv.reader(file), [])))
            return list(json.loads(file.readline()))
    except (OSError, ValueError, TypeError, csv.Error):
        return []


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)
