#include "runtimes/vllm/engine_words.h"

namespace vramfit::vllm {
namespace {

using enum ForeignWord::Use;
using enum ForeignWord::Takes;

constexpr const char* kSlots = "what it does to slots of adapters is not predicted; without it";
constexpr const char* kKernels =
    "what other kernels than vLLM's own choice take is not predicted; without it";
constexpr const char* kCompiled =
    "of what is compiled and captured --enforce-eager and --max-cudagraph-capture-size are "
    "predicted; without it";
constexpr const char* kShared =
    "how it shares the cache or experts out is not predicted; without it";
constexpr const char* kElsewhere =
    "what it keeps of the cache elsewhere is not predicted; without it";

constexpr const char* kGenerates = "of vLLM what generates is predicted";

constexpr ForeignWord kWords[] = {
    // Of the server, of what it reads and says, and of the host.
    {"host port api-key served-model-name tokenizer tokenizer-mode tokenizer-revision "
     "chat-template "
     "chat-template-content-format load-format seed uvicorn-log-level download-dir revision "
     "code-revision max-log-len tool-call-parser tool-parser-plugin reasoning-parser "
     "reasoning-parser-plugin reasoning-config ssl-keyfile ssl-certfile ssl-ca-certs root-path "
     "generation-config override-generation-config scheduling-policy response-role "
     "api-server-count max-cpu-loras lora-modules allowed-origins allowed-methods allowed-headers "
     "middleware hf-token config-format ignore-patterns model-loader-extra-config "
     "max-parallel-loading-workers safetensors-load-strategy distributed-executor-backend "
     "distributed-timeout-seconds data-parallel-backend data-parallel-address "
     "data-parallel-rpc-port data-parallel-rank data-parallel-start-rank data-parallel-size-local "
     "master-addr master-port nnodes node-rank swap-space max-logprobs logprobs-mode "
     "logits-processors structured-outputs-config guided-decoding-backend prefix-caching-hash-algo "
     "max-num-partial-prefills max-long-partial-prefills long-prefill-token-threshold "
     "stream-interval otlp-traces-endpoint collect-detailed-traces "
     "kv-cache-metrics-sample profiler-config allowed-local-media-path allowed-media-domains "
     "media-io-kwargs mm-processor-cache-gb mm-processor-cache-type "
     "video-pruning-rate io-processor-plugin renderer-num-workers shutdown-timeout "
     "show-hidden-metrics-for-version max-seq-len-to-capture log-config-file"},
    {"disable-log-stats disable-log-requests enable-log-requests enable-log-outputs "
     "skip-tokenizer-init enable-auto-tool-choice enable-prefix-caching no-enable-prefix-caching "
     "enable-chunked-prefill trust-request-chat-template disable-uvicorn-access-log "
     "disable-fastapi-docs enable-request-id-headers enable-server-load-tracking "
     "enable-prompt-tokens-details return-tokens-as-token-ids async-scheduling "
     "use-tqdm-on-load kv-cache-metrics "
     "cudagraph-metrics data-parallel-hybrid-lb data-parallel-external-lb "
     "interleave-mm-strings disable-chunked-mm-input disable-cascade-attn headless "
     "allow-credentials enable-ssl-refresh",
     PassedOver, Truth},
    {"disable-custom-all-reduce", Noted, Truth,
     "of GPUs that share layers its buffers, 84 MiB a GPU, are told all the same"},
    // Others have these words for what they refuse.
    {"quantization -q", Means, Value, "quant"},
    {"tensor-parallel-size -tp", Means, Value, "tensor-parallel"},
    {"pipeline-parallel-size -pp", Means, Value, "pipeline-parallel"},
    {"data-parallel-size -dp", Means, Value, "data-parallel"},
    {"fully-sharded-loras enable-tower-connector-lora enable-moe-shared-loras "
     "enable-mixed-moe-lora-format specialize-active-lora",
     Refused, Truth, kSlots},
    {"lora-target-modules", Refused, Value, kSlots},
    {"lora-dtype", Refused, Value, kSlots, "auto"},
    {"attention-backend moe-backend linear-backend mm-encoder-attn-backend gdn-prefill-backend "
     "mamba-backend all2all-backend",
     Refused, Value, kKernels, "auto"},
    {"attention-config kernel-config", Refused, Value, kKernels},
    {"compilation-config -cc cudagraph-capture-sizes", Refused, Value, kCompiled},
    // O3 does what O2 does, which is the default.
    {"-O2 -O=2 -O3 -O=3", PassedOver, Truth},
    {"optimization-level -O", PassedOver, Value, "", "false", "3"},
    {"optimization-level -O", Refused, Value, kCompiled, "2"},
    {"-O0 -O=0 -O1 -O=1", Refused, Truth, kCompiled},
    {"enable-eplb enable-elastic-ep enable-dbo", Refused, Truth, kShared},
    {"decode-context-parallel-size -dcp prefill-context-parallel-size -pcp", Refused, Value,
     kShared, "1"},
    {"disable-hybrid-kv-cache-manager disable-sliding-window kv-sharing-fast-prefill", Refused,
     Truth, "what it makes of the cache is not predicted; without it"},
    {"num-gpu-blocks-override", Refused, Value,
     "how many blocks there are is what is asked here; without it"},
    {"kv-transfer-config kv-offloading-size kv-offloading-backend ec-transfer-config", Refused,
     Value, kElsewhere},
    {"kv-cache-dtype-skip-layers calculate-kv-scales", Refused, Value,
     "of the cache's types one for all layers is predicted; without it"},
    {"enable-sleep-mode enable-cumem-allocator", Refused, Truth,
     "what its allocator of its own takes is not predicted; vramfit run -- vllm serve runs it"},
    {"enable-prompt-embeds enable-mm-embeds enable-return-routed-experts mm-encoder-only", Refused,
     Truth, "what it takes is not predicted; without it"},
    {"no-enable-chunked-prefill", Refused, Truth,
     "steps are as long as requests then; --max-num-batched-tokens of as many says the same"},
    {"mamba-cache-mode", Refused, Value, "of states one a request is predicted; without it",
     "none"},
    {"mamba-block-size", Refused, Value, "of states one a request is predicted; without it"},
    {"spec-method spec-model spec-tokens", Refused, Value, "--speculative-config says the same"},
    {"offload-backend offload-group-size offload-num-in-group offload-prefetch-step "
     "cpu-offload-params",
     Refused, Value, "of weights on the host --cpu-offload-gb is predicted; without it"},
    {"pooler-config diffusion-config", Refused, Value, kGenerates},
    {"runner task", Refused, Value, kGenerates, "generate"},
    {"convert", Refused, Value, kGenerates, "none"},
    {"model-impl", Refused, Value, "whose code runs is vLLM's to choose; without it", "auto"},
    {"hf-config-path", Refused, Value, "--config is that file here"},
    {"mm-processor-kwargs", Refused, Value, "images are predicted as models come; without it"},
    {"skip-mm-profiling", Refused, Truth, "a profile run without what sees is not predicted"},
};

}  // namespace

std::span<const ForeignWord> engine_words() { return kWords; }

}  // namespace vramfit::vllm
