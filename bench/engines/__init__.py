"""Engines: who starts the workers of a plan on other machines."""
