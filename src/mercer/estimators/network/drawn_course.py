"""Pictures of training, round by round."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from mercer._plot.courses import draw_course
from mercer._typing import Axes, Objects, Targets
from mercer.estimators.drawn import DrawnMachine
from mercer.exceptions import InvalidInput


class DrawnCourse(DrawnMachine):
    """A machine trained in rounds that draws its loss, and with data what it has learnt."""

    loss_curve_: list[float]
    _loss_name: ClassVar[str] = "loss"

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the loss of each round; with data, the regions or the function instead.

        Parameters
        ----------
        X : array or frame, optional
            Points to draw what was learnt over, one or two columns for classes.
        y : array, optional
            Their classes or targets.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        if X is not None:
            return super().plot(X, y, ax)
        check_is_fitted(self)
        if not getattr(self, "loss_curve_", None):
            raise InvalidInput(
                f"{type(self).__name__}.plot: this fit has kept no loss of its rounds. Give points "
                "to draw what was learnt: plot(X, y)."
            )
        scores = getattr(self, "validation_scores_", None)
        return draw_course(self.loss_curve_, self._loss_name, ax, scores)
