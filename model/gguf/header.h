#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "model/gguf/metadata.h"
#include "model/gguf/tensor.h"

namespace vramfit::gguf {

/// What stands before the data in a GGUF file.
struct Header {
  Metadata metadata;
  std::uint64_t alignment = 32;     ///< of each tensor's data in the file, bytes
  std::vector<Tensor> tensors;      ///< as their data follow each other
  std::uint64_t missing_bytes = 0;  ///< of their data, what the file ends before. Bytes
};

/// Reads a header, of version 2 or 3, as ggml's gguf_init_from_reader checks it. No data is read,
/// and none needs to be there. `size`: of the file, in bytes; every count and length is held
/// against it before memory is asked for. Throws BadInput that says what is wrong.
Header read_header(std::istream& in, std::uint64_t size, const std::string& source);

}  // namespace vramfit::gguf
