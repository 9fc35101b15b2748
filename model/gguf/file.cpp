#include "model/gguf/file.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/errors.h"
#include "model/gguf/header.h"
#include "model/text_file.h"

namespace vramfit::gguf {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostFiles = 99'999;
constexpr std::size_t kShownPathBytes = 60;
constexpr std::size_t kShownNameBytes = 63;

Header read_one(const fs::path& path, const char* field) {
  const std::string source =
      std::string(field) + ": '" + one_line(path.string(), kShownPathBytes) + "'";
  const std::string why = obstacle(path);
  if (!why.empty()) throw BadInput(source + why + "; a GGUF file");
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) throw BadInput(source + ": cannot be read; a GGUF file");
  return read_header(in, size, source);
}

/// llama_split_path's end of a name: "-00002-of-00004.gguf".
std::string split_suffix(std::int64_t index, std::int64_t count) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "-%05d-of-%05d.gguf", static_cast<int>(index + 1),
                static_cast<int>(count));
  return text.data();
}

/// The paths of all `count` files by that of the one of `index`: llama_get_list_splits.
std::vector<fs::path> split_paths(const fs::path& path, std::int64_t index, std::int64_t count,
                                  const Metadata& metadata) {
  const std::string name = path.filename().string();
  const std::string suffix = split_suffix(index, count);
  if (name.size() < suffix.size() ||
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) {
    metadata.fail("split.count", "a file of several that is not named so; …" + suffix);
  }
  const std::string stem = name.substr(0, name.size() - suffix.size());
  std::vector<fs::path> paths;
  for (std::int64_t i = 0; i < count; ++i) {
    paths.push_back(path.parent_path() / (stem + split_suffix(i, count)));
  }
  return paths;
}

void append(File& file, Header header) {
  file.files.push_back(file.tensors.size());
  for (Tensor& tensor : header.tensors) file.tensors.push_back(std::move(tensor));
  file.missing_bytes += header.missing_bytes;
}

// llama_model_loader's constructor: of several files none has another's tensor, and none is lost.
void check_tensors(const File& file) {
  std::set<std::string_view> names;
  for (const Tensor& tensor : file.tensors) {
    if (!names.insert(tensor.name).second) {
      throw BadInput(file.metadata.source() + ": tensor " +
                     shortened(tensor.name, kShownNameBytes) +
                     ": two of the files have it; one of them");
    }
  }
  const auto count = static_cast<std::int64_t>(file.tensors.size());
  file.metadata.integer_or("split.tensors.count", count, count, count);
}

}  // namespace

File read_file(const fs::path& path, const char* field) {
  Header named = read_one(path, field);
  const std::int64_t count = named.metadata.integer_or("split.count", 1, 0, kMostFiles);
  std::vector<fs::path> paths = {path};
  if (count > 1) {
    const std::int64_t index = named.metadata.integer("split.no", 0, count - 1);
    paths = split_paths(path, index, count, named.metadata);
    if (index > 0) named = read_one(paths.front(), field);
    named.metadata.integer("split.no", 0, 0);
  }
  File file{std::move(named.metadata), {}, {}, named.alignment, 0};
  append(file, std::move(named));
  for (std::size_t i = 1; i < paths.size(); ++i) {
    Header header = read_one(paths[i], field);
    const auto index = static_cast<std::int64_t>(i);
    header.metadata.integer("split.no", index, index);
    append(file, std::move(header));
  }
  if (count > 1) check_tensors(file);
  return file;
}

}  // namespace vramfit::gguf
