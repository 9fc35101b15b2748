#include "estimator/ask/help.h"

namespace vramfit {

std::string short_help() {
  return R"(Will it fit? Runs a training or inference step on paper and says how much GPU memory it needs.

  vramfit qwen3-4b 4090
  vramfit llama3.1-8b 24GB --train --lora 16 --checkpoint full --max-batch
  vramfit qwen3-30b-a3b 4090 --runtime llama.cpp --quant q4_k_m --max-ctx
  vramfit --config my/config.json --gpu h100 --batch 8 --seq 8k --json

Which model: a name (--list), a Hugging Face id, a folder, a config.json, a GGUF file, or a size (7B)
On which GPU: a name (4090, H100 PCIe) or a size (24GB); if not said this machine's, else every one
  --vram SIZE, --headroom SIZE      the card's size; what is to be left free of it
What it does
  --train                           training; inference if not said
  --batch N, --seq N, --generate N  sequences, tokens in each, new tokens
  --precision TYPE, --quant FORMAT  fp32, fp16, bf16; int8, nf4, fp4, or llama.cpp's q4_k_m, ...
  --lora RANK, --optimizer NAME, --checkpoint full, --accumulate N, --autocast TYPE
  --gpus N, --strategy NAME         several GPUs: ddp, zero1, fsdp
  --runtime NAME                    pytorch (default), vramfit, article, llama.cpp, vllm
  --tape FILE                       a script's own run, by vramfit record
  --lengths FILE                    a .jsonl of samples: the longest is --seq
Which answer
  --max-batch, --max-seq            the largest that fits; under llama.cpp --max-ctx, ...
  --advise                          of what does not fit, every change that makes it fit
  --json, --verbose, --formulas, --snapshot FILE, --trace FILE, --verify FILE

Exit status: 0 it fits, 1 it does not, 2 bad input, 3 anything else.
Flags of transformers, PEFT, torchrun and llama.cpp are taken as well. vramfit --help all lists every
flag, vramfit --list models and cards; vramfit --completion bash, vramfit --man.
)";
}

}  // namespace vramfit
