#include "standin/memory/values.h"

#include <algorithm>
#include <iterator>

namespace vramfit::standin {
namespace {

bool alike(Kind a, Kind b) { return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0; }

}  // namespace

void Values::set(std::uint64_t address, std::uint64_t bytes, Knowledge knowledge, Kind kind) {
  if (bytes == 0) return;
  const std::uint64_t end = address + bytes;
  auto at = stretches_.lower_bound(address);
  if (at != stretches_.begin()) {
    Stretch& before = std::prev(at)->second;
    if (before.end > end) stretches_.emplace(end, before);  // what is behind stays
    before.end = std::min(before.end, address);
  }
  while (at != stretches_.end() && at->first < end) {
    if (at->second.end > end) stretches_.emplace(end, at->second);
    at = stretches_.erase(at);
  }
  if (knowledge != Knowledge::Unknown) stretches_[address] = {end, knowledge, kind};
}

Knowledge Values::least(std::uint64_t address, std::uint64_t bytes, Kind kind) const {
  auto at = stretches_.upper_bound(address);
  if (at == stretches_.begin()) return bytes == 0 ? Knowledge::Known : Knowledge::Unknown;
  --at;
  Knowledge least = Knowledge::Known;
  const std::uint64_t end = address + bytes;
  while (address < end) {
    if (at == stretches_.end() || at->first > address || at->second.end <= address ||
        !alike(at->second.kind, kind)) {
      return Knowledge::Unknown;
    }
    least = std::min(least, at->second.knowledge);
    address = at->second.end;
    ++at;
  }
  return least;
}

void Values::forget_floats() {
  std::erase_if(stretches_, [](const auto& s) { return s.second.kind == Kind::Float; });
}

}  // namespace vramfit::standin
