"""Studies with people: questionnaires, answers and results."""
