#pragma once

#include <string>

namespace vramfit {

/// A GGUF file of a repository on the Hugging Face hub, as llama.cpp's -hf names it.
struct HubFile {
  std::string model;  ///< what it was made of, as --model takes it
  std::string quant;  ///< as --quant does; empty: llama.cpp's usual one
};

/// Of "unsloth/Qwen3-8B-GGUF:Q4_K_M", Qwen3-8B in Q4_K_M.
HubFile hub_file(const std::string& repository);

}  // namespace vramfit
