"""BiLSTM backbones: the recurrent sequence-to-sequence models of AdaDec (Peng et al. 2019), from scratch.

`variant=released` does what the authors' code does (google-research/language, exemplar_decoding) where it differs:

- the two directions of the encoder meet at the top only, with a residual around every layer of a deeper stack;
- there is dropout before the bridge;
- a tanh layer with dropout before and after it stands between the exemplar's last states and C (eq. 11);
- there is always input feeding;
- copying has projected memories of its own, weighted by the attention vector, which alone decides whether to copy.

Methods take it by name: `--method adadec.released`. Their beams are `--decode beam=10+gnmt=1.0+unrepeated_ngram=3`.

Not reproduced, because they are no part of the model: loss averaged over padding too; 1e-8 added inside its
logarithm; scheduled sampling and clipping at 0.1 for NYT; a learning rate cut in steps; beams with an unknown word
passed over, and repeated words removed. Of the model: attention for Gigaword reads the encoder's states unprojected,
for NYT without the matrix of "general"; four dropout rates are one here. Options give the rest: no copying for Gigaword
(`copy=false`), lambda of norm 1 for NYT (`norm=1`). Orthogonal LSTM weights, forget bias 1, Xavier projections and
uniform embeddings are theirs, in both variants.

Shapes: B rows, S source positions, E exemplar positions, T target positions, D width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from bench.base.options import Amount, Positive, Range, checked
from bench.base.seeds import seed_of, seed_torch
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch, Step, TextSource, decoder_inputs, states_of_source
from bench.models.backbones.recurrent.glove import read_glove
from bench.models.backbones.recurrent.lstm import Design, Exemplar
from bench.models.backbones.recurrent.parts import (
    Decoded,
    Decoder,
    DecoderState,
    EncodedSource,
    ExemplarEncoder,
    ExemplarRead,
    Given,
    SourceEncoder,
)
from bench.models.backbones.small import Rate, special_ids
from bench.models.core.states import States, TokenSlice, last_slice
from bench.models.functional.adaptive_lstm import exemplar_coefficients

if TYPE_CHECKING:
    from transformers import PretrainedConfig


class BiLSTMModel(nn.Module):
    """The model that a design describes.

    Args:
        config: special token ids and `vocab_size`, in the form that decoding with `transformers` needs.
        design: its options.
    """

    exemplar_encoder: ExemplarEncoder | None  # of designs that read exemplars
    constant: nn.Parameter | None  # [1, r] of `exemplar=constant`, from which eq. 11 makes its lambda

    def __init__(self, config: Any, design: Design) -> None:
        super().__init__()
        self.config, self.design = config, design
        embedding = nn.Embedding(config.vocab_size, design.embedding_width)
        _init_uniform(embedding.weight, design.embedding_width)
        self.encoder = SourceEncoder(embedding, design)
        self.exemplar_encoder = ExemplarEncoder(design) if design.adapts or design.attends else None
        self.constant = None
        if design.exemplar == "constant":
            self.constant = nn.Parameter(torch.randn(1, design.rank))
        self.decoder = Decoder(design)
        self.output = nn.Linear(design.width, config.vocab_size)
        _init_uniform(self.output.weight, design.width)
        nn.init.zeros_(self.output.bias)
        if design.tied:
            self.output.weight = embedding.weight

    def get_input_embeddings(self) -> nn.Embedding:
        """The embeddings that source, exemplar and target share."""
        return self.encoder.embedding

    def get_output_embeddings(self) -> nn.Linear:
        """The softmax head; tied to the embeddings, with a bias of its own."""
        return self.output

    def get_encoder(self) -> SourceEncoder:
        """The encoder, which `transformers` runs once for each source."""
        return self.encoder

    def read_exemplar(self, ids: Tensor | None, mask: Tensor | None, rows: int) -> ExemplarRead:
        """Return what the decoder gets of the exemplars [B, E] of B = `rows` rows; nothing where it reads none.

        Raises:
            UsageError: when the model reads exemplars and there are none.
        """
        if self.constant is not None:
            ones = self.constant.new_ones(rows, 1)
            return ExemplarRead(exemplar_coefficients(ones, self.constant, self.design.norm))
        if self.exemplar_encoder is None:
            return ExemplarRead()
        if ids is None or mask is None:
            raise UsageError(
                f"backbone.exemplar={self.design.exemplar} reads an exemplar for each row and this batch has none: "
                "take a method that brings them (attexp, adadec, adadec_attexp), or backbone.exemplar=none"
            )
        return self.exemplar_encoder(self.encoder.embed(ids), mask)

    def given(self, encoded: EncodedSource, mask: Tensor, read: ExemplarRead, exemplar_mask: Tensor | None) -> Given:
        """Put together what the decoder reads at every position, from the masks [B, S] and [B, E]."""
        readable = mask > 0
        if read.memory is not None and exemplar_mask is not None:
            readable = torch.cat([readable, exemplar_mask > 0], dim=1)
        return Given(
            memories=present(encoded.last_hidden_state, read.memory),
            readable=readable,
            copy_memories=present(encoded.copy_memory, read.copy_memory),
            coefficients=read.coefficients,
        )

    def start(self, encoded: EncodedSource) -> DecoderState:
        """State before the first target token."""
        hidden, cell = present(encoded.hidden, encoded.cell)
        return DecoderState(hidden, cell, torch.zeros_like(hidden))

    def decode(self, ids: Tensor, state: DecoderState, given: Given) -> Decoded:
        """Read target tokens [B, T]."""
        return self.decoder(self.encoder.embed(ids), state, given)


def _init_uniform(weight: Tensor, width: int) -> None:
    """Draw weights evenly, with variance 1 / width."""
    nn.init.uniform_(weight, -math.sqrt(3 / width), math.sqrt(3 / width))


def present(*tensors: Tensor | None) -> list[Tensor]:
    """Return the tensors that are not None."""
    return [tensor for tensor in tensors if tensor is not None]


class BiLSTM(Backbone):
    """A recurrent encoder-decoder that copies: the memory is the encoder's states, labelled with the input tokens.

    Copying is over the fixed vocabulary: from the source and, where the exemplar is attended to, from the exemplar,
    whose tokens stand behind those of the source. The memory that cache methods read is the source alone.
    """

    architecture: ClassVar[str] = "encoder-decoder"
    copies: ClassVar[bool] = True
    model: BiLSTMModel

    def __init__(self, model: BiLSTMModel, tokenizer: Any) -> None:
        super().__init__(model, tokenizer)
        self.copies = model.design.copy  # type: ignore[misc]

    def states(self, batch: Batch) -> States:
        """Position t predicts labels[:, t]; every real source token is readable at every position."""
        ids, mask, labels = batch["input_ids"], batch["attention_mask"], batch["labels"]
        exemplar, exemplar_mask = batch.get("exemplar_ids"), batch.get("exemplar_mask")
        encoded = self.model.encoder(ids, mask)
        read = self.model.read_exemplar(exemplar, exemplar_mask, len(ids))
        given = self.model.given(encoded, mask, read, exemplar_mask)
        inputs = decoder_inputs(labels, self.model.config)
        hidden, copying, _ = self.model.decode(inputs, self.model.start(encoded), given)
        copy_tokens = self.copy_tokens(ids, exemplar)
        return states_of_source(batch, hidden, encoded.last_hidden_state, copying, copy_tokens)

    def extend(self, step: Step) -> TokenSlice:
        """Continue from the named tensors of the cache; the exemplar is encoded in the first step only."""
        assert step.source is not None
        assert step.mask is not None
        model, cache = self.model, step.cache.self_attention_cache
        if not cache.rows:
            read = model.read_exemplar(step.exemplar, step.exemplar_mask, len(step.ids))
            cache.put({name: part for name, part in read._asdict().items() if part is not None})
            cache.put(model.start(step.encoded)._asdict())
        read = ExemplarRead(*map(cache.rows.get, ExemplarRead._fields))
        state = DecoderState(*map(cache.rows.__getitem__, DecoderState._fields))
        given = model.given(step.encoded, step.mask, read, step.exemplar_mask)
        hidden, copying, state = model.decode(step.ids, state, given)
        cache.put(state._asdict())
        if copying is not None:
            copying = copying[:, -1]
        return last_slice(
            hidden[:, -1],
            step.encoded.last_hidden_state,
            step.source,
            step.mask > 0,
            copying,
            self.copy_tokens(step.source, step.exemplar),
            step.history,
        )

    def copy_tokens(self, source: Tensor, exemplar: Tensor | None) -> Tensor | None:
        """Tokens that may be copied, [B, S] or [B, S+E]; None where nothing is copied."""
        if not self.model.design.copy:
            return None
        if exemplar is None or not self.model.design.attends:
            return source
        return torch.cat([source, exemplar], dim=1)


def check_together(options: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other."""
    width, tied, tokens = options["width"], options["tied"], options["tokens"]
    inputs = options["embedding_width"] or width
    if tied and inputs != width:
        raise UsageError(
            f"tied embeddings need backbone.embedding_width = backbone.width, not {inputs} and {width}: "
            "set both alike or backbone.tied=false"
        )
    if options["variant"] == "released" and options["layers"] > 1 and inputs != width:
        raise UsageError(
            f"backbone.variant=released has a residual around the first layer: set backbone.embedding_width, {inputs}, "
            f"and backbone.width, {width}, alike"
        )
    if options["glove"] and (tied or tokens != "words"):
        raise UsageError(
            "backbone.glove needs backbone.tokens=words and backbone.tied=false: its vectors are of whole words and "
            "stay fixed"
        )


@checked("backbone 'bilstm'", check_together)
def bilstm(
    name: str,
    texts: TextSource,
    seed: int,
    *,
    vocabulary: Positive = 4000,
    width: Positive = 128,
    layers: Positive = 1,
    embedding_width: Annotated[int, Range(0)] = 0,
    dropout: Rate = 0.0,
    exemplar: Exemplar = "none",
    exemplar_width: Positive = 32,
    rank: Annotated[int, Range(0)] = 0,
    norm: Amount | None = 0.0,
    input_feeding: bool = False,
    copy: bool = True,
    tied: bool = True,
    tokens: Literal["bpe", "words"] = "bpe",
    glove: str = "",
    variant: Literal["paper", "released"] = "paper",
) -> Backbone:
    """Return SEQ2SEQ, ATTEXP, ADADEC or ADADEC+ATTEXP of Peng et al. 2019 with random weights.

    BiLSTM encoder, tanh bridge, one-layer LSTM decoder, attention of Luong et al. (2015, "general") over projected
    states, copying after See et al. (2017), embeddings shared by source, exemplar, target and softmax. Appendix A's
    Gigaword model: width 256, 3 layers, 25,000 BPE types, exemplar_width 32. Wikibio: width 300, 3 layers,
    exemplar_width 50, 50,000 words, GloVe, not tied. What `variant=released` changes stands at the head of this file.

    Args:
        name, texts, seed: as of `small_causal`.
        vocabulary: tokens of the vocabulary made from the task's own training text.
        width: of the decoder and of each direction of the encoder.
        layers: of the encoder.
        embedding_width: 0 for `width`.
        dropout: of embeddings and before the softmax; variational after encoder layers.
        exemplar: `none`; `attend` to it and copy from it; `adapt` the decoder to it; `both`; `constant`, an adaptive
            decoder with one learned lambda and no exemplar, a control.
        exemplar_width: of each direction of the exemplar's encoder.
        rank: r, number of rank-1 parts of each adaptive map; 0 for `width`.
        norm: l2 norm that lambda is scaled to; 0 for the square root of `width`, none for no scaling.
        input_feeding: whether the attention vector of the position before joins the decoder's input.
        copy: whether tokens are copied.
        tied: whether the softmax has the embeddings' weights.
        tokens: `bpe`, or whole `words`, the rarer of which become `<unk>`.
        glove: file of word vectors; embeddings are taken from it and stay fixed, words without one at random.
        variant: `paper` or `released`.

    Raises:
        UsageError: for an option it cannot have, and for those that contradict each other.
    """
    released = variant == "released"
    design = Design(
        width=width,
        layers=layers,
        embedding_width=embedding_width or width,
        dropout=dropout,
        exemplar=exemplar,
        exemplar_width=exemplar_width,
        rank=rank or width,
        norm=math.sqrt(width) if norm == 0 else norm,
        input_feeding=input_feeding or released,
        copy=copy,
        tied=tied,
        released=released,
    )
    if tokens == "words":
        tokenizer = texts.word_tokenizer(vocabulary)
    else:
        tokenizer = texts.tokenizer(vocabulary)
    seed_torch(seed_of(seed, "weights"))
    model = BiLSTMModel(_config(tokenizer, width), design)
    if glove:
        _fix(model, read_glove(glove, tokenizer.get_vocab(), design.embedding_width))
    return BiLSTM(model, tokenizer)


def _config(tokenizer: Any, width: int) -> PretrainedConfig:
    """Return the configuration that decoding needs of a model."""
    from transformers import PretrainedConfig

    return PretrainedConfig(
        is_encoder_decoder=True,
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=0,  # no keys and values: the cache of `transformers` holds only our named tensors
        decoder_start_token_id=tokenizer.bos_token_id,
        **special_ids(tokenizer),
    )


def _fix(model: BiLSTMModel, vectors: dict[int, Tensor]) -> None:
    """Put word vectors in the embeddings and fix all of them; words without one are drawn with their spread."""
    weight = model.get_input_embeddings().weight
    known = torch.stack(list(vectors.values()))  # [words, I]
    with torch.no_grad():
        weight.normal_(float(known.mean()), float(known.std(correction=0)))
        weight[torch.tensor(list(vectors))] = known
    weight.requires_grad_(False)
