"""Linear machines: lasso, least squares, Newton's method, coordinates."""
