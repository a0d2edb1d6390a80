"""One look for all pictures of the gallery; the examples themselves need no style."""

import matplotlib as mpl
from cycler import cycler

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#a8558a", "#7d8799")

STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#5b6675",
    "axes.labelcolor": "#1b2a41",
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": "#1b2a41",
    "axes.titlesize": 10.5,
    "figure.facecolor": "white",
    "font.size": 10,
    "image.interpolation": "nearest",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "savefig.facecolor": "white",
    "xtick.color": "#3c4757",
    "ytick.color": "#3c4757",
}


def reset(gallery_conf, fname):
    """Set the style before each example."""
    del gallery_conf, fname
    mpl.rcdefaults()
    mpl.rcParams.update(STYLE)


class Order:
    """The order of the gallery: from simple to large, then whatever is not named here."""

    names = (
        "first_look",
        "plot_width",
        "plot_zoo",
        "plot_table",
        "plot_xor",
        "plot_functions",
        "plot_is_it_a_kernel",
        "plot_random_features",
        "plot_large_gram",
        "plot_landmarks",
        "plot_streaming",
        "plot_maximum_margin",
        "plot_margin",
        "plot_feature_maps",
        "plot_boundaries",
        "plot_multiclass",
        "plot_one_class",
        "plot_probabilities",
        "plot_certificate",
        "plot_tuning",
        "plot_dna",
        "plot_series",
        "plot_molecules",
        "plot_walks",
        "plot_trees",
        "plot_fisher",
        "plot_eigenfaces",
        "plot_kernel_pca",
        "plot_laplacian",
        "plot_discriminant",
        "plot_gaussian",
        "plot_gp",
        "plot_norms",
        "plot_penalty_balls",
        "plot_lasso_path",
        "plot_logistic",
        "plot_line_search",
        "plot_descent",
        "plot_lagrange",
        "plot_perceptron",
        "plot_network",
        "plot_cocktail",
    )

    def __init__(self, src_dir):
        del src_dir

    def __call__(self, filename):
        name = filename.removesuffix(".py")
        return (self.names.index(name) if name in self.names else len(self.names), name)
