#include "kernels/host/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace vramfit {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The number that a file is; "max" is none.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

/// The number behind a line's first word, in a file of such lines; 0 where there is none.
std::uint64_t number_of(const std::string& key, const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  while (stream >> word) {
    std::uint64_t value = 0;
    if (word == key && stream >> value) return value;
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

/// What a control group's limit leaves. Files that nobody read of late give way.
std::uint64_t left_by(const std::filesystem::path& limit, const std::filesystem::path& usage,
                      std::uint64_t files) {
  const auto most = number_in(limit);
  const auto used = number_in(usage);
  if (!most || !used) return kNoLimit;
  const std::uint64_t kept = *used - std::min(*used, files);
  return *most - std::min(*most, kept);
}

}  // namespace

// A container sees its own group at the root, by the names of version 2 or 1.
std::uint64_t available_host_memory(const std::filesystem::path& root) {
  const auto group = root / "sys/fs/cgroup";
  const auto first = group / "memory";
  return std::min({number_of("MemAvailable:", root / "proc/meminfo") << 10,
                   left_by(group / "memory.max", group / "memory.current",
                           number_of("inactive_file", group / "memory.stat")),
                   left_by(first / "memory.limit_in_bytes", first / "memory.usage_in_bytes",
                           number_of("total_inactive_file", first / "memory.stat"))});
}

}  // namespace vramfit
