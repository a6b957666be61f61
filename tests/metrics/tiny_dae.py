"""A tiny DAE checkpoint in the shape of the authors', and a plain-loop reading of a pair."""

import torch
from transformers import ElectraConfig

from bench.metrics.faithfulness import dae
from tests.metrics import tiny_verifiers


def electra(folder):
    """ELECTRA with smaller embeddings than states, so that its projection is there too."""
    words = len(tiny_verifiers.vocabulary())
    config = ElectraConfig(
        vocab_size=words, max_position_embeddings=512, embedding_size=8, attention_probs_dropout_prob=0.1,
        hidden_dropout_prob=0.1, **tiny_verifiers.SIZES,
    )  # fmt: skip
    return tiny_verifiers.with_words(tiny_verifiers.save(dae._model_class()(config), folder, None))


def oracle(verifier, source_words, summary_words, pairs, limit=20, longest=512):
    """Return the logits of each arc of one pair: word by word, one arc after the other, no padding."""
    tokenizer, model = verifier.tokenizer, verifier.model

    def pieces(word):
        return tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word))

    source = [tokenizer.cls_token_id]
    for word in source_words:
        source += pieces(word)
    summary, ends = [tokenizer.sep_token_id], {}
    for number, word in enumerate(summary_words):
        found = pieces(word)
        summary += found
        if found:
            ends[number] = len(summary) - 1
    summary.append(tokenizer.sep_token_id)
    if len(source) + len(summary) > longest:
        source = source[: longest - 2 - len(summary)]
    with torch.inference_mode():
        ids = torch.tensor([source + summary])
        states = model.electra(ids, token_type_ids=torch.zeros_like(ids)).last_hidden_state[0]
        both = [torch.cat([states[len(source) + ends[child]], states[len(source) + ends[head]]])
                for child, head in pairs[:limit]]  # fmt: skip
        return [model.dep_label_classifier(one).tolist() for one in both]


def balance(verifier, logits):
    """Move the bias so that half of the arcs are entailed: a constant answer would show nothing."""
    margins = sorted(row[1] - row[0] for row in logits)
    middle = len(margins) // 2
    with torch.no_grad():
        verifier.model.dep_label_classifier.bias[1] -= (margins[middle - 1] + margins[middle]) / 2
    return verifier
