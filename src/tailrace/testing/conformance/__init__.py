"""Suites that authors of upstreams and sinks inherit: the guarantees of the protocols, as tests."""
