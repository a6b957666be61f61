"""Metrics of likelihoods, probes and spectra."""
