"""F2-Softmax: predict the frequency class of the next token, then the token within this class.

The two softmaxes are computed in `bench.models.functional.class_head`, classes are cut in
`bench.models.functional.mefmax`, and texts are decoded in `bench.models.functional.decoupled`.

Shapes: n positions of a slice, V vocabulary, D width of a state, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from bench.base.options import Range
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.continuations import without_dropout
from bench.models.core.cpu_copy import Array, to_device
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED, States, TokenSlice, at_positions, slices
from bench.models.functional.class_head import ClassHead, class_head_loss, class_log_masses, posterior_log_probs
from bench.models.functional.least_squares import LeastSquares
from bench.models.functional.mefmax import Classes, fixed_eq_freq, fixed_eq_token, frequency_order, mefmax

if TYPE_CHECKING:
    from bench.decodings.core.decoding import Decoding

PARTITIONS: dict[str, Callable[[Tensor, int], Classes]] = {
    "mefmax": lambda counts, number: mefmax(counts),
    "released": lambda counts, number: mefmax(counts, "released"),
    "fixed_eq_token": fixed_eq_token,
    "fixed_eq_freq": fixed_eq_freq,
}
"""Ways to cut the vocabulary into classes, from counts [V] and, for the fixed ones, the number of classes."""


class F2Softmax(Objective):
    """-log p1(class) - log p2(token | class): two softmaxes, over classes and over the tokens of one class.

    Classes have about equal total frequency, and the frequencies inside one are more alike than those of the whole
    vocabulary.

    Source: Choi et al. 2020, section 3.2, eq. 2 (distribution), eq. 3 (loss), eq. 4 (both softmaxes: class vectors u,
    token vectors o, no bias; that they are not tied to the input embedding is inferred from Table 6); section 3.3
    (MefMax, the classes); section 3.4, eq. 7 (decoding). Perplexity is that of eq. 2 over the whole vocabulary.

    Decoding. The model's own is eq. 7: top-k and nucleus draw a class from p1 and then a token from p2, cut within the
    class. Section 3.4 leaves the choice of the class open; greedy search takes the most probable one (section 4.2.2).
    Nucleus sampling and beam search, which scores a beam by log p2 in that class, were added here. Sampling without
    a cut is the same under eq. 7 and eq. 2. `posterior:` decodes by eq. 2, the ablation of section 4.4.2.

    The paper links no code. What is called released here is the first commit, 211c53a, of another group's repository
    (FadedCosine/POS-Guided-Neural-Text-Generation), which has a README of F2-Softmax and other code. It may
    have been changed, and no statement about the paper's authors rests on it alone. Where it differs:

    - its class boundaries follow another rule than Algorithm 1; `classes="released"` is that rule.
    - its "decoupled" sampling keeps the classes of the upper 0.9 of p1, and fills up a class of fewer than k tokens
      with tokens of the next class drawn; eq. 7 keeps all classes and stays in one class. Its "greedy" draws the class
      and takes the best token; section 4.1.5 calls greedy deterministic. `f2_released:topk=3` and `f2_released:topk=1`
      decode so (`bench.decodings.core.released_classes`).
    - it cuts to the top k before it divides by the temperature; eq. 7 has no temperature here.

    From a pretrained softmax (not in the paper): tokens keep their output vectors and bias, so p2 is what the softmax
    gives within a class; class vectors and a class bias are fitted by least squares to the log-probability that the
    softmax gives each class on training text. Without a pretrained softmax biases are zero and not trained.

    Args:
        backbone: any without copying.
        classes: `mefmax` is Algorithm 1, `released` the rule of that code; `fixed_eq_token` and `fixed_eq_freq` are the
            ablations of section 4.4.1.
        number: of classes, for the two fixed ones.

    Raises:
        UsageError: for a number that is missing or has no effect.
    """

    name = "f2softmax"
    equations = (
        r"p(x \mid h) = p_1(c_x \mid h)\, p_2(x \mid c_x, h)",
        r"\ell_t = -\log p_1(c_{x_t} \mid h) - \log p_2(x_t \mid c_{x_t}, h)",
        r"p_1(c \mid h) = \frac{e^{h^\top u_c}}{\sum_k e^{h^\top u_k}}",
        r"p_2(x \mid c, h) = \frac{e^{h^\top o_x}}{\sum_{v \in c} e^{h^\top o_v}}",
    )
    uses_token_counts = True
    runs_on_copying = False
    revised: ClassVar[Mapping[str, int]] = {"classes=released": 2}  # a class with exactly its share is full

    counts: Tensor  # [V] of each token as a target; stored, so that a run that starts from this one has its classes
    order: Tensor  # [V] token at each rank of falling frequency
    ranks: Tensor  # [V] rank of each token
    class_on_cpu: Array  # [V] class of each token
    sizes: tuple[int, ...]  # K numbers of tokens, from the most frequent class on
    token_weight: nn.Parameter  # [V, D] o of eq. 4, in the order of ranks
    class_weight: nn.Parameter  # [K, D] u of eq. 4
    token_bias: nn.Parameter | None  # [V]
    class_bias: nn.Parameter  # [K]

    def __init__(
        self,
        backbone: Backbone,
        *,
        classes: Literal["mefmax", "released", "fixed_eq_token", "fixed_eq_freq"] = "mefmax",
        number: Annotated[int, Range(0)] = 0,
    ) -> None:
        super().__init__(backbone)
        self.partition, self.number = classes, number
        self.register_load_state_dict_post_hook(F2Softmax._train_biases)

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse a number that is missing, or that has no effect."""
        classes, number = options["classes"], options["number"]
        is_fixed = classes.startswith("fixed")
        if is_fixed and not number:
            raise UsageError(f"classes={classes} needs the number of classes, for example number=8; got {number}")
        if number and not is_fixed:
            raise UsageError(
                f"number={number} has no effect with classes={classes}, which chooses the number itself; leave it out, "
                "or take classes=fixed_eq_token or fixed_eq_freq"
            )

    # Classes and weights ----------------------------------------------------------------------------------------

    def prepare(self, counts: Tensor) -> None:
        """Make classes from how often each token is a target, [V], and a head from scratch.

        A token that was never seen counts once. Weights are normal with the scale of the input embedding. Of the
        backbone's own head only weights that are tied to others are trained.

        Raises:
            UsageError: for a table of another vocabulary, or a number that leaves a class empty.
        """
        self._check(counts)
        counts = counts.clamp(min=1)
        boundaries = PARTITIONS[self.partition](counts, self.number).boundaries
        self.sizes = tuple(stop - start for start, stop in pairwise((0, *boundaries, len(counts))))
        order = frequency_order(counts)
        self.register_buffer("counts", counts)
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("ranks", order.argsort(), persistent=False)
        self.class_on_cpu = np.zeros(len(counts), np.int64)
        self.class_on_cpu[order.numpy()] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._make_weights(n_tokens=len(counts), n_classes=len(self.sizes))
        for parameter in unshared(self.backbone, self.backbone.head_parameters()):
            parameter.requires_grad_(False)

    def _check(self, counts: Tensor) -> None:
        """Refuse counts that no classes can be made of."""
        size = self.backbone.vocabulary_size
        if len(counts) != size:
            raise UsageError(
                f"expected {size} token counts, one for each row of the model's head, got {len(counts)}; count with "
                f"its tokenizer, e.g. by torch.bincount(..., minlength={size})"
            )
        if self.number > size:
            raise UsageError(f"{self.number} classes cannot share {size} tokens: each needs one; lower number")

    def _make_weights(self, n_tokens: int, n_classes: int) -> None:
        """Draw both weights; biases are zero, and there is one of tokens where the backbone's head has one."""
        embedding, width = self.backbone.embedding(), self.backbone.width
        deviation = embedding.detach().std()
        head = self.backbone.linear_head()
        self.head_trains = head is None or head.weight.requires_grad
        self.token_weight = nn.Parameter(deviation * torch.randn(n_tokens, width).to(embedding))
        self.class_weight = nn.Parameter(deviation * torch.randn(n_classes, width).to(embedding))
        self.class_bias = nn.Parameter(embedding.new_zeros(n_classes), requires_grad=False)
        self.token_bias = None
        if head is not None and (head.bias is not None or head.offset is not None):
            self.token_bias = nn.Parameter(embedding.new_zeros(n_tokens), requires_grad=False)

    @property
    def head(self) -> ClassHead:
        """The weights of eq. 4 with their biases."""
        return ClassHead(self.token_weight, self.class_weight, self.sizes, self.token_bias, self.class_bias)

    @cached_property
    def classes(self) -> Tensor:
        """Class of each token, [V]: those of the head."""
        return self.head.classes(self.ranks)

    def head_parameters(self) -> list[nn.Parameter]:
        """Only the method's own: the backbone's head is not used."""
        return self.own_parameters()

    # Distribution and loss --------------------------------------------------------------------------------------

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Eq. 2, [n, V]."""
        return self.logits(tokens)

    def logits(self, tokens: TokenSlice) -> Tensor:
        """Log of eq. 2, which is normalised already, [n, V]."""
        by_rank = posterior_log_probs(tokens.hidden, self.head)
        return by_rank.index_select(1, self.ranks)

    def loss(self, states: States) -> LossSum:
        """Eq. 3 summed over target tokens, from the columns of each target's own class."""
        known = states.on_cpu().targets
        places = np.flatnonzero(known != IGNORED)  # [n] among the B * T positions
        targets = known.reshape(-1)[places]
        counts: list[int] = np.bincount(self.class_on_cpu[targets], minlength=len(self.sizes)).tolist()
        on_device = to_device({"places": places, "targets": targets}, states.hidden.device)
        hidden = at_positions(states.hidden, on_device["places"])  # [n, D]
        total, terms = class_head_loss(hidden, self.ranks[on_device["targets"]], self.head, counts)
        n_tokens = torch.full((), len(places), device=hidden.device)
        return LossSum(total, n_tokens, terms)

    # Decoding ---------------------------------------------------------------------------------------------------

    @classmethod
    def resolved(cls, decoding: Decoding) -> Decoding:
        """Return the method's form of a decoding: eq. 7 (`decoupled`), and eq. 2 where nothing is cut.

        Raises:
            UsageError: for a setting that eq. 7 does not have.
        """
        if decoding.distribution != "model":
            return decoding
        if decoding.name == "sample":
            return replace(decoding, distribution="posterior")
        try:
            return replace(decoding, distribution="decoupled")
        except UsageError as error:
            raise UsageError(
                f"f2softmax: {error}; posterior:{decoding.text} decodes by the whole distribution"
            ) from None

    def decode_log_probs(self, tokens: TokenSlice, decoding: Decoding) -> Tensor:
        """Eq. 7 as one distribution over tokens, or eq. 2, [n, V]; greedy and beam search take the best class."""
        return super().decode_log_probs(tokens, self.resolved(decoding))

    # From a pretrained softmax ----------------------------------------------------------------------------------

    def warm_start(self, batches: Iterable[Batch]) -> None:
        """Start from the backbone's softmax: copy its token vectors, and fit the class vectors on these batches.

        Raises:
            UsageError: for a backbone whose head is not a matrix product, or when no batch has a target.
        """
        head = self.backbone.linear_head()
        if head is None:
            raise UsageError(
                f"f2softmax starts from a linear softmax head; {type(self.backbone).__name__} has another kind of "
                "head; take a backbone with a linear head, or one that is trained from scratch"
            )
        with torch.no_grad():
            self.token_weight.copy_(head.weight[self.order])
            if self.token_bias is not None:
                biases = torch.stack([bias for bias in (head.bias, head.offset) if bias is not None])
                self.token_bias.copy_(biases.sum(0)[self.order])
            weight, bias = self._fitted_classes(batches)
            self.class_weight.copy_(weight)
            self.class_bias.copy_(bias)
        self.token_weight.requires_grad_(self.head_trains)
        self._train_biases()

    def _fitted_classes(self, batches: Iterable[Batch]) -> tuple[Tensor, Tensor]:
        """Fit class vectors [K, D] and bias [K] to the log-mass of each class under the softmax over all tokens.

        Log-masses are centred in each row: a shift of a row changes no softmax, so it must not change the ridge.
        """
        fit = LeastSquares()
        with without_dropout(self.backbone):
            for batch in batches:
                for tokens in slices(self.backbone.states(batch), self.slice_size):
                    masses = class_log_masses(tokens.hidden, self.head)  # [n, K]
                    fit.add(tokens.hidden, masses - masses.mean(1, keepdim=True))
        if not fit.slices:
            raise UsageError("f2softmax fits its class vectors to batches with labels, and no batch has a target")
        return fit.solve()

    def _train_biases(self, *unused: object) -> None:
        """Train only biases of a pretrained softmax, which are not zero. Also called after weights are loaded."""
        self.class_bias.requires_grad_(bool(self.class_bias.any()))
        if self.token_bias is not None:
            self.token_bias.requires_grad_(self.head_trains and bool(self.token_bias.any()))


def unshared(module: nn.Module, parameters: Iterable[nn.Parameter]) -> Iterator[nn.Parameter]:
    """Yield the parameters that a module has in one place only, such as an output embedding that is not tied."""
    places = [id(parameter) for _, parameter in module.named_parameters(remove_duplicate=False)]
    return (parameter for parameter in parameters if places.count(id(parameter)) == 1)
