"""HistAlign in transformers.Trainer: python hf_trainer.py ROWS.jsonl OUT [MODEL]

A line of ROWS.jsonl is {"prompt": "...", "completion": "..."}; the loss is on the completion.
"""

import json
import sys

from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

import bench

rows, out, name = [*sys.argv[1:3], *sys.argv[3:], "HuggingFaceTB/SmolLM2-135M-Instruct"][:3]
model, tokenizer = AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token


def encoded(row):
    """Token ids of a row, and the labels: those of the completion alone."""
    prompt = tokenizer(row["prompt"])["input_ids"]
    completion = tokenizer(row["completion"], add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
    return {"input_ids": prompt + completion, "labels": [-100] * len(prompt) + completion}


with open(rows, encoding="utf-8") as file:
    data = [encoded(json.loads(line)) for line in file]

bench.attach(model, "histalign.released", tokenizer, alpha=0.5)
arguments = TrainingArguments(
    out, max_steps=20, per_device_train_batch_size=4, learning_rate=2e-5, logging_steps=5, report_to=[]
)
trainer = Trainer(
    model=model,
    args=arguments,
    train_dataset=data,
    eval_dataset=data[:8],
    data_collator=DataCollatorForSeq2Seq(tokenizer),
)
trainer.train()
print(trainer.evaluate()["eval_loss"])  # nats per target token under HistAlign's own distribution
bench.detach(model)
trainer.save_model(out)  # a plain model; load it and attach again to have the cache back
tokenizer.save_pretrained(out)
