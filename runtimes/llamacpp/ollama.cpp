#include "runtimes/llamacpp/ollama.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace vramfit::llamacpp {
namespace {

/// server/sched.go, load: "not safe with num_parallel > 1"; of those that are read here.
bool has_one_slot(const Hparams& hparams) {
  constexpr std::array<std::string_view, 3> kArchitectures = {"qwen3next", "lfm2", "lfm2moe"};
  return std::find(kArchitectures.begin(), kArchitectures.end(), hparams.arch) !=
         kArchitectures.end();
}

}  // namespace

void start_as_ollama(ContextOptions& context, const Hparams& hparams) {
  if (context.context_a_slot == 0) return;
  if (has_one_slot(hparams)) context.sequences = 1;
  // llm/llama_server.go: no more than it was trained on.
  const std::int64_t trained = hparams.context_train;
  const std::int64_t a_slot =
      trained > 0 ? std::min(context.context_a_slot, trained) : context.context_a_slot;
  context.context = a_slot * context.sequences;
}

std::vector<std::string> ollamas_cautions(const ContextOptions& context, const Hparams& hparams) {
  std::vector<std::string> list;
  if (context.context_a_slot == 0) return list;
  if (hparams.context_train > 0 && context.context_a_slot > hparams.context_train) {
    list.push_back("num-ctx " + std::to_string(context.context_a_slot) +
                   ": Ollama shortens it to " + std::to_string(hparams.context_train) +
                   ", which the model was trained on");
  }
  if (has_one_slot(hparams)) {
    list.push_back("Ollama starts " + hparams.arch + " with one slot, whatever is asked for");
  }
  return list;
}

}  // namespace vramfit::llamacpp
