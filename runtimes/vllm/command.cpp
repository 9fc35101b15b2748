#include "runtimes/vllm/command.h"

#include <sstream>

#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/speculation.h"

namespace vramfit::vllm {

std::string command_of(const Shape& shape, const Options& options, const Start& start) {
  std::ostringstream line;
  line << "vllm serve " << shape.name;
  if (options.type == DType::Fp16) line << " --dtype float16";
  if (options.type == DType::Fp32) line << " --dtype float32";
  if (!options.quantization.empty()) line << " --quantization " << options.quantization;
  line << " --max-model-len " << start.length;
  if (options.cache_bytes) {
    line << " --kv-cache-memory-bytes " << *options.cache_bytes;
  } else {
    line << " --gpu-memory-utilization " << options.utilization;
  }
  line << " --max-num-batched-tokens " << start.batch.tokens << " --max-num-seqs "
       << start.batch.sequences;
  if (options.cache_type != "auto") line << " --kv-cache-dtype " << options.cache_type;
  if (options.state_type != "auto") line << " --mamba-cache-dtype " << options.state_type;
  if (options.matrix_type != "auto") line << " --mamba-ssm-cache-dtype " << options.matrix_type;
  if (options.block) line << " --block-size " << *options.block;
  if (options.largest_capture) {
    line << " --max-cudagraph-capture-size " << *options.largest_capture;
  }
  if (options.text_only) line << " --language-model-only";
  if (options.eager) line << " --enforce-eager";
  if (options.tensor_parallel > 1) line << " --tensor-parallel-size " << options.tensor_parallel;
  if (options.data_parallel > 1) line << " --data-parallel-size " << options.data_parallel;
  if (options.expert_parallel) line << " --enable-expert-parallel";
  if (options.pipeline > 1) line << " --pipeline-parallel-size " << options.pipeline;
  if (options.offloaded > 0) line << " --cpu-offload-gb " << options.offloaded;
  if (options.drafted > 0) {
    line << " --speculative-config '{\"method\": \"" << name(options.drafts) << '"';
    const bool of_another = shape.draft != nullptr && options.drafts != Drafts::Mtp;
    if (of_another) line << ", \"model\": \"" << shape.draft->shape.name << '"';
    line << ", \"num_speculative_tokens\": " << options.drafted << "}'";
  }
  if (options.adapters > 0) {
    line << " --enable-lora --max-loras " << options.adapters << " --max-lora-rank "
         << options.adapters_rank;
  }
  return line.str();
}

}  // namespace vramfit::vllm
