"""Cost: what cells will take before they are run: parameters, memory, operations, hours, disk."""
