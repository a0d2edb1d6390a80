"""Reports: what is shown (`record`, `gather`) apart from how it is shown (`view`)."""
