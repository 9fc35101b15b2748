#include "estimator/data.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "estimator/embedded.h"
#include "model/errors.h"
#include "model/text_file.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "VRAMFIT_DATA";
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 28;

/// What the user has in place of what is built in; empty where there is nothing.
fs::path own_folder() {
  const char* folder = std::getenv(kVariable);
  return folder == nullptr ? "" : folder;
}

fs::path in_own_folder(const fs::path& folder, const std::string& relative) {
  fs::path path = folder / relative;
  std::error_code error;
  if (fs::exists(path, error)) return path;
  throw BadInput(std::string(kVariable) + ": no '" + relative + "' in '" + folder.string() +
                 "'; unset it, or name a folder like the project's data");
}

/// Null where it is not built in.
const EmbeddedFile* find_embedded(const std::string& file) {
  const EmbeddedFile* const end = kEmbeddedFiles + kEmbeddedFileCount;
  const auto* const found = std::find_if(
      kEmbeddedFiles, end, [&](const EmbeddedFile& embedded) { return embedded.path == file; });
  return found == end ? nullptr : found;
}

}  // namespace

bool data_is_built_in() { return own_folder().empty(); }

bool has_data(const std::string& file) {
  std::error_code error;
  const fs::path folder = own_folder();
  return folder.empty() ? find_embedded(file) != nullptr : fs::exists(folder / file, error);
}

std::string data_text(const std::string& file) {
  if (const fs::path folder = own_folder(); !folder.empty()) {
    return read_text_file(in_own_folder(folder, file), "data", "a readable file", kMaxFileBytes);
  }
  const EmbeddedFile* const found = find_embedded(file);
  if (found == nullptr) throw BadInput("data: '" + file + "' is not built in");
  return std::string(found->text);
}

std::vector<std::string> data_folders(const std::string& folder) {
  std::set<std::string> names;
  if (const fs::path own = own_folder(); !own.empty()) {
    for (const auto& entry : fs::directory_iterator(in_own_folder(own, folder))) {
      if (entry.is_directory()) names.insert(entry.path().filename().string());
    }
    return {names.begin(), names.end()};
  }
  const std::string prefix = folder + "/";
  for (std::size_t i = 0; i < kEmbeddedFileCount; ++i) {
    const std::string path(kEmbeddedFiles[i].path);
    const std::size_t end = path.find('/', prefix.size());
    if (path.starts_with(prefix) && end != std::string::npos) {
      names.insert(path.substr(prefix.size(), end - prefix.size()));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace vramfit
