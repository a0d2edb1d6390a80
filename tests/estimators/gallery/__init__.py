"""The situations of scikit-learn's gallery, with its classes and with ours."""
