"""What machines show of themselves in notebooks."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from mercer import SVC, KernelPCA, LinearSVC, Ridge, load_data

heart = load_data("heart")


def test_before_a_fit_it_is_the_diagram():
    html = SVC(C=3.0)._repr_html_()
    assert "Certificate of" not in html
    assert "Kernel <code>" not in html
    assert "C" in html


@pytest.mark.parametrize("machine", [SVC(), LinearSVC(), Ridge()], ids=lambda m: type(m).__name__)
def test_after_a_fit_there_is_the_certificate(machine):
    machine.fit(heart.X / np.abs(heart.X).max(axis=0), (heart.y == "disease").astype(int))
    html = machine._repr_html_()
    assert machine.certificate_._repr_html_() in html
    assert ("Kernel <code>" in html) == hasattr(machine, "kernel_")


def test_the_kernel_is_escaped_and_short():
    model = KernelPCA(2, kernel="rbf").fit(heart.X)
    assert f"Kernel <code>{model.kernel_}</code>" in model._repr_html_()
    machine = SVC().fit(heart.X, heart.y)
    machine.settle()
    machine.kernel_ = "<b>" + "x" * 400
    html = machine._repr_html_()
    assert "&lt;b&gt;x" in html
    assert "x" * 301 not in html


def test_those_who_want_text_get_text():
    with config_context(display="text"):
        assert not hasattr(SVC(), "_repr_html_")


def test_it_stands_in_pipelines():
    model = make_pipeline(StandardScaler(), SVC()).fit(heart.X, heart.y)
    assert "SVC" in estimator_html_repr(model)
