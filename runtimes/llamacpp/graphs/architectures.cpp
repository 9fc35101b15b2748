#include "runtimes/llamacpp/graphs/architectures.h"

#include "model/errors.h"

namespace vramfit::llamacpp {
namespace {

struct ArchitectureGraph {
  const char* name;
  BuildGraph build;
};

constexpr ArchitectureGraph kGraphs[] = {
    {"command-r", build_command_r},
    {"deepseek2", build_deepseek2},
    {"falcon", build_falcon},
    {"gemma2", build_gemma},
    {"gemma3", build_gemma},
    {"gemma4", build_gemma4},
    {"glm4moe", build_glm4_moe},
    {"gpt-oss", build_gpt_oss},
    {"granite", build_granite},
    {"granitemoe", build_granite},
    {"lfm2", build_lfm2},
    {"lfm2moe", build_lfm2},
    {"llama", build_llama},
    {"mistral3", build_llama},
    {"olmo2", build_olmo2},
    {"phi3", build_phi3},
    {"qwen2", build_llama},
    {"qwen3", build_llama},
    {"qwen3moe", build_llama},
    {"qwen3next", build_qwen3next},
    {"starcoder2", build_starcoder2},
};

}  // namespace

BuildGraph graph_of(const std::string& architecture) {
  for (const ArchitectureGraph& graph : kGraphs) {
    if (architecture == graph.name) return graph.build;
  }
  throw UnknownModel("llama.cpp's graph of " + architecture + " is not written down");
}

}  // namespace vramfit::llamacpp
