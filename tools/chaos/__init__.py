"""Long proofs: each module prints goal and measured, and ends with 1 when a goal is missed. `make chaos` runs all."""
