"""Generative models: Gaussian mixtures and hidden Markov models, fitted by certified EM."""
