"""Statistics of tables: intervals and tests over seeds and over test items, the baseline, agreement of raters."""
