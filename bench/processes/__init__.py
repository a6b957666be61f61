"""Processes: the only place that starts, watches and ends the several processes of a cell."""
