"""Benchmarks: each prints ratios to a hand-written baseline that runs in turn with it, in the same process."""
