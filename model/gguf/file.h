#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "model/gguf/metadata.h"
#include "model/gguf/tensor.h"

namespace vramfit::gguf {

/// A model's GGUF file, or files, where it is split.
struct File {
  Metadata metadata;  ///< the first file's
  std::vector<Tensor> tensors;
  std::vector<std::size_t> files;   ///< the first tensor of each
  std::uint64_t alignment = 32;     ///< of each tensor's data in its file, bytes
  std::uint64_t missing_bytes = 0;  ///< as each header has it, in all
};

/// Reads the headers of a model's file and, where that says that it is one of several
/// ("…-00001-of-00003.gguf"), of those beside it, whichever was named. Throws BadInput, which
/// begins with `field`, the flag that named it.
File read_file(const std::filesystem::path& path, const char* field);

}  // namespace vramfit::gguf
