"""Ways to change a report that carries a proof, by somebody who knows how it is made."""

import copy
import json
import re

from mercer.report.proof.document import stored
from mercer.report.verifier.page import read_array
from mercer.report.verifier.verdict import verify

PROOF = re.compile(r'(<script type="application/json" id="proof">)(.*?)(</script>)', re.DOTALL)
CLAIM = re.compile(r'(<(\w+)[^>]*data-claim="(\w+)"[^>]*>)([^<]*)(</\2>)')
WAYS = ("multiplier", "label", "row", "printed")


def proof_of(page):
    return json.loads(PROOF.search(page)[2])


def with_proof(page, proof):
    """Put another proof into a page, with the digest that belongs to its data."""
    text = json.dumps(proof).replace("<", "\\u003c")
    changed = PROOF.sub(lambda found: found[1] + text + found[3], page)
    digest = verify(proof).digest or "0" * 64
    return CLAIM.sub(lambda f: f[1] + digest + f[5] if f[3] == "digest" else f[0], changed)


def tampered(page, way, random):
    """Return a page in which one number is not what it was, and its proof before and after."""
    before = proof_of(page)
    if way == "printed":
        return _printed(page, random), before, before
    after = copy.deepcopy(before)
    {"multiplier": _multiplier, "label": _label, "row": _row}[way](after, random)
    return with_proof(page, after), before, after


def _printed(page, random):
    claims = [found for found in CLAIM.finditer(page) if found[3] != "most_relative_gap"]
    found = claims[random.integers(len(claims))]
    digits = [i for i, c in enumerate(found[4]) if c in "0123456789"]
    # One of the leading digits, which everybody reads.
    place = digits[random.integers(min(len(digits), 6))]
    others = [c for c in "0123456789" if c != found[4][place]]
    text = found[4][:place] + others[random.integers(9)] + found[4][place + 1 :]
    return page[: found.start(4)] + text + page[found.end(4) :]


def _change(holder, name, random, change):
    values = read_array(holder[name]).copy()
    flat = values.reshape(-1)
    place = random.integers(len(flat))
    flat[place] = change(flat[place], flat)
    holder[name] = stored(values)


def _size(random):
    """Return how large a change is: from one in a million to ten."""
    return 10.0 ** random.uniform(-6, 1) * random.choice([-1, 1])


def _problem(proof, random):
    """Return a problem, or a part of one."""
    found = [part for one in proof["problems"] for part in one.get("parts", [one])]
    return found[random.integers(len(found))]


ANSWERS = ("multipliers", "coefficients", "w", "values", "biases")
CODED = (
    *("logistic", "linear logistic", "mode of a process", "classes on landmarks"),
    *("linear, Crammer–Singer", "Crammer–Singer SVM", "Weston–Watkins SVM"),
)
"""Problems whose targets are numbers of classes."""


def _multiplier(proof, random):
    problem = _problem(proof, random)
    names = [name for name in ANSWERS if name in problem and problem[name]["shape"] != [0]]
    # Mostly the multipliers themselves, or the coefficients that they are made of.
    name = names[0] if random.integers(3) else names[random.integers(len(names))]
    _change(
        problem, name, random,
        lambda old, all_of_them: old + _size(random) * max(abs(all_of_them).mean(), 1e-12),
    )  # fmt: skip


def _label(proof, random):
    problem = _problem(proof, random)
    kind = problem["kind"]
    signed = "C-SVC" in kind or kind in ("ν-SVC", "linear, ℓ₁") or "hinge" in kind
    if signed or problem.get("classes"):
        _change(problem, "targets", random, lambda old, _: -old)
    elif kind in CODED:
        _change(problem, "targets", random, lambda old, _: 1.0 if old == 0 else 0.0)
    else:
        _change(problem, "targets", random, lambda old, ys: old + _size(random) * (ys.std() or 1.0))


def _row(proof, random):
    problem = _problem(proof, random)
    if "edge_weights" in problem and random.integers(2):
        _change(problem, "edge_weights", random, lambda old, ws: old * (1 + _size(random)))
    elif proof["samples"]:
        sample = proof["samples"][random.integers(len(proof["samples"]))]
        _change(sample, "values", random, lambda old, xs: old + _size(random) * xs.std())
    else:
        gram = proof["grams"][random.integers(len(proof["grams"]))]
        _change(gram, "matrix", random, lambda old, xs: old + _size(random) * xs.std())
