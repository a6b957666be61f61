"""Recipes: settings that several tasks have in common, for each preset."""

from collections.abc import Mapping
from typing import Any

MID: Mapping[str, Any] = {
    "backbone": "smollm2-135m-instruct-q4",
    "trainer.batch_size": 16,
    "trainer.lr": 2e-5,
    "trainer.warmup": 0.1,
    "trainer.weight_decay": 0.0,
    "evaluation.rows": 300,
    "evaluation.batch_size": 50,
}
"""A pretrained model of 135 M parameters, fine-tuned on real rows in at most 40 minutes on one thread of a CPU
(docs/real_models.md).
"""

BART = "beam=4+no_repeat_ngram=3+early_stopping"
"""The generation settings of bart-large's own configuration, which HistAlign's scripts take over without naming one.

Its `config.json` has `num_beams` 4, `no_repeat_ngram_size` 3 and `early_stopping`; length penalty and least length are
the library's defaults, 1 and 0. Those for CNN/DailyMail (`task_specific_params`: length penalty 2, at least 56 tokens)
are not read by the scripts. It forces the begin and the end token as well, which a trained BART writes by
itself. Unknown: whether the configuration was changed, and the library's version.
"""

SMALL: Mapping[str, Any] = {
    "backbone": "small-encdec",
    "decode": "greedy",
    "backbone.vocabulary": 4000,
    "trainer.steps": 200,
    "trainer.batch_size": 16,
    "trainer.lr": 1e-3,
    "trainer.warmup": 0.1,
    "trainer.weight_decay": 0.01,
    "trainer.max_source": 128,
    "trainer.max_target": 40,
    "evaluation.rows": 300,
    "evaluation.batch_size": 50,
    "finetuned:trainer.steps": 60,
    "finetuned:trainer.lr": 3e-4,
    "bilstm:trainer.lr": 3e-3,
}
"""A run takes about a minute on one busy thread."""


HISTALIGN: Mapping[str, Any] = {
    "backbone": "bart-large",
    "methods": "mle,trime,histalign",
    "decode": BART,
    "trainer.batch_size": 128,
    "trainer.warmup": 0.0,
    "trainer.weight_decay": 0.0,
    "trainer.max_source": 512,
    "trainer.precision": "bf16-mixed",
    "bilstm:trainer.lr": 1e-3,
}
"""HistAlign's settings for summarization (Table 8 and A.3), to which a task adds rate, steps and length of a summary.

BART's own configuration decides how the authors' script writes texts (`BART`). Weight decay is nowhere given.
"""

PENG: Mapping[str, Any] = {
    "backbone": "bilstm",
    "methods": "seq2seq,attexp,adadec",
    "decode": "beam=5+gnmt=1.0",
    "bilstm:backbone.dropout": 0.25,
    "trainer.epochs": 20,
    "trainer.batch_size": 64,
    "trainer.lr": 1e-3,
    "trainer.warmup": 0.0,
    "trainer.schedule": "steps",
    "trainer.decay": 0.2,
    "trainer.decay_epochs": 4,
    "trainer.validate": 1,
    "trainer.validate_rows": 2000,
    "trainer.watch": "rouge",
    "trainer.select": "rouge-l",
    "trainer.weight_decay": 0.01,
    "trainer.clip": 1.0,
}
"""Settings of Peng et al. 2019, appendix A.1 (exemplars: AdaDec), to which a task adds sizes and lengths.

Beams of width 5 "with a 1.0 length penalty (Wu et al., 2016)", for Gigaword and the Times; A.2 follows for Wikibio. The
best epoch by ROUGE of the validation split is kept; of how many of its rows they do not say, here of 2,000. Theirs and
not here: dropout is one of 0.15, 0.25 and 0.35.
"""

F2_METHODS = "mle,face,ul_token,ul_token_seq,f2softmax"
"""What F2-Softmax trains (Tables 1 and 2)."""

SMALL_OPEN_ENDED: Mapping[str, Any] = {
    "backbone": "small-causal",
    "decode": "topk=20+max_new_tokens=64",
    "backbone.vocabulary": 2000,
    "backbone.width": 128,
    "backbone.layers": 2,
    "trainer.steps": 150,
    "trainer.batch_size": 16,
    "trainer.lr": 2e-3,
    "trainer.warmup": 0.05,
    "trainer.weight_decay": 0.001,
    "trainer.clip": 1.0,
    "trainer.max_source": 100,
    "trainer.max_target": 128,
    "finetuned:trainer.steps": 50,
    "finetuned:trainer.lr": 3e-4,
    "evaluation.rows": 200,
    "evaluation.batch_size": 60,
}
"""A training on running text or continuations takes about half a minute on one thread."""

SMALL_STREAM: Mapping[str, Any] = {**SMALL_OPEN_ENDED, "task.columns": 1}
"""The same for rows that are cut from running text by tokens."""


F2_ENGLISH: Mapping[str, Any] = {
    "backbone": "f2-decoder",
    "decode": "topk=3+max_new_tokens=100,greedy+max_new_tokens=100",
    "backbone.vocabulary": 30000,
    "trainer.epochs": 10,
    "trainer.batch_size": 8,
    "trainer.lr": 1e-4,
    "trainer.warmup": 0.0,
    "trainer.weight_decay": 0.001,
    "trainer.clip": 0.25,
    "trainer.max_source": 100,
    "finetuned:trainer.steps": 1500,
    "finetuned:trainer.lr": 1e-5,
    "evaluation.batch_size": 20,
}
"""F2-Softmax for WikiText-103 (Tables 6 and 7), to which a task adds the length of a row. Its epochs are not given."""

F2_KOREAN: Mapping[str, Any] = {
    **F2_ENGLISH,
    "methods": F2_METHODS,
    "decode": "topk=20+max_new_tokens=100,greedy+max_new_tokens=100",
    "backbone.vocabulary": 40000,
    "f2-decoder:backbone.context": 512,
    "trainer.batch_size": 16,
    "trainer.lr": 2e-4,
    "trainer.weight_decay": 0.0,
    "trainer.max_target": 511,  # 512 positions with the token that every block begins with
    "finetuned:trainer.lr": 2e-5,
}
"""F2-Softmax for Melo-Lyrics (Tables 1, 6 and 7). Its epochs are not given; 10 is what its code has for generation."""
