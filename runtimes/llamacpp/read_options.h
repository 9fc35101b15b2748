#pragma once

#include "runtimes/llamacpp/options.h"
#include "runtimes/setting.h"

namespace vramfit::llamacpp {

/// A row each: llama.cpp's own flags, in Ollama's words too.
const Settings& settings();

/// Throws BadInput on a value that is wrong. `of_a_file`: weights have their types already.
Options read_options(const Flags& flags, bool of_a_file);

}  // namespace vramfit::llamacpp
