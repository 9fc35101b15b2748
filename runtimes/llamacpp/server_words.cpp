#include "runtimes/llamacpp/server_words.h"

namespace vramfit::llamacpp {
namespace {

using enum ForeignWord::Use;
using enum ForeignWord::Takes;

constexpr const char* kCards = "which cards there are is --gpu's to say, and how many --gpus'";
constexpr const char* kSees =
    "what sees is not counted: its weights, as large as the file's tensors, and what it computes "
    "in";
constexpr const char* kAdapters =
    "LoRA adapters and control vectors are not counted: as large as their files";
constexpr const char* kHostsOwn = "is of the host's memory, and not counted";
constexpr const char* kNoDownload =
    "nothing is downloaded here; the file by --gguf FILE, or --model NAME --quant Q4_K_M";
constexpr const char* kEmbeds =
    "a server of embeddings computes other outputs, which are not predicted";
constexpr const char* kRepacked =
    "what is left on the host may then lie in buffers that are not predicted; without it";
constexpr const char* kAlsoDraft =
    "llama.cpp gives the model that drafts the first one's context, as is predicted";

// clang-format off
constexpr ForeignWord kWords[] = {
    // Threads, prompts, sampling, positions' rotation, addresses, templates and logs.
    {"threads"}, {"-t"}, {"threads-batch"}, {"-tb"}, {"threads-http"}, {"cpu-mask"}, {"-C"}, {"cpu-range"}, {"-Cr"},
    {"cpu-strict"}, {"prio"}, {"poll"}, {"cpu-mask-batch"}, {"-Cb"}, {"cpu-range-batch"}, {"-Crb"},
    {"cpu-strict-batch"}, {"prio-batch"}, {"poll-batch"}, {"numa"}, {"num-thread"},
    {"threads-draft"}, {"-td"}, {"threads-batch-draft"}, {"-tbd"},
    {"n-predict"}, {"predict"}, {"-n"}, {"num-predict"}, {"keep"}, {"num-keep"}, {"prompt"}, {"-p"}, {"file"}, {"-f"},
    {"system-prompt"}, {"-sys"}, {"reverse-prompt"}, {"-r"},
    {"seed"}, {"-s"}, {"samplers"}, {"sampler-seq"}, {"sampling-seq"}, {"temp"}, {"temperature"}, {"min-p"},
    {"top-nsigma"}, {"top-n-sigma"}, {"xtc-probability"}, {"xtc-threshold"}, {"typical"}, {"typical-p"},
    {"repeat-last-n"}, {"repeat-penalty"}, {"presence-penalty"}, {"frequency-penalty"},
    {"dry-multiplier"}, {"dry-base"}, {"dry-allowed-length"}, {"dry-penalty-last-n"}, {"dry-sequence-breaker"},
    {"adaptive-target"}, {"adaptive-decay"}, {"dynatemp-range"}, {"dynatemp-exp"}, {"mirostat"}, {"mirostat-lr"},
    {"mirostat-ent"}, {"mirostat-eta"}, {"mirostat-tau"}, {"logit-bias"}, {"-l"}, {"grammar"}, {"grammar-file"},
    {"json-schema"}, {"-j"}, {"json-schema-file"}, {"-jf"},
    {"rope-scaling"}, {"rope-scale"}, {"rope-freq-base"}, {"rope-freq-scale"}, {"yarn-orig-ctx"}, {"yarn-ext-factor"},
    {"yarn-attn-factor"}, {"yarn-beta-slow"}, {"yarn-beta-fast"},
    {"host"}, {"port"}, {"alias"}, {"-a"}, {"tags"}, {"path"}, {"api-prefix"}, {"api-key"}, {"api-key-file"},
    {"ssl-key-file"}, {"ssl-cert-file"}, {"timeout"}, {"-to"}, {"chat-template"}, {"chat-template-file"},
    {"chat-template-kwargs"}, {"reasoning-format"}, {"reasoning"}, {"reasoning-effort"}, {"reasoning-budget"},
    {"slot-save-path"}, {"slot-prompt-similarity"}, {"-sps"}, {"cache-reuse"}, {"media-path"}, {"log-file"},
    {"log-verbosity"}, {"verbosity"}, {"-lv"}, {"log-colors"}, {"hf-token"}, {"-hft"}, {"defrag-thold"}, {"-dt"},
    {"keep-alive"}, {"sleep-idle-seconds"}, {"cors-origins"}, {"lookup-cache-static"}, {"-lcs"},
    {"lookup-cache-dynamic"}, {"-lcd"}, {"spec-draft-n-min"}, {"spec-draft-p-min"}, {"draft-p-min"},
    {"spec-draft-p-split"}, {"draft-p-split"}, {"draft-min"}, {"draft-n-min"},
    {"mlock", PassedOver, Truth}, {"cont-batching", PassedOver, Truth}, {"-cb", PassedOver, Truth},
    {"no-cont-batching", PassedOver, Truth}, {"-nocb", PassedOver, Truth}, {"metrics", PassedOver, Truth},
    {"props", PassedOver, Truth}, {"slots", PassedOver, Truth}, {"no-slots", PassedOver, Truth},
    {"jinja", PassedOver, Truth}, {"no-jinja", PassedOver, Truth}, {"warmup", PassedOver, Truth},
    {"no-warmup", PassedOver, Truth}, {"context-shift", PassedOver, Truth}, {"no-context-shift", PassedOver, Truth},
    {"cache-prompt", PassedOver, Truth}, {"no-cache-prompt", PassedOver, Truth}, {"ui", PassedOver, Truth},
    {"no-ui", PassedOver, Truth}, {"webui", PassedOver, Truth}, {"no-webui", PassedOver, Truth},
    {"reuse-port", PassedOver, Truth}, {"check-tensors", PassedOver, Truth}, {"offline", PassedOver, Truth},
    {"perf", PassedOver, Truth}, {"no-perf", PassedOver, Truth}, {"escape", PassedOver, Truth},
    {"-e", PassedOver, Truth}, {"no-escape", PassedOver, Truth}, {"special", PassedOver, Truth},
    {"-sp", PassedOver, Truth}, {"ignore-eos", PassedOver, Truth}, {"log-disable", PassedOver, Truth},
    {"-v", PassedOver, Truth}, {"log-prefix", PassedOver, Truth}, {"no-log-prefix", PassedOver, Truth},
    {"log-timestamps", PassedOver, Truth}, {"no-log-timestamps", PassedOver, Truth},
    {"conversation", PassedOver, Truth}, {"-cnv", PassedOver, Truth}, {"no-conversation", PassedOver, Truth},
    {"-no-cnv", PassedOver, Truth}, {"interactive", PassedOver, Truth}, {"-i", PassedOver, Truth},
    {"interactive-first", PassedOver, Truth}, {"single-turn", PassedOver, Truth}, {"-st", PassedOver, Truth},
    {"multiline-input", PassedOver, Truth}, {"-mli", PassedOver, Truth}, {"color", PassedOver, Truth},
    {"no-display-prompt", PassedOver, Truth}, {"simple-io", PassedOver, Truth},
    {"reasoning-preserve", PassedOver, Truth}, {"no-reasoning-preserve", PassedOver, Truth},
    {"prefill-assistant", PassedOver, Truth}, {"no-prefill-assistant", PassedOver, Truth},
    {"cache-idle-slots", PassedOver, Truth}, {"no-cache-idle-slots", PassedOver, Truth},
    {"no-mmproj", PassedOver, Truth}, {"no-mmproj-auto", PassedOver, Truth}, {"mmproj-auto", PassedOver, Truth},
    {"no-repack", PassedOver, Truth}, {"-nr", PassedOver, Truth},
    // What is so without them.
    {"kv-offload", Usual, Truth}, {"-kvo", Usual, Truth}, {"no-kv-unified", Usual, Truth}, {"-no-kvu", Usual, Truth},
    {"mmap", Usual, Truth}, {"op-offload", Usual, Truth}, {"repack", Usual, Truth}, {"mmproj-offload", Usual, Truth},
    {"load-mode", Means, Value, "no-mmap", "", "none"}, {"load-mode", Means, Value, "no-mmap", "", "dio"},
    {"load-mode", Means, Value, "no-mmap", "", "mlock"}, {"load-mode", Usual},
    {"-lm", Means, Value, "no-mmap", "", "none"}, {"-lm", Means, Value, "no-mmap", "", "dio"},
    {"-lm", Means, Value, "no-mmap", "", "mlock"}, {"-lm", Usual},
    {"-m", Means, Value, "gguf"}, {"hf-repo", Means, Value, "model"}, {"-hf", Means, Value, "model"}, {"-hfr", Means, Value, "model"},
    // What is taken, and what to know of it.
    {"mmproj", Noted, Value, kSees}, {"-mm", Noted, Value, kSees}, {"mmproj-url", Noted, Value, kSees}, {"-mmu", Noted, Value, kSees},
    {"no-mmproj-offload", PassedOver, Truth}, {"mmproj-device", PassedOver}, {"-mmdev", PassedOver},
    {"lora", Noted, Value, kAdapters}, {"lora-scaled", Noted, Value, kAdapters},
    {"control-vector", Noted, Value, kAdapters}, {"control-vector-scaled", Noted, Value, kAdapters},
    {"cache-ram", Noted, Value, kHostsOwn, "0"}, {"-cram", Noted, Value, kHostsOwn, "0"},
    {"ctx-checkpoints", Noted, Value, kHostsOwn, "0"}, {"-ctxcp", Noted, Value, kHostsOwn, "0"},
    {"swa-checkpoints", Noted, Value, kHostsOwn, "0"},
    {"device", Refused, Value, "nothing is offloaded then, and the card has no part in it; nearest: --gpu-layers 0", "", "none"},
    {"-dev", Refused, Value, "nothing is offloaded then, and the card has no part in it; nearest: --gpu-layers 0", "", "none"},
    {"device", Noted, Value, kCards}, {"-dev", Noted, Value, kCards},
    {"device-draft", Noted, Value, "the model that drafts is predicted on the same cards"},
    {"-devd", Noted, Value, "the model that drafts is predicted on the same cards"},
    {"ctx-size-draft", Noted, Value, kAlsoDraft, "0"}, {"-cd", Noted, Value, kAlsoDraft, "0"},
    // What another answers, or nobody yet.
    {"no-host", Refused, Truth, kRepacked},
    {"backend-sampling", Refused, Truth, "samplers on the card are not predicted; without it"},
    {"-bs", Refused, Truth, "samplers on the card are not predicted; without it"},
    {"embedding", Refused, Truth, kEmbeds}, {"embeddings", Refused, Truth, kEmbeds},
    {"rerank", Refused, Truth, kEmbeds}, {"reranking", Refused, Truth, kEmbeds}, {"pooling", Refused, Value, kEmbeds, "none"},
    {"rpc", Refused, Value, "cards of other machines are not predicted; nearest: a list of cards, --gpu rtx4090,rtx3060-12gb"},
    {"override-kv", Refused, Value, "the model is predicted with the keys that its file has; without it"},
    {"n-cpu-ffn", Refused, Value, "is of a newer llama.cpp; nearest: --override-tensor \"blk\\.[0-9]\\.ffn_.*=CPU\""},
    {"-ncffn", Refused, Value, "is of a newer llama.cpp; nearest: --override-tensor \"blk\\.[0-9]\\.ffn_.*=CPU\""},
    {"moe-cache-mib", Refused, Value, "is of a newer llama.cpp, and not predicted; without it", "0"},
    {"kv-unified-per-slot", Refused, Value, "is of a newer llama.cpp; nearest: --kv-unified, and --ctx with it times the slots"},
    {"model-url", Refused, Value, kNoDownload}, {"-mu", Refused, Value, kNoDownload}, {"hf-file", Refused, Value, kNoDownload},
    {"-hff", Refused, Value, kNoDownload}, {"docker-repo", Refused, Value, kNoDownload}, {"-dr", Refused, Value, kNoDownload},
    {"hf-repo-draft", Refused, Value, kNoDownload}, {"-hfd", Refused, Value, kNoDownload}, {"-hfrd", Refused, Value, kNoDownload},
    {"ollama-kv-cache-type", Refused, Value, "is of keys and values; nearest: --cache-type-k q8_0 --cache-type-v q8_0", "f16"},
};
// clang-format on

}  // namespace

std::span<const ForeignWord> server_words() { return kWords; }

}  // namespace vramfit::llamacpp
