"""Nasty problems for every convex machine, by the thousand.

``python -m tests.attack.nasty --problems 10000`` takes the kinds of attacks in turn, each with a
seed that no one has seen, prints what went wrong, and in the end, or when it is interrupted, the
numbers of each kind: how many problems there were, and how many had a reference to compare with.
"""

import argparse
import json
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from mercer.exceptions import MercerError
from tests.attack import test_certificates, test_conic, test_linear_certificates
from tests.attack.conic import CASES

KINDS: dict[str, Callable[[int], object]] = {
    **{name: partial(test_certificates.attack, name) for name in test_certificates.NAMES},
    **{attack.__name__: attack for attack in test_linear_certificates.ATTACKS},
    **{case.__name__: partial(test_conic.attack, case) for case in CASES},
}
OTHERS: dict[str, Callable[[int], object]] = {
    **{f"{name}, corrupted": partial(test_certificates.corrupt, name)
       for name in test_certificates.NAMES},
    "indefinite": test_certificates.claims,
}  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--problems", type=int, default=1000)
    options.add_argument("--first", type=int, default=1000, help="the first seed")
    options.add_argument("--seconds", type=float, default=float("inf"), help="of CPU, at most")
    options.add_argument("--others", action="store_true", help="corrupted and indefinite instead")
    given = options.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kinds = OTHERS if given.others else KINDS
    counts = {name: {"problems": 0, "compared": 0, "wrong": 0} for name in kinds}
    began = time.process_time()
    for number in range(given.problems):
        name = list(kinds)[number % len(kinds)]
        seed = given.first + number // len(kinds)
        counts[name]["problems"] += 1
        try:
            counts[name]["compared"] += kinds[name](seed) is not False
        except MercerError:  # refused with a word
            pass
        except KeyboardInterrupt:  # what was seen until now
            break
        except Exception:
            counts[name]["wrong"] += 1
            print(f"{name}, seed {seed}: {traceback.format_exc()[-1500:]}", flush=True)
        if time.process_time() - began > given.seconds:
            break
    total = {key: sum(count[key] for count in counts.values()) for key in counts[name]}
    print(json.dumps({**counts, "all": total}, indent=1))
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
