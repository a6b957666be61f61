"""Sizes of tiny models: values of configuration fields that many families share, and what some need besides."""

from typing import Any

SIZES: dict[str, Any] = {
    "vocab_size": 96, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 32, "word_embed_proj_dim": 32,
    "num_hidden_layers": 2, "num_layers": 2, "n_layers": 2, "n_layer": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_encoder_layers": 2, "num_decoder_layers": 2,
    "num_attention_heads": 4, "num_heads": 4, "n_heads": 4, "n_head": 4, "attention_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8, "rotary_dim": 4,
    "intermediate_size": 48, "ffn_dim": 48, "d_ff": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "n_inner": 48,
    "dff": 48, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
    "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64, "max_seq_len": 64, "sliding_window": 32,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
    "v_head_dim": 8, "dropout": 0.0,
    # A scale or a cap that were forgotten would show.
    "logit_scale": 3.0, "logits_scaling": 0.25, "lm_head_multiplier": 3.0, "logits_mup_width_multiplier": 0.25,
    "final_logit_softcapping": 0.5, "logits_soft_cap": 0.5, "output_logit_soft_cap": 0.5,
}  # fmt: skip
"""Small values of fields that many configurations share."""

ONE_OF_EACH = {"layer_types": ["linear_attention", "full_attention"]}
MAMBA_HEADS = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 16}
PER_LAYER = {"vocab_size_per_layer_input": 96, "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 0}
TEXT = {
    "vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64, "sliding_window": 32, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "final_logit_softcapping": 0.5,
}  # fmt: skip
AS_MANY_KEYS = {"num_key_value_heads": 4}
DECODER = {"is_decoder": True}

ENCODERS = (
    "bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert",
    "roberta", "roberta-prelayernorm", "roformer", "xlm-roberta", "xlm-roberta-xl",
)  # fmt: skip

EQUAL_HEADS = (
    "axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots3_note_text", "glm4_moe_lite", "glm_moe_dsa",
    "sarvam_mla", "youtu",
)  # fmt: skip

OWN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(EQUAL_HEADS, AS_MANY_KEYS),
    **dict.fromkeys(ENCODERS, DECODER),
    "bailing_hybrid": {**ONE_OF_EACH, **AS_MANY_KEYS},
    "bamba": {**MAMBA_HEADS, "attn_layer_indices": [1]},
    "dory": {"num_hidden_layers": 3, "n_input_layers": 1, "n_recurrent_layers": 1, "n_output_layers": 1},
    "dots1": {"n_shared_experts": 1},
    "fsmt": {"src_vocab_size": 96, "tgt_vocab_size": 96},
    "gemma3n_text": {
        **PER_LAYER,
        "layer_types": ["sliding_attention", "full_attention"],
        "laurel_rank": 8,
        "activation_sparsity_pattern": [0.0, 0.0],
    },
    "gemma4_text": {**PER_LAYER, "global_head_dim": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {**MAMBA_HEADS, "layer_types": ["mamba", "attention"]},
    "jamba": {"attn_layer_offset": 1, "attn_layer_period": 2},
    "kimi_linear": {**ONE_OF_EACH, **AS_MANY_KEYS},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "longcat_flash": {
        **AS_MANY_KEYS,
        "ffn_hidden_size": 48,
        "expert_ffn_hidden_size": 16,
        "zero_expert_num": 2,
        "moe_topk": 2,
    },
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 16},
    "minicpm3": {**AS_MANY_KEYS, "logits_scaling": None},  # a property there
    "mpt": {"logit_scale": None},  # a field that the library does not read
    "qwen3_5_moe_text": ONE_OF_EACH,
    "qwen3_5_text": ONE_OF_EACH,
    "qwen3_next": ONE_OF_EACH,
    "reformer": {
        **DECODER,
        "axial_pos_embds_dim": [16, 16],
        "axial_pos_shape": [8, 8],
        "attention_head_size": 8,
        "feed_forward_size": 48,
    },
    "rembert": {**DECODER, "input_embedding_size": 32, "output_embedding_size": 32},
    "roc_bert": {
        **DECODER,
        "pronunciation_vocab_size": 20,
        "pronunciation_embed_dim": 8,
        "shape_vocab_size": 20,
        "shape_embed_dim": 8,
    },
    "t5gemma": {"encoder": TEXT, "decoder": TEXT, "decoder_start_token_id": None},
    "xlm": {"emb_dim": 32, "n_words": 96, "vocab_size": None},
    "xmod": {**DECODER, "default_language": "en_XX"},
    "zamba2": {
        "layer_types": ["mamba", "hybrid"],
        "hybrid_layer_ids": [1],
        "mamba_d_state": 16,
        "mamba_headdim": 8,
        "mamba_ngroups": 1,
        "n_mamba_heads": 8,
    },
    "zaya": {"num_experts_per_tok": 1},
}
"""What a family needs besides, in place of the shared values; None leaves a field to the family."""

NOT_TRIED = {
    "audioflamingo3", "blt", "cohere_compass_text", "dbrx", "dots3_note", "emu3", "encoder-decoder", "fuyu", "gemma3",
    "gemma3n", "gemma4", "gemma4_assistant", "gemma4_unified", "gemma4_unified_assistant", "git", "glmasr",
    "got_ocr2", "granite_speech", "granite_speech_plus", "llama4", "mllama", "moss_transcribe_diarize",
    "musicflamingo", "musicgen", "musicgen_melody", "nemo_speechlm", "omniasr", "phi4_multimodal", "qwen2_audio",
    "qwen3_5", "qwen3_5_moe", "qwen3_asr", "qwen4_exp", "qwen4_exp_text", "t5gemma2", "vibevoice_asr", "voxtral",
    "voxtral_realtime", "zamba",
}  # fmt: skip
"""Families that read more than text, or have no tiny form here."""
