"""Unlikelihood in a loop of your own, with Accelerate: python plain_loop.py ROWS.jsonl OUT [MODEL]

A line of ROWS.jsonl is {"prompt": "...", "completion": "..."}; the loss is on the whole text.
"""

import json
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

import bench

rows, out, name = [*sys.argv[1:3], *sys.argv[3:], "HuggingFaceTB/SmolLM2-135M-Instruct"][:3]
model, tokenizer = AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token


def collate(texts):
    """A padded batch, without a loss on padding."""
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}


with open(rows, encoding="utf-8") as file:
    texts = ["{prompt} {completion}".format(**json.loads(line)) + tokenizer.eos_token for line in file]

accelerator = Accelerator()
bench.attach(model, "ul_token", tokenizer)  # before `prepare`
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
loader = DataLoader(texts, batch_size=4, shuffle=True, collate_fn=collate)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()
for _, batch in zip(range(20), loader, strict=False):
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.print(float(loss.detach()))
model = bench.detach(accelerator.unwrap_model(model))
if accelerator.is_main_process:
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
