"""From a file to a tuned, judged model: what ``mercer fit`` does, for programs too."""
