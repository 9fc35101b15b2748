#include "tests/runtimes/pytorch/events.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vramfit::pytorch {
namespace {

ByteEvents in_one_order(ByteEvents events) {
  for (auto at = events.begin(); at != events.end();) {
    const auto end = std::find_if(at, events.end(), [](std::int64_t e) { return e > 0; });
    std::sort(at, end);
    at = end == events.end() ? end : end + 1;
  }
  return events;
}

}  // namespace

ByteEvents events_of(const RunReport& report, std::int64_t least,
                     const std::function<bool(const Event&)>& wanted) {
  ByteEvents events;
  std::map<std::uint64_t, std::int64_t> sizes;  // by where blocks lie
  for (const Event& event : report.events) {
    const bool allocated = event.kind == Event::Kind::Allocate;
    if (!allocated && event.kind != Event::Kind::Free) continue;
    if (allocated) sizes[event.offset] = static_cast<std::int64_t>(event.requested);
    const std::int64_t bytes = sizes[event.offset];
    if (bytes >= least && wanted(event)) events.push_back(allocated ? bytes : -bytes);
  }
  return events;
}

std::string first_difference(const nlohmann::json& recorded, ByteEvents predicted) {
  const ByteEvents left = in_one_order(recorded.get<ByteEvents>());
  const ByteEvents right = in_one_order(std::move(predicted));
  const auto [a, b] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  if (std::all_of(a, left.end(), [](std::int64_t e) { return e < 0; })) return "";
  return "event " + std::to_string(a - left.begin()) + ": recorded " + std::to_string(*a) +
         ", predicted " + (b == right.end() ? "none" : std::to_string(*b));
}

}  // namespace vramfit::pytorch
