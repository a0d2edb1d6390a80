"""Settings that messages recommend, as options of the command line: ``--task number``."""

from __future__ import annotations

import re
import shlex

_NAMES = (
    "task", "score", "positive", "encoding", "delimiter", "machine", "kernel", "target",
    "test_share", "time_limit", "cv", "order_by", "group", "cost",
)  # fmt: skip
"""Parameters whose option has the same name."""
_VALUE = r"""'(?P<quoted>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[\w.+-]*\w)"""
_PATTERNS = (
    (re.compile(rf"missing=\[(?:{_VALUE})\]"), "missing"),
    (re.compile(rf"drop=\[(?:{_VALUE})\]"), "drop"),
    (re.compile(r"kinds=\{'(?P<key>[^']*)': '(?P<kind>\w+)'\}"), "kind"),
    (re.compile(rf"random_state=(?:{_VALUE})"), "seed"),
    *((re.compile(rf"\b{name}=(?:{_VALUE})?"), name.replace("_", "-")) for name in _NAMES),
)
_SUBJECTS = {
    "kinds:": "--kind:",
    "drop:": "--drop:",
    "order_by:": "--order-by:",
    "group:": "--group:",
    "cost:": "--cost:",
}
"""Settings that a message begins with."""
_BOTH = re.compile(r"\border_by (and|or) group\b")


def as_options(message: str) -> str:
    """Return a message of the library in which settings are written as on the command line."""
    for pattern, option in _PATTERNS:
        message = pattern.sub(lambda found, option=option: _option(found, option), message)  # type: ignore[misc]
    for setting, words in _SUBJECTS.items():
        if message.startswith(setting):
            message = words + message[len(setting) :]
    return _BOTH.sub(r"--order-by \1 --group", message)


def _option(found: re.Match[str], option: str) -> str:
    groups = found.groupdict()
    if option == "kind":
        return f"--kind {shlex.quote(groups['key'] + '=' + groups['kind'])}"
    given = next((v for v in (groups["quoted"], groups["double"], groups["bare"]) if v), None)
    return f"--{option}" if given is None else f"--{option} {shlex.quote(given)}"
