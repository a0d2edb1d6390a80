"""Write the API reference from ``mercer.__all__``, so that no public name can be left out."""

import re
from collections import defaultdict
from functools import cached_property
from importlib import import_module
from inspect import getattr_static, getdoc, isclass, isfunction, ismodule
from pathlib import Path

from sklearn.base import BaseEstimator
from sphinx.domains.python import PyObject

import mercer
from mercer.estimators import registry
from mercer.kernels.base import Kernel

# Section titles, in the order in which data flows; a part that is not named here comes last.
_TITLES = {
    "kernels": "Kernels",
    "generative": "Generative models",
    "gram": "Gram matrices",
    "problems": "Problems and certificates",
    "solvers": "Solvers",
    "estimators": "Estimators",
    "tuning": "Tuning",
    "io": "Files",
    "report": "Reports",
    "study": "Studies",
    "data": "Data",
    "optimize": "Optimisation",
    "independence": "Independence",
    "exceptions": "Errors and warnings",
    "testing": "Tools for your own tests",
}
# Modules with names of their own, and what they are about.
_MODULES = {
    "distributed": "Several machines",
    "independence": "Independence",
    "norms": "Norms",
    "optimize": "Optimisation",
}


# What users ask of a kernel; the rest is for those who write one, and stands on its base classes.
_OF_KERNELS = (
    "along", "colours", "definite", "diag", "distance", "exp", "feature_map", "get_params",
    "gradients", "normalized", "on", "phi", "set_params",
)  # fmt: skip
_BASES = ("FeatureKernel", "FunctionKernel", "Kernel", "Radial")
# What the engine asks of machines, and what scikit-learn gives to all of them.
_OF_THE_ENGINE = {
    "STATE", "accepts_parameters", "check_parameters", "check_state", "default_parameters",
    "expansion_coefficients", "expansion_of_rows", "expansion_points", "fits_by_plan",
    "flat_parameters", "function_expansion", "get_metadata_routing", "has_open_width", "is_open",
    "judge", "kernel_argument", "least_squares_system", "left_out_functions", "left_out_values",
    "needed_definite", "plan", "read", "set_callbacks", "settle", "strict", "takes", "usual_values",
    "with_parameters",
}  # fmt: skip

# What machines inherit from scikit-learn and people call.
_OF_SKLEARN = {
    "decision_function", "fit_predict", "fit_transform", "inverse_transform", "predict",
    "predict_log_proba", "predict_proba", "score", "score_samples", "transform",
}  # fmt: skip

_ATTRIBUTES = re.compile(r":(ivar|vartype) ([^:]+):(.*)")
"""Fields of attributes, as napoleon writes them."""


def setup(app):
    """Write the pages before autosummary looks for them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.autosummary")
    app.config.autosummary_context = {"members_of": members_of, "has_public_base": has_public_base}
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"  # as in the docstrings
    app.connect("config-inited", _write)
    app.connect("autodoc-process-docstring", _keep_bars)
    app.connect("autodoc-process-docstring", _unlink)
    # After napoleon, which makes fields of the sections.
    app.connect("autodoc-process-docstring", _keep_names, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def has_public_base(module, name):
    """Return whether a page of its own says more of the class that this one is made from."""
    shown = getattr(import_module(module), name)
    return any(base.__name__ in mercer.__all__ for base in shown.__bases__)


def members_of(module, name):
    """Return methods and properties that the page of a class shows, each with its directive.

    They are its own and what it inherits from mercer; attributes stand in its docstring.
    """
    shown = getattr(import_module(module), name)
    if shown.__name__ != name:
        return []  # another name of a class, which has its own page
    public = [member for member in dir(shown) if not member.startswith("_")]
    if issubclass(shown, Kernel) and name not in _BASES:
        public = [member for member in public if member in _OF_KERNELS]
    elif registry.row_of(shown) is None:
        more = _OF_SKLEARN if issubclass(shown, BaseEstimator) else set()
        public = [member for member in public if member in vars(shown) or member in more]
    else:
        public = [
            member
            for member in public
            if member not in _OF_THE_ENGINE
            and (member in _OF_SKLEARN or _home(shown, member).startswith("mercer."))
        ]
    told = _attributes(shown)
    found = [(_directive(shown, member), member) for member in public if member not in told]
    return [(directive, member) for directive, member in found if directive]


def _directive(shown, member):
    value = getattr_static(shown, member)
    if isinstance(value, property | cached_property):
        return "autoproperty"
    # Methods that depend on a parameter, as ``predict_proba``, are descriptors with a check.
    method = callable(value) or hasattr(value, "__func__") or hasattr(value, "check")
    return "automethod" if method else ""


def _attributes(shown):
    """Return the names in the section of attributes of a docstring."""
    _, _, section = (getdoc(shown) or "").partition("\nAttributes\n----------\n")
    section, *_ = re.split(r"\n\n[A-Z]\w+\n-+\n", section)
    heads = [line.partition(":")[0] for line in section.splitlines() if line[:1].strip()]
    return {name.strip() for head in heads for name in head.split(",")}


def _home(cls, member):
    """Return the module of the class that a member comes from; scikit-learn makes requests."""
    if member.endswith("_request"):
        return "sklearn"
    return next(base.__module__ for base in cls.__mro__ if member in vars(base))


def _keep_bars(app, what, name, obj, options, lines):
    """Let |x| and ‖x‖* mean what they mean in mathematics, not in reStructuredText."""
    for number, line in enumerate(lines):
        parts = line.split("``")
        # Every second part is code, where a backslash would show.
        parts[::2] = [p.replace("|", r"\|").replace("‖*", r"‖\*") for p in parts[::2]]
        lines[number] = "``".join(parts)


def _unlink(app, what, name, obj, options, lines):
    """Leave the words of links into scikit-learn's guide and glossary, which are not here."""
    if (getattr(obj, "__module__", None) or "").startswith("sklearn"):
        text = re.sub(r":ref:`([^`<]*?)\s*(?:<[^>]*>)?`", r"\1", "\n".join(lines))
        text = re.sub(r":term:`([^`<]*?)\s*(?:<[^>]*>)?`", r"``\1``", text)
        lines[:] = text.split("\n")


def _keep_names(app, what, name, obj, options, lines):
    """Show attributes by their whole names: ``a_`` is no link, and ``a_, b_`` are two of them."""
    kept, field = [], []
    for line in [*lines, ""]:
        if field and line.startswith(" "):
            field.append(line)
            continue
        if field:
            kind, names, text = _ATTRIBUTES.match(field[0]).groups()
            each = [part.strip().replace("_", r"\_") for part in names.split(",") if part.strip()]
            for one in each:
                kept += [f":{kind} {one}:{text}", *field[1:]]
        field = [line] if _ATTRIBUTES.match(line) else []
        kept += [] if field else [line]
    lines[:] = kept[:-1]


def _write(app, config):
    lines = ["API reference", "=============", ""]
    lines += ["Names are imported from ``mercer`` itself, or from the module in the title.", ""]
    sections = _sections()
    for part in sorted(sections, key=_rank):
        title = _TITLES.get(part, part.capitalize())
        lines += [title, "-" * len(title), ""]
        for group, names in _groups(sections[part]).items():
            lines += [group, "~" * len(group), ""] if group else []
            lines += [".. autosummary::", "   :toctree: .", ""]
            lines += [f"   mercer.{name}" for name in sorted(names)] + [""]
    for module, title in _MODULES.items():
        heading = f"{title} (mercer.{module})"
        lines += [heading, "-" * len(heading), "", ".. autosummary::", "   :toctree: .", ""]
        lines += [f"   mercer.{module}.{name}" for name in _names(module)] + [""]
    page = Path(app.srcdir) / "api" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    current = {"index", *(f"mercer.{name}" for names in sections.values() for name in names)}
    current |= {f"mercer.{module}.{name}" for module in _MODULES for name in _names(module)}
    for old in page.parent.glob("*.rst"):
        if old.stem not in current:
            old.unlink()
    text = "\n".join(lines)
    # An unchanged page keeps its date, so that a second build has nothing to do.
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def _sections():
    sections = defaultdict(list)
    for name in mercer.__all__:
        value = getattr(mercer, name)
        if name.startswith("_") or ismodule(value):
            continue
        home = value.__module__ if isclass(value) or callable(value) else type(value).__module__
        sections[[*home.split("."), "other"][1]].append(name)
    return sections


def _groups(names):
    """Return the names by the groups of machines that the registry has, others first."""
    groups = {"": [], **{title: [] for title in registry.GROUPS.values()}}
    for name in names:
        value = getattr(mercer, name)
        row = registry.row_of(value) if isclass(value) else None
        groups["" if row is None else row.group].append(name)
    found = {group: names for group, names in groups.items() if names}
    # One group alone needs no title: its section has one.
    return found if len(found.keys() - {""}) > 1 else {"": list(names)}


def _names(module):
    found = vars(import_module(f"mercer.{module}")).items()
    return sorted(name for name, value in found if isclass(value) or isfunction(value))


def _rank(part):
    order = list(_TITLES)
    return (order.index(part) if part in order else len(order), part)
