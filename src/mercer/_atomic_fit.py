"""A fit that happens whole or not at all, and the checks at the door of every fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from types import FunctionType
from typing import Any, TypeVar

from numpy.exceptions import DTypePromotionError

from mercer import _memory
from mercer.exceptions import InvalidInput, InvalidType, MercerError, NotEnoughMemory

if sys.platform != "win32":
    from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

Method = TypeVar("Method", bound=Callable[..., Any])

_FITS = ("fit", "partial_fit", "fit_transform", "fit_predict")
"""The methods of scikit-learn's grammar that change an estimator."""
_ANSWERS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
"""The methods of that grammar that take new data."""


class AtomicFit:
    """An estimator that a failed fit leaves as it was.

    A fit works on a shallow copy, whose attributes become those of the estimator in one step when
    it has succeeded. An error or Ctrl-C before leaves nothing behind, and fits of one object on
    several threads do not see each other: the last to end stays.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        for name in _FITS:
            if isinstance(vars(cls).get(name), FunctionType):
                setattr(cls, name, atomic(vars(cls)[name]))
        super().__init_subclass__(**options)
        for name in _ANSWERS:
            # Also those of scikit-learn's classes, which many machines have taken over.
            method = getattr_static(cls, name, None)
            if isinstance(method, FunctionType) and not hasattr(method, _TOLD):
                setattr(cls, name, _without_dates(method))

    def _takes_vectors(self) -> bool:
        """Whether the data are rows of numbers, and not whatever a kernel compares."""
        return True


def atomic(method: Method) -> Method:
    """Let a method change its object whole or not at all.

    The methods of an :class:`AtomicFit` are so of themselves; those that are not always there
    (``available_if``) say it.
    """

    @wraps(method)
    def fit(self: Any, *args: Any, **options: Any) -> Any:
        if sys.platform != "win32" and getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY:
            _memory.require_reserve(type(self).__name__)
        _check_numbers(self, args[0] if args else options.get("X"))
        # ``copy`` goes through pickling, which takes its time.
        worker = object.__new__(type(self))
        worker.__dict__.update(self.__dict__)
        try:
            answer = method(worker, *args, **options)
        except MercerError:
            raise
        except DTypePromotionError as error:  # a frame with dates beside its numbers
            raise _no_numbers(self) from error
        except MemoryError as error:
            raise _too_large(self) from error
        except (ValueError, ArithmeticError) as error:
            if not _is_numerical(error):
                raise
            raise _no_result(self, error) from error
        self.__dict__ = worker.__dict__
        return self if answer is worker else answer

    return fit  # type: ignore[return-value]


def _without_dates(method: Method) -> Method:
    """Let a method refuse new data with dates, as a fit does."""

    @wraps(method)
    def answer(self: Any, *args: Any, **options: Any) -> Any:
        _check_numbers(self, args[0] if args else options.get("X"))
        try:
            return method(self, *args, **options)
        except DTypePromotionError as error:
            raise _no_numbers(self) from error

    setattr(answer, _TOLD, True)
    return answer  # type: ignore[return-value]


_TOLD = "_refuses_dates"
_DATES = ("M", "m")
"""The kinds of NumPy's dates and durations. Their numbers depend on a unit that nothing carries
along: days of a fit would be compared with nanoseconds of a prediction."""


def _check_numbers(estimator: Any, X: Any) -> None:
    if getattr(getattr(X, "dtype", None), "kind", "") in _DATES and estimator._takes_vectors():
        raise _no_numbers(estimator)


def _no_numbers(estimator: Any) -> InvalidType:
    return InvalidType(
        f"{type(estimator).__name__}: X holds dates or durations. Make numbers of them in one "
        "unit, such as the days since a date: (X - X.min()) / np.timedelta64(1, 'D')."
    )


_NUMERICAL = ("numpy", "scipy")
"""Libraries whose errors tell of matrices that the user has never seen."""


def _is_numerical(error: BaseException) -> bool:
    """Whether an error was raised deep inside a library of linear algebra."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    home = "" if last is None else last.tb_frame.f_globals.get("__name__", "")
    return home.partition(".")[0] in _NUMERICAL


def _no_result(estimator: Any, error: BaseException) -> InvalidInput:
    cause = " ".join(str(error).split()).rstrip(".")
    return InvalidInput(
        f"{type(estimator).__name__}: these data cannot be computed with ({cause}): their numbers "
        "are too large, too small or too much alike, or a weight is impossible. Scale the columns, "
        "for example by StandardScaler, and look for odd values."
    )


def _too_large(estimator: Any) -> NotEnoughMemory:
    there = _memory.available_bytes()
    free = "" if there is None else f", of which {_memory.readable(there)} are free now"
    return NotEnoughMemory(
        f"{type(estimator).__name__}: the fit needs more memory than there is{free}; the "
        "estimator is as it was. Give fewer rows or columns, or a smaller approximation."
    )
