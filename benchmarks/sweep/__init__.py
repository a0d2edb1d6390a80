"""Many machines at sizes drawn from a seed, each against its fastest peer.

``cases`` draws them, ``problem_data`` makes their data, ``contenders`` has a row for each machine
and library, ``judge`` says whether answers are equally good, ``run`` takes the times, ``outcomes``
holds and keeps them, ``summary`` says what they mean, ``report`` shows it, ``page`` writes
it into a page, ``command`` is ``python -m benchmarks sweep``.
"""
