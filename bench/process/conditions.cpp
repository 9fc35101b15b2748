#include "bench/process/conditions.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "bench/data/data_folder.h"
#include "estimator/data.h"

namespace vramfit::bench {
namespace {

/// What rows read of data/: cards, what releases do, the article's figures.
constexpr const char* kData[] = {"gpus.json", "releases.json", "article/table1_inference.json",
                                 "article/table2_training_waterfall.json", "article/claims.json"};

/// FNV-1a of 64 bits, in hex: enough to tell a file from what it was.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(hash));
  return hex.data();
}

}  // namespace

Conditions conditions_of(Conditions context, const std::vector<std::string>& flags) {
  std::string& all = context["flags"];
  for (const std::string& flag : flags) all += (all.empty() ? "" : " ") + flag;
  for (const char* file : kData) note_text(context, file, data_text(file));
  // A commit says which program it was, unless it was built from something else.
  const std::string& commit = context["commit"];
  if (commit == "unknown" || commit.find("-dirty") != std::string::npos) {
    const auto built = std::filesystem::last_write_time("/proc/self/exe").time_since_epoch();
    context["built"] = std::to_string(built.count());
  }
  return context;
}

void note_file(Conditions& conditions, const std::string& what, const std::string& path) {
  note_text(conditions, what, read_text(path));
}

void note_text(Conditions& conditions, const std::string& what, const std::string& text) {
  conditions[what] = digest(text);
}

}  // namespace vramfit::bench
