"""Keywords and their types, for type checkers alone: the flags of `vramfit --help`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

Number = int | str
Path = str | PathLike[str]


class Asking(TypedDict, total=False):
    """What every question takes. Sizes of memory: bytes, or text with a unit ("24GiB")."""

    # which model
    model: Any  #: a name, a Hugging Face id, a path, or a transformers model
    gguf: str | PathLike[str]
    config: Any  #: a config.json: its path, what it holds, or a PretrainedConfig
    params: Number
    hidden: Number
    layers: Number
    # what it does
    train: bool
    runtime: str
    precision: str
    batch: Number
    seq: Number
    optimizer: str
    accumulate: Number
    loss_only: bool
    generate: Number
    attention: str
    checkpoint: str
    lora: Any  #: a rank, or a peft LoraConfig
    lora_targets: str | Sequence[str]
    lora_dropout: Number | float
    gpus: Number
    strategy: str
    autocast: str
    quant: str
    double_quant: bool
    quant_compute: str
    quant_storage: str
    device_map: str
    cache_implementation: str
    again: bool
    padded: bool
    unpadded: bool
    bucket_view: bool
    bucket_cap_mb: Number
    reshard_after_forward: bool | str
    mixed_precision: str
    reduce_dtype: str
    checkpoint_every: Number
    head: str
    cache: str
    block: Number
    lengths: str
    # under llama.cpp
    ctx: Number
    parallel: Number
    gpu_layers: Number | str
    cache_type_k: str
    cache_type_v: str
    kv_unified: bool
    ubatch_size: Number
    batch_size: Number
    outputs: str
    flash_attn: str
    no_kv_offload: bool
    no_op_offload: bool
    swa_full: bool
    no_mmap: bool
    override_tensor: str | Sequence[str]
    cpu_moe: bool
    n_cpu_moe: Number
    tensor_split: str | Sequence[Number]
    split_mode: str
    main_gpu: Number
    fit: str
    fit_target: str | Sequence[Number]
    fit_ctx: Number
    # on which GPU
    gpu: str
    vram: Number | float
    headroom: Number | float
    # which answer
    beyond_positions: bool
    formulas: bool
    strict: bool
    # what people have in hand
    args: Any  #: transformers.TrainingArguments
    quantization_config: Any  #: transformers.BitsAndBytesConfig
    accelerate: Path | Mapping[str, Any]
    axolotl: Path | Mapping[str, Any]
    # in the names of transformers, PEFT, bitsandbytes, torchrun and Accelerate
    model_name_or_path: str
    torch_dtype: str
    dtype: str
    per_device_train_batch_size: int
    gradient_accumulation_steps: int
    max_seq_length: int
    max_length: int
    max_new_tokens: int
    attn_implementation: str
    optim: str
    lora_r: int
    lora_target_modules: str | Sequence[str]
    load_in_8bit: bool
    load_in_4bit: bool
    bf16: bool
    fp16: bool
    bnb_4bit_quant_type: str
    bnb_4bit_compute_dtype: str
    bnb_4bit_use_double_quant: bool
    bnb_4bit_quant_storage: str
    nproc_per_node: int
    num_processes: int
    num_gpus: int
    fsdp: str
    use_fsdp: bool
    fsdp_reshard_after_forward: bool
    ddp_bucket_cap_mb: int
    gradient_as_bucket_view: bool
    ddp_gradient_as_bucket_view: bool
    # in llama.cpp's and Ollama's
    c: Number
    ctx_size: Number
    num_ctx: Number
    np: Number
    num_parallel: Number
    ollama_num_parallel: Number
    ngl: Number | str
    n_gpu_layers: Number | str
    num_gpu: Number
    ctk: str
    ctv: str
    kvu: bool
    ub: Number
    b: Number
    num_batch: Number
    fa: str
    nkvo: bool
    ot: str | Sequence[str]
    cmoe: bool
    ncmoe: Number
    ts: str | Sequence[Number]
    sm: str
    mg: Number
    fitt: str | Sequence[Number]
    fitc: Number
    gradient_checkpointing: bool
    gradient_checkpointing_kwargs: Mapping[str, bool]


class Given(Asking, total=False):
    """`estimate` also takes what the other questions are made of."""

    max_batch: bool
    max_seq: bool
    max_ctx: bool
    max_parallel: bool
    max_gpu_layers: bool
    max_quant: bool
    advise: bool
