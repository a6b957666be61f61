"""Ambiguous Template as a task: loss on the word only, one probe a prompt, words as tokens."""

from __future__ import annotations

import torch

from bench.tasks.ambiguous_template import AmbiguousTemplate
from bench.tasks.encode.codec import Codec


def made() -> tuple[AmbiguousTemplate, Codec]:
    task = AmbiguousTemplate()
    return task, Codec(task.tokenizer(0), "decoder-only", 40, 8)


def test_the_loss_is_on_the_target_word_alone() -> None:
    task, codec = made()
    examples = task.split("train").examples[:8]
    batch = codec.train_batch(task.encode(examples, codec))
    for ids, labels, example in zip(batch["input_ids"], batch["labels"], examples, strict=True):
        carried = labels[labels != -100]
        assert codec.tokenizer.decode(carried) == example.target
        assert torch.equal(ids[labels != -100], carried)


def test_both_words_stand_in_the_prompt_as_known_tokens() -> None:
    task, codec = made()
    rows = task.encode(task.split("test").examples[:200], codec)
    for row in rows:
        assert codec.tokenizer.unk_token_id not in (*row.source, *row.target)
        assert set(row.target) <= set(row.source)


def test_analogies_are_nearly_parallelograms_in_the_reference_embeddings() -> None:
    task, codec = made()
    vectors = task.reference_embeddings(codec.tokenizer, 64, seed=0)
    assert vectors is not None
    pairs = task.pairs()["capitals"]
    ids = [[codec.tokenizer.convert_tokens_to_ids(word) for word in pair] for pair in pairs]
    shift = torch.stack([vectors[b] - vectors[a] for a, b in ids])
    shift = torch.nn.functional.normalize(shift, dim=1)
    cosines = (shift @ shift.T)[~torch.eye(len(shift), dtype=torch.bool)]
    assert cosines.mean() > 0.6
    assert torch.equal(vectors, task.reference_embeddings(codec.tokenizer, 64, seed=0))
