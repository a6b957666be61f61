"""Generation: texts that a decoding writes with a model, token by token, and the model's caches."""
