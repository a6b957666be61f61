"""Integrations: objectives of this suite inside the trainers that people already have."""
