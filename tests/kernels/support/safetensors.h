#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace vramfit {

/// The tensors of a .safetensors file: 8 bytes of header length, a JSON header, the data. Values
/// are doubles, which hold every F64, F32 and I32 exactly.
class Safetensors {
 public:
  struct Entry {
    std::vector<std::int64_t> shape;
    std::vector<double> values;
  };

  /// Throws std::runtime_error where the file is not one, or holds other dtypes.
  explicit Safetensors(const std::filesystem::path& file);

  /// Throws std::out_of_range that names the tensor where there is none.
  const Entry& at(const std::string& name) const;
  const std::vector<double>& values(const std::string& name) const { return at(name).values; }
  std::vector<std::int32_t> integers(const std::string& name) const;
  const std::map<std::string, Entry>& all() const { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

/// A path within tests/fixtures, or within the environment's VRAMFIT_FIXTURES.
std::filesystem::path fixture(const std::string& relative);

}  // namespace vramfit
