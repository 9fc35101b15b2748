#include "estimator/fit/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <system_error>

#include "model/errors.h"
#include "model/text_file.h"

namespace vramfit::fit {
namespace {

namespace fs = std::filesystem;

/// Of an environment variable; empty where it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// What a branch's file names; empty where it does not.
std::string commit_of(const fs::path& branch) {
  constexpr std::size_t kMostBytes = 1 << 10;
  try {
    const std::string text = read_text_file(branch, "model", "a commit", kMostBytes);
    return text.substr(0, text.find('\n'));
  } catch (const BadInput&) {
    return "";
  }
}

}  // namespace

bool is_hub_id(const std::string& text) {
  const auto of_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  const std::size_t slash = text.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == text.size()) return false;
  const std::string owner = text.substr(0, slash);
  const std::string name = text.substr(slash + 1);
  return owner.find_first_not_of('.') != std::string::npos &&
         std::all_of(owner.begin(), owner.end(), of_a_name) &&
         std::all_of(name.begin(), name.end(), of_a_name);
}

fs::path hub_cache() {
  if (const std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = variable("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string cache = variable("XDG_CACHE_HOME");
  const fs::path user = cache.empty() ? fs::path(variable("HOME")) / ".cache" : fs::path(cache);
  return user / "huggingface" / "hub";
}

std::optional<fs::path> cached_config(const std::string& id) {
  std::string folder = "models--" + id;
  folder.replace(folder.find('/'), 1, "--");
  const fs::path repository = hub_cache() / folder;
  const fs::path snapshots = repository / "snapshots";
  const std::string commit = commit_of(repository / "refs" / "main");
  if (fs::path path = snapshots / commit / "config.json"; !commit.empty() && is_file(path)) {
    return path;
  }
  // Without a branch, as after a download of one commit: the newest.
  std::error_code error;
  std::optional<fs::path> newest;
  fs::file_time_type when{};
  for (const auto& snapshot : fs::directory_iterator(snapshots, error)) {
    fs::path path = snapshot.path() / "config.json";
    if (!is_file(path)) continue;
    const fs::file_time_type written = fs::last_write_time(path, error);
    if (newest && written <= when) continue;
    when = written;
    newest = std::move(path);
  }
  return newest;
}

}  // namespace vramfit::fit
