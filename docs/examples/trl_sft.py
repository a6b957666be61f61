"""EAFT in TRL's SFTTrainer: python trl_sft.py ROWS.jsonl OUT [MODEL]

A line of ROWS.jsonl is {"prompt": "...", "completion": "..."}; the loss is on the completion.
TRL comes with the extra `integrations`: pip install './objective-bench[integrations]'
"""

import sys

import torch
from datasets import load_dataset  # noqa: TID253
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

import bench

rows, out, name = [*sys.argv[1:3], *sys.argv[3:], "HuggingFaceTB/SmolLM2-135M-Instruct"][:3]
trainer = bench.trainer_for(SFTTrainer, "eaft", alpha=1.0)(
    model=AutoModelForCausalLM.from_pretrained(name),
    args=SFTConfig(
        out,
        max_steps=20,
        per_device_train_batch_size=4,
        learning_rate=2e-5,
        bf16=torch.cuda.is_available(),
        report_to=[],
    ),
    train_dataset=load_dataset("json", data_files=rows, split="train"),
    processing_class=AutoTokenizer.from_pretrained(name),
)
trainer.train()
bench.detach(trainer.model)
trainer.save_model(out)
