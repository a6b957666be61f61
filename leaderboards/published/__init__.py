"""The papers' own tables beside ours."""
