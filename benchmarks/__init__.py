"""Benchmarks of mercer against its peers: ``python -m benchmarks`` lists the jobs."""
