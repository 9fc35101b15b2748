#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/memory/run_report.h"

namespace vramfit::pytorch {

/// Bytes that were asked for (+) and given back (-).
using ByteEvents = std::vector<std::int64_t>;

/// What comes and goes in a run, of at least so many bytes and where it is wanted.
ByteEvents events_of(const RunReport& report, std::int64_t least,
                     const std::function<bool(const Event&)>& wanted);

/// Where two first differ, as words; nothing where `recorded` is how `predicted` begins, but for
/// what the end of a run gives back. What goes between two that come has no order.
std::string first_difference(const nlohmann::json& recorded, ByteEvents predicted);

}  // namespace vramfit::pytorch
