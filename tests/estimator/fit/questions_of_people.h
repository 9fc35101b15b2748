#pragma once

#include <vector>

// What people of 2026 ask, as they would type it at first.
namespace vramfit::fit {

/// A command line, with a space between two words, and a part of what is to come: of the answer,
/// or, where it is refused, of the refusal, which names what would answer.
struct PeoplesQuestion {
  enum class Expected { Answer, Refusal };
  const char* words;
  Expected expected;
  const char* part;
};

/// Forty that a new user was thought to put first.
inline const std::vector<PeoplesQuestion>& first_questions() {
  using enum PeoplesQuestion::Expected;
  static const std::vector<PeoplesQuestion> list = {
      // Names of cards.
      {"--model llama3-8b --gpu 4090", Answer, "on rtx4090"},
      {"--model llama3-8b --gpu 3090", Answer, "on rtx3090"},
      {"--model llama3-8b --gpu h100", Answer, "on h100-80gb"},
      {"--model llama3-8b --gpu a100", Answer, "there is also a100-40gb"},
      {"--model llama3-8b --gpu H100_SXM", Answer, "on h100-80gb"},
      {"--model llama3-8b --gpu 24G", Answer, "in GiB"},
      {"--model llama3-8b --gpu rtx5060ti", Answer, "on rtx5060ti-16gb"},
      {"--model llama3.2-3b --gpu RTX_4060_Laptop", Answer, "on rtx4060-laptop"},
      {"--model qwen3-4b --gpu T4 --precision fp16", Answer, "on t4"},
      {"--model qwen3-8b --gpu L40S", Answer, "on l40s"},
      // Names of models.
      {"qwen3-4b 4090", Answer, "qwen3-4b:"},
      {"qwen2.5-7b-instruct 3090 --seq 8k", Answer, "qwen2.5-7b-instruct:"},
      {"meta-llama/Llama-3.3-70B-Instruct b200", Answer, "70,553,706,496"},
      {"mistralai/Mistral-7B-Instruct-v0.3 4060ti", Answer, "7,248,023,552"},
      {"mistral-nemo 4090", Answer, "12,247,782,400"},
      {"gemma2-9b 4090", Answer, "9,241,705,984"},
      {"gemma3:27b h100", Answer, "27,009,002,240"},
      {"phi-4 4090 --quant nf4", Answer, "14,659,507,200"},
      {"deepseek-r1:7b 3060", Answer, "7,615,616,512"},
      {"--params 13 --gpu 4090", Answer, "is taken as 13B"},
      // Configs.
      {"google/gemma-3-4b-it 3060", Answer, "num_attention_heads 8"},
      {"mistral-small-3.1 4090 --quant nf4", Answer, "its text model alone"},
      {"microsoft/Phi-3-mini-128k-instruct 4090", Answer, "phi3-mini-128k"},
      {"phi-4-mini-instruct 3060", Answer, "3,836,021,760"},
      {"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B 4090", Answer, "8,190,735,360"},
      {"Qwen/Qwen3-VL-8B-Instruct 4090", Answer, "rotated in one dimension"},
      // Mixtures of experts and other engines.
      {"qwen3-30b-a3b 4090 --runtime llama.cpp --quant q4_k_m", Answer, "qwen3-30b-a3b:"},
      {"gpt-oss:20b 16GB --runtime llama.cpp", Answer, "gpt-oss-20b:"},
      {"mixtral h100", Answer, "46,702,792,704"},
      {"qwen3-8b 4090 --gpu-memory-utilization 0.9", Refusal, "--runtime vllm"},
      // Words of other tools.
      {"llama3-8b 4090 --train --lora-r 16 --lora-dropout 0.05 --checkpoint full", Answer,
       "with dropout"},
      {"qwen3-4b h100 --train --revision main", Answer, "--revision"},
      {"qwen3-4b 4090 --trust-remote-code", Answer, "nobody's code is run here"},
      {"qwen3-4b 4090 --num-beams 4 --generate 64", Refusal, "--batch times as many"},
      {"qwen3-4b h100 --train --packing", Answer, "all its --seq tokens"},
      {"qwen3-4b h100 --train --use-liger-kernel", Refusal, "vramfit run"},
      {"qwen3-4b h100 --train --torch-compile", Refusal, "vramfit model --compile"},
      {"qwen3-4b h100 --train --dpo", Refusal, "vramfit run"},
      // Answers.
      {"llama2-7b 4090 --train --lora 16 --checkpoint full --seq 1024 --max-batch", Answer,
       "largest batch: 13 surely, up to 14"},
      {"qwen3-0.6b 4090 --train --batch 8 --seq 2048", Answer, "logits are most"},
  };
  return list;
}

/// Sixty more, after threads of the projects that are asked: what fits on which card, which window,
/// which batch, and with which tool.
inline const std::vector<PeoplesQuestion>& further_questions() {
  using enum PeoplesQuestion::Expected;
  static const std::vector<PeoplesQuestion> list = {
      // "How much context on my card?"
      {"llama3.1:8b 12GB --runtime llama.cpp --quant q4_k_m --max-ctx", Answer, "largest context"},
      {"qwen2.5-14b 3060 --runtime llama.cpp --quant q4_k_m --ctx 16384", Answer, "3060"},
      {"qwen2.5-coder-32b-instruct 3090 --runtime llama.cpp --quant q4_k_m --ngl 99", Answer,
       "32,7"},
      {"mistral-small 24GB --runtime llama.cpp --quant q5_k_m", Answer, "23,572,403,200"},
      {"llama3.3-70b 48GB --runtime llama.cpp --quant q4_k_m --ctk q8_0 --ctv q8_0 --fa on", Answer,
       "llama3.1-70b"},
      {"gemma3-12b 4070 --runtime llama.cpp --quant q4_0", Answer, "gemma3-12b"},
      {"qwen3-32b 2x3090", Refusal, "--gpus 2 --gpu 3090"},
      {"qwen3-32b 3090 --gpus 2", Answer, "GPUs"},
      {"deepseek-r1:32b 4090 --runtime llama.cpp --quant q4_k_m", Answer, "32,763,876,352"},
      {"llama3.1-8b 8GB --runtime llama.cpp --quant q4_k_m --num_ctx 8192", Answer, "8.59 GB"},
      {"phi4 P40 --runtime llama.cpp --quant q8_0", Answer, "on p40"},
      {"llama2-13b 1080ti --runtime llama.cpp --quant q4_k_m", Answer, "on gtx1080ti"},
      // "Why is my GPU too small for vLLM?"
      {"llama3-8b a10g --max-model-len 8192", Refusal, "--runtime vllm"},
      {"llama3-8b a10g --max-num-seqs 64", Refusal, "--runtime vllm"},
      {"llama3-8b a10g --enforce-eager", Refusal, "--runtime vllm"},
      {"llama3-70b a100 --tensor-parallel-size 4", Refusal, "nearest: --gpus N"},
      {"llama3-8b a10g --kv-cache-dtype fp8", Refusal, "--runtime vllm"},
      // "Can I fine-tune it here?"
      {"llama3.1-8b 4090 --train --load-in-4bit --bnb-4bit-quant-type nf4 --lora-r 16 "
       "--gradient-checkpointing --per-device-train-batch-size 2 --max-seq-length 2048",
       Answer, "LoRA of rank 16"},
      {"mistral-7b-v0.3 T4 --train --quant nf4 --lora 16 --checkpoint full --seq 512 --precision "
       "fp16",
       Answer, "on t4"},
      {"qwen2.5-7b a100 --train --bf16 --optim adamw_torch_fused --gradient-checkpointing", Answer,
       "qwen2.5-7b"},
      {"llama3.2-3b 3090 --train --optim adamw_bnb_8bit --checkpoint full", Answer, "adamw-8bit"},
      {"llama3.2-1b 3060 --train --optim paged_adamw_8bit", Answer, "paged-adamw-8bit"},
      {"qwen3-14b a6000 --train --quant nf4 --lora 64 --lora-targets all-linear --checkpoint full",
       Answer, "on rtx-a6000"},
      {"llama3-70b h100 --gpus 8 --train --strategy fsdp --checkpoint full", Answer,
       "on each of 8 GPUs under fsdp"},
      {"llama3-8b a100 --gpus 4 --train --fsdp full_shard", Answer, "fsdp"},
      {"llama3-8b a100 --gpus 4 --train --deepspeed ds.json", Refusal, "--strategy fsdp"},
      {"gemma2-2b 3070 --train --max-batch", Answer, "largest batch"},
      {"phi3-mini 3080 --train --lora 8 --max-seq", Refusal, "all-linear"},
      {"qwen2.5-0.5b 3050 --train --learning_rate 2e-5 --warmup_ratio 0.1", Answer, "passed over"},
      {"qwen2.5-1.5b L4 --train --gradient_accumulation_steps 8 --per_device_train_batch_size 4",
       Answer, "on l4"},
      {"llama3-8b 4090 --train --qlora", Refusal, "--quant int8, nf4"},
      {"llama3-8b 4090 --train --bits 4", Refusal, "nf4"},
      {"llama3-8b 4090 --train --attn-implementation flash_attention_2", Refusal, "sdpa"},
      {"llama3-8b 4090 --train --neftune-noise-alpha 5", Refusal, "vramfit run"},
      {"llama3-8b 4090 --train --max-grad-norm 1.0", Answer, "clipping"},
      // Reinforcement learning, and further losses.
      {"qwen2.5-3b 4090 --train --grpo", Refusal, "vramfit run"},
      {"qwen2.5-3b 4090 --train --num-generations 8", Refusal, "vramfit run"},
      {"qwen2.5-3b 4090 --train --ref-model qwen2.5-3b", Refusal, "vramfit run"},
      {"qwen2.5-3b 4090 --train --orpo", Refusal, "vramfit run"},
      // Experts: "30B with 3B active, surely it fits?"
      {"qwen3-30b-a3b 4090", Answer, "30,532,122,624"},
      {"gpt-oss-120b h100", Refusal, "--runtime llama.cpp"},
      {"gpt-oss-120b h100 --runtime llama.cpp", Answer, "gpt-oss-120b"},
      {"mixtral-8x22b h100 --runtime llama.cpp --quant q4_k_m", Answer, "mixtral-8x22b"},
      {"glm-4.5-air 24GB --runtime llama.cpp --quant q4_k_m --n-cpu-moe 40", Answer, "glm-4.5-air"},
      {"llama4-scout h100", Answer, "OOM"},
      {"deepseek-v3 b200 --runtime llama.cpp --quant q2_k", Answer, "deepseek-v3"},
      // "Will it run at all?"
      {"7b 8GB", Answer, "llama-shaped"},
      {"70b 2080ti --quant nf4", Answer, "OOM"},
      {"--params 1.5B --gpu 3050 --precision fp16", Answer, "on rtx3050-8gb"},
      {"smollm2-1.7b P100 --runtime llama.cpp --quant q8_0", Answer, "on p100-16gb"},
      {"qwen3-1.7b 5090_laptop", Answer, "on rtx5090-laptop"},
      {"falcon3-7b 4080_super", Answer, "on rtx4080super"},
      {"codellama-34b a100_40g", Answer, "on a100-40gb"},
      {"qwen2.5-72b-instruct h200 --quant int8", Answer, "on h200"},
      {"llama3.1-405b gb200", Answer, "OOM"},
      {"Qwen/Qwen2.5-14B-Instruct-GPTQ-Int4 4090", Refusal, "hf download"},
      {"TheBloke/Llama-2-7B-GGUF 3060", Refusal, "hf download"},
      {"unsloth/Llama-3.2-3B-Instruct 3060 --train --lora 16 --checkpoint full", Answer,
       "llama3.2-3b"},
      {"qwen3-4b voodoo2", Refusal, "--vram 8GiB"},
      {"qwen9-4b 4090", Refusal, "did you mean"},
  };
  return list;
}

}  // namespace vramfit::fit
