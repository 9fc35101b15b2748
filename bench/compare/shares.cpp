#include "bench/compare/shares.h"

#include <set>

namespace vramfit::bench::compare {
namespace {

std::uint64_t of(const RunFile& run, const std::string& part) {
  const auto found = run.overhead.find(part);
  return found == run.overhead.end() ? 0 : found->second;
}

}  // namespace

std::vector<Share> shares(const RunFile& before, const RunFile& after) {
  if (before.overhead.empty() || after.overhead.empty()) return {};
  std::set<std::string> parts;
  for (const RunFile* run : {&before, &after}) {
    for (const auto& [part, bytes] : run->overhead) parts.insert(part);
  }
  std::vector<Share> list;
  for (const std::string& part : parts) list.push_back({part, of(before, part), of(after, part)});
  return list;
}

}  // namespace vramfit::bench::compare
