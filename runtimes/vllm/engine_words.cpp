#include "runtimes/vllm/engine_words.h"

namespace vramfit::vllm {
namespace {

using enum ForeignWord::Use;
using enum ForeignWord::Takes;

constexpr const char* kStages =
    "how a pipeline's stages fill their cards is not predicted; nearest: --tensor-parallel-size";
constexpr const char* kReplicas =
    "engines side by side are not predicted together; each alone, without it";
constexpr const char* kDrafts =
    "what drafts takes of the card is not predicted; vramfit run -- vllm serve runs it without one";
constexpr const char* kSlots =
    "slots of adapters are not predicted; vramfit run -- vllm serve runs them without a card";
constexpr const char* kHost =
    "weights on the host are not predicted; without it, or --quantization fp8";

constexpr ForeignWord kWords[] = {
    {"host port api-key served-model-name tokenizer tokenizer-mode chat-template load-format seed "
     "uvicorn-log-level download-dir revision max-log-len tool-call-parser reasoning-parser "
     "ssl-keyfile ssl-certfile root-path generation-config scheduling-policy response-role "
     "api-server-count"},
    {"disable-log-stats disable-log-requests enable-log-requests skip-tokenizer-init "
     "enable-auto-tool-choice enable-prefix-caching no-enable-prefix-caching "
     "enable-chunked-prefill trust-request-chat-template",
     PassedOver, Truth},
    // Others have these words for what they refuse.
    {"quantization -q", Means, Value, "quant"},
    {"tensor-parallel-size -tp", Means, Value, "tensor-parallel"},
    {"pipeline-parallel-size pp", Refused, Value, kStages, "1"},
    {"data-parallel-size dp", Refused, Value, kReplicas, "1"},
    {"enable-expert-parallel", Refused, Truth, kReplicas},
    {"speculative-config", Refused, Value, kDrafts},
    {"enable-lora", Refused, Truth, kSlots},
    {"max-loras max-lora-rank", Refused, Value, kSlots},
    {"cpu-offload-gb", Refused, Value, kHost, "0"},
};

}  // namespace

std::span<const ForeignWord> engine_words() { return kWords; }

}  // namespace vramfit::vllm
