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

constexpr ForeignWord kWords[] = {
    // Threads, prompts, sampling, positions' rotation, addresses, templates and logs.
    {"threads -t threads-batch -tb threads-http cpu-mask -C cpu-range -Cr cpu-strict prio poll "
     "cpu-mask-batch -Cb cpu-range-batch -Crb cpu-strict-batch prio-batch poll-batch numa "
     "num-thread threads-draft -td threads-batch-draft -tbd n-predict predict -n num-predict keep "
     "num-keep prompt -p file -f system-prompt -sys reverse-prompt -r seed -s samplers sampler-seq "
     "sampling-seq temp temperature min-p top-nsigma top-n-sigma xtc-probability xtc-threshold "
     "typical typical-p repeat-last-n repeat-penalty presence-penalty frequency-penalty "
     "dry-multiplier dry-base dry-allowed-length dry-penalty-last-n dry-sequence-breaker "
     "adaptive-target adaptive-decay dynatemp-range dynatemp-exp mirostat mirostat-lr mirostat-ent "
     "mirostat-eta mirostat-tau logit-bias -l grammar grammar-file json-schema -j json-schema-file "
     "-jf rope-scaling rope-scale rope-freq-base rope-freq-scale yarn-orig-ctx yarn-ext-factor "
     "yarn-attn-factor yarn-beta-slow yarn-beta-fast host port alias -a tags path api-prefix "
     "api-key api-key-file ssl-key-file ssl-cert-file timeout -to chat-template chat-template-file "
     "chat-template-kwargs reasoning-format reasoning reasoning-effort reasoning-budget "
     "slot-save-path slot-prompt-similarity -sps cache-reuse media-path log-file log-verbosity "
     "verbosity -lv log-colors hf-token -hft defrag-thold -dt keep-alive sleep-idle-seconds "
     "cors-origins lookup-cache-static -lcs lookup-cache-dynamic -lcd spec-draft-n-min "
     "spec-draft-p-min draft-p-min spec-draft-p-split draft-p-split draft-min draft-n-min"},
    {"mlock cont-batching -cb no-cont-batching -nocb metrics props slots no-slots jinja no-jinja "
     "warmup no-warmup context-shift no-context-shift cache-prompt no-cache-prompt ui no-ui webui "
     "no-webui reuse-port check-tensors offline perf no-perf escape -e no-escape special -sp "
     "ignore-eos log-disable -v log-prefix no-log-prefix log-timestamps no-log-timestamps "
     "conversation -cnv no-conversation -no-cnv interactive -i interactive-first single-turn -st "
     "multiline-input -mli color no-display-prompt simple-io reasoning-preserve "
     "no-reasoning-preserve prefill-assistant no-prefill-assistant cache-idle-slots "
     "no-cache-idle-slots no-mmproj no-mmproj-auto mmproj-auto no-repack -nr",
     PassedOver, Truth},
    // What is so without them.
    {"kv-offload -kvo no-kv-unified -no-kvu mmap op-offload repack mmproj-offload", Usual, Truth},
    {"load-mode -lm", Means, Value, "no-mmap", "", "none"},
    {"load-mode -lm", Means, Value, "no-mmap", "", "dio"},
    {"load-mode -lm", Means, Value, "no-mmap", "", "mlock"},
    {"load-mode -lm", Usual},
    {"-m", Means, Value, "gguf"},
    {"hf-repo -hf -hfr", Means, Value, "model"},
    // What is taken, and what to know of it.
    {"mmproj -mm mmproj-url -mmu", Noted, Value, kSees},
    {"no-mmproj-offload", PassedOver, Truth},
    {"mmproj-device -mmdev", PassedOver},
    {"lora lora-scaled control-vector control-vector-scaled", Noted, Value, kAdapters},
    {"cache-ram -cram ctx-checkpoints -ctxcp swa-checkpoints", Noted, Value, kHostsOwn, "0"},
    {"device -dev", Refused, Value,
     "nothing is offloaded then, and the card has no part in it; nearest: --gpu-layers 0", "",
     "none"},
    {"device -dev", Noted, Value, kCards},
    {"device-draft -devd", Noted, Value, "the model that drafts is predicted on the same cards"},
    {"ctx-size-draft -cd", Noted, Value, kAlsoDraft, "0"},
    // What another answers, or nobody yet.
    {"no-host", Refused, Truth, kRepacked},
    {"backend-sampling -bs", Refused, Truth, "samplers on the card are not predicted; without it"},
    {"embedding embeddings rerank reranking", Refused, Truth, kEmbeds},
    {"pooling", Refused, Value, kEmbeds, "none"},
    {"rpc", Refused, Value,
     "cards of other machines are not predicted; nearest: a list of cards, --gpu "
     "rtx4090,rtx3060-12gb"},
    {"override-kv", Refused, Value,
     "the model is predicted with the keys that its file has; without it"},
    {"n-cpu-ffn -ncffn", Refused, Value,
     "is of a newer llama.cpp; nearest: --override-tensor \"blk\\.[0-9]\\.ffn_.*=CPU\""},
    {"moe-cache-mib", Refused, Value, "is of a newer llama.cpp, and not predicted; without it",
     "0"},
    {"kv-unified-per-slot", Refused, Value,
     "is of a newer llama.cpp; nearest: --kv-unified, and --ctx with it times the slots"},
    {"model-url -mu hf-file -hff docker-repo -dr hf-repo-draft -hfd -hfrd", Refused, Value,
     kNoDownload},
    {"ollama-kv-cache-type", Refused, Value,
     "is of keys and values; nearest: --cache-type-k q8_0 --cache-type-v q8_0", "f16"},
};

}  // namespace

std::span<const ForeignWord> server_words() { return kWords; }

}  // namespace vramfit::llamacpp
