#pragma once

#include <cstddef>

namespace vramfit::standin {

/// The release that cuDNN tells it is of, as cudnnGetVersion() has it: 91900 is 9.19.0, the one
/// whose workspaces were measured. PyTorch wants what it was built with, and chooses by it.
void tell_cudnn_version(std::size_t version);

}  // namespace vramfit::standin
