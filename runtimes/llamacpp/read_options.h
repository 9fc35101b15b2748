#pragma once

#include "runtimes/flags.h"
#include "runtimes/llamacpp/options.h"

namespace vramfit::llamacpp {

/// Throws BadInput on a value that is wrong. `of_a_file`: weights have their types already.
Options read_options(const Flags& flags, bool of_a_file);

}  // namespace vramfit::llamacpp
