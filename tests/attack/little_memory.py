"""Fit machines on more rows than a limit of the process allows: ``python -m … MEGABYTES NAME …``.

Each machine is fitted on a few rows first. Under the limit a fit on many rows has to succeed or to
be refused by ``NotEnoughMemory``, and a refused one leaves the machine as it was. Prints the names
of those that did otherwise, and a last line with the numbers of both ends.
"""

import json
import resource
import sys
import warnings

import numpy as np

from mercer.exceptions import NotEnoughMemory
from tests.attack.machines import MACHINES, fit, make, state

ROWS, COLUMNS = 4000, 40


def many(row):
    """Return data of a kind that a machine takes, with so many rows that a matrix is large."""
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, COLUMNS))
    targets = {"classes": np.where(X[:, 0] > 0, "above", "below"), "number": X[:, 0] + X[:, 1]}
    return ([X] if row.takes == "series" else X), targets.get(row.task)


def main(megabytes, names):
    warnings.simplefilter("ignore")
    ends = {"fitted": 0, "refused": 0}
    machines = {name: make(name) for name in names}
    for machine, data in machines.values():
        fit(machine, data)
    for name, (machine, _) in machines.items():
        large = many(MACHINES[name][0])
        for limit, value in (("time_limit", 5.0), ("max_iter", 5)):
            if limit in machine.get_params():
                machine.set_params(**{limit: value})
        before = state(machine)
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + megabytes * 2**20, resource.RLIM_INFINITY))
        try:
            machine.fit(*large)
            ends["fitted"] += 1
        except NotEnoughMemory:
            ends["refused"] += 1
            after = state(machine)
            kept = all(after[0].get(key) is value for key, value in before[0].items())
            if not kept or after[1] != before[1]:
                print(name, "is not as it was")
        except Exception as error:
            print(name, repr(error)[:300])
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(json.dumps(ends))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or list(MACHINES))
