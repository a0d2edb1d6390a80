"""scikit-learn's own checks of the subspace methods."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PCA, KernelDiscriminant, KernelPCA, LinearDiscriminantAnalysis, Whitening


@parametrize_with_checks(
    [PCA(), Whitening(), KernelPCA(), LinearDiscriminantAnalysis(), KernelDiscriminant()]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
