"""Models written as text."""

import pytest

from mercer import GaussianMixture, HiddenMarkovModel, InvalidParameter
from mercer.generative.named import form_of, read_model


def test_a_text_becomes_a_model():
    mixture = read_model("mixture(n_components=3)")
    assert isinstance(mixture, GaussianMixture)
    assert mixture.n_components == 3
    chain = read_model('hmm(n_states=2, emissions="discrete")')
    assert isinstance(chain, HiddenMarkovModel)


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("mixture", ("vectors", "last")),
        ("hmm(time='first')", ("series", "first")),
        ("hmm(emissions='discrete')", ("strings", "last")),
    ],
)
def test_what_a_model_takes_is_known_before_it_is_made(text, takes):
    assert form_of(text) == takes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("forest()", "is not a model"),
        ("mixture(3)", "is not a model"),
        ("mixture(__import__('os'))", "is not a model"),
        ("mixture(n_parts=3)", "no parameter 'n_parts'"),
        ("mixture(n_components=0)", "n_components"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(InvalidParameter, match=message):
        read_model(text)
