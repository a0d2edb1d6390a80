"""Fit every machine, fork, and fit it again in the child: ``python -m tests.attack.forks NAME …``.

Prints the names of the machines that hang, fail or answer otherwise in the child.
"""

import os
import signal
import sys
import time
import warnings

from tests.attack.machines import MACHINES, answers, fit, make, same

SECONDS = 20
"""A fit takes a fraction of it; whoever waits for threads that are not there waits for good."""


def in_child(name, fitted, data, expected):
    """Return whether the child fits the same object and a new one, and both answer as before."""
    again, fresh = fit(fitted, data), fit(make(name)[0], data)
    return same(answers(again, data.X), expected) and same(answers(fresh, data.X), expected)


def main(names):
    warnings.simplefilter("ignore")
    for name in names:
        machine, data = make(name)
        expected = answers(fit(machine, data), data.X)
        child = os.fork()
        if child == 0:
            try:
                good = in_child(name, machine, data, expected)
            except BaseException as error:
                print(name, repr(error), flush=True)
                good = False
            os._exit(0 if good else 3)
        deadline = time.monotonic() + SECONDS
        done, status = os.waitpid(child, os.WNOHANG)
        while not done and time.monotonic() < deadline:
            time.sleep(0.005)
            done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print(name, "hangs")
        elif status:
            print(name, "answers otherwise")


if __name__ == "__main__":
    main(sys.argv[1:] or MACHINES)
