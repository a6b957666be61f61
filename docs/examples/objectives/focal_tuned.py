"""A fine-tuned method: training starts from the run of its parent with the same seed.

Compare it with `mle.continued`, which trains as many further steps by maximum likelihood.
"""

from focal_gamma import FocalGamma


class FocalTuned(FocalGamma):
    """Focal loss on a model that was trained by maximum likelihood."""

    name = "focal_tuned"
    parent = "mle"
