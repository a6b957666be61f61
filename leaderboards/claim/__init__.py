"""The papers' claims and the evidence for them."""
