#include "runtimes/vllm/engine_words.h"

namespace vramfit::vllm {
namespace {

using enum ForeignWord::Use;
using enum ForeignWord::Takes;

constexpr const char* kSlots = "what it does to slots of adapters is not predicted; without it";

constexpr ForeignWord kWords[] = {
    {"host port api-key served-model-name tokenizer tokenizer-mode chat-template load-format seed "
     "uvicorn-log-level download-dir revision max-log-len tool-call-parser reasoning-parser "
     "ssl-keyfile ssl-certfile root-path generation-config scheduling-policy response-role "
     "api-server-count max-cpu-loras lora-modules"},
    {"disable-log-stats disable-log-requests enable-log-requests skip-tokenizer-init "
     "enable-auto-tool-choice enable-prefix-caching no-enable-prefix-caching "
     "enable-chunked-prefill trust-request-chat-template",
     PassedOver, Truth},
    // Others have these words for what they refuse.
    {"quantization -q", Means, Value, "quant"},
    {"tensor-parallel-size -tp", Means, Value, "tensor-parallel"},
    {"pipeline-parallel-size -pp", Means, Value, "pipeline-parallel"},
    {"data-parallel-size -dp", Means, Value, "data-parallel"},
    {"fully-sharded-loras enable-tower-connector-lora enable-moe-shared-loras", Refused, Truth,
     kSlots},
};

}  // namespace

std::span<const ForeignWord> engine_words() { return kWords; }

}  // namespace vramfit::vllm
