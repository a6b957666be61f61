"""Search: which settings of each method are tried, and which of them is picked on the validation split."""
