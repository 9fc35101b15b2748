#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "model/ops/device.h"

namespace vramfit::bench {

/// Writes tensors of plain formats as a .safetensors file, which takes its name once it is whole.
/// Shapes are those stored, padding rows included. `facts` are its metadata.
void write_tensors(const std::filesystem::path& path, Device& device,
                   const std::vector<const Tensor*>& tensors,
                   const std::map<std::string, std::string>& facts);

/// What such a file holds: its header; tensors are read when they are asked for.
class TensorFile {
 public:
  /// Throws BadInput where it is none.
  explicit TensorFile(const std::filesystem::path& path);

  bool has(const std::string& tensor) const { return entries_.count(tensor) != 0; }
  /// Throws BadInput where there is no such fact.
  const std::string& fact(const std::string& name) const;

  /// Fills a tensor of the same name, format and size; throws BadInput where there is none such.
  void fill(Device& device, const Tensor& tensor);
  /// Elements of one in floating point, from `first` on.
  std::vector<float> floats(const std::string& tensor, std::int64_t first, std::int64_t count);

 private:
  struct Entry {
    DType dtype;
    std::uint64_t first;  ///< byte of the file
    std::uint64_t bytes;
  };
  const Entry& at(const std::string& tensor) const;
  void read(std::uint64_t first, char* to, std::uint64_t bytes);

  std::filesystem::path path_;
  std::ifstream file_;
  std::map<std::string, std::string> facts_;
  std::map<std::string, Entry> entries_;
};

}  // namespace vramfit::bench
