#include "estimator/data.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_map>

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

/// What is built in, looked through once: a sweep asks a million times.
struct Embedded {
  std::unordered_map<std::string_view, std::string_view> texts;            ///< of files, by path
  std::unordered_map<std::string_view, std::vector<std::string>> folders;  ///< in one, by path

  Embedded() {
    std::unordered_map<std::string_view, std::set<std::string_view>> inside;
    for (std::size_t i = 0; i < kEmbeddedFileCount; ++i) {
      const std::string_view path(kEmbeddedFiles[i].path);
      texts.emplace(path, kEmbeddedFiles[i].text);
      std::size_t folder = path.find('/');
      for (std::size_t end; (end = path.find('/', folder + 1)) != path.npos; folder = end) {
        inside[path.substr(0, folder)].insert(path.substr(folder + 1, end - folder - 1));
      }
    }
    for (const auto& [folder, names] : inside) folders[folder].assign(names.begin(), names.end());
  }
};

const Embedded& embedded() {
  static const Embedded all;
  return all;
}

}  // namespace

bool data_is_built_in() { return own_folder().empty(); }

bool has_data(const std::string& file) {
  std::error_code error;
  const fs::path folder = own_folder();
  return folder.empty() ? embedded().texts.contains(file) : fs::exists(folder / file, error);
}

std::string data_text(const std::string& file) {
  if (const fs::path folder = own_folder(); !folder.empty()) {
    return read_text_file(in_own_folder(folder, file), "data", "a readable file", kMaxFileBytes);
  }
  const auto found = embedded().texts.find(file);
  if (found == embedded().texts.end()) throw BadInput("data: '" + file + "' is not built in");
  return std::string(found->second);
}

std::vector<std::string> data_folders(const std::string& folder) {
  if (const fs::path own = own_folder(); !own.empty()) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(in_own_folder(own, folder))) {
      if (entry.is_directory()) names.insert(entry.path().filename().string());
    }
    return {names.begin(), names.end()};
  }
  const auto found = embedded().folders.find(folder);
  return found == embedded().folders.end() ? std::vector<std::string>() : found->second;
}

}  // namespace vramfit
