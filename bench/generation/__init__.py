"""Generation: what a decoding asks of a model, token by token, with its caches."""
