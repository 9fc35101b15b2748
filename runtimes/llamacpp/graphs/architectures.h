#pragma once

#include <string>

#include "runtimes/llamacpp/graphs/builder.h"

namespace vramfit::llamacpp {

/// Builds a model's graph, from tokens to logits: an llm_graph_context's constructor.
using BuildGraph = void (*)(GraphBuilder&);

// src/models/<architecture>.cpp, one each; those that differ by their tensors alone have one.
void build_command_r(GraphBuilder& b);
void build_deepseek2(GraphBuilder& b);
void build_falcon(GraphBuilder& b);
void build_gemma(GraphBuilder& b);
void build_gemma4(GraphBuilder& b);
void build_glm4_moe(GraphBuilder& b);
void build_gpt_oss(GraphBuilder& b);
void build_granite(GraphBuilder& b);
void build_lfm2(GraphBuilder& b);
void build_llama(GraphBuilder& b);
void build_olmo2(GraphBuilder& b);
void build_phi3(GraphBuilder& b);
void build_qwen3next(GraphBuilder& b);
void build_starcoder2(GraphBuilder& b);

/// By general.architecture. Throws UnknownModel where there is none.
BuildGraph graph_of(const std::string& architecture);

}  // namespace vramfit::llamacpp
