#pragma once

#include <span>

#include "runtimes/foreign_words.h"

namespace vramfit::llamacpp {

/// Flags of llama-server, llama-cli and Ollama that are no settings here, by their own names, those
/// of one dash among them (tools/server/README.md).
std::span<const ForeignWord> server_words();

}  // namespace vramfit::llamacpp
