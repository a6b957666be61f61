"""Quality against diversity: what an objective buys beside what decoders alone do for maximum likelihood."""
