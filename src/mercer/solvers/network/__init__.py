"""Networks and perceptrons."""
