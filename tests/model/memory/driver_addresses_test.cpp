#include "model/memory/driver_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace vramfit {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Whether every allocation of a measured sequence is put where the driver put it, as seen from the
/// lowest address of all.
::testing::AssertionResult lies_as_measured(const nlohmann::json& events) {
  DriverAddresses addresses;
  std::map<int, Span> live;
  std::map<int, std::uint64_t> offsets;
  for (int i = 0; i < static_cast<int>(events.size()); ++i) {
    const nlohmann::json& event = events[static_cast<std::size_t>(i)];
    if (event.size() == 1) {
      const auto freed = live.extract(event[0].get<int>());
      addresses.give(freed.mapped().offset, freed.mapped().bytes);
      continue;
    }
    const std::uint64_t bytes = event[0];
    live[i] = {addresses.take(bytes), bytes};
    offsets[i] = live[i].offset;
  }
  const auto lowest = std::min_element(offsets.begin(), offsets.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
  for (const auto& [i, offset] : offsets) {
    const std::uint64_t measured = events[static_cast<std::size_t>(i)][1];
    if (offset - lowest->second != measured) {
      return ::testing::AssertionFailure() << "event " << i;
    }
  }
  return ::testing::AssertionSuccess();
}

TEST(DriverAddresses, AreThoseOfEveryMeasuredSequence) {
  std::ifstream file(VRAMFIT_DATA_DIR "/reference/driver_addresses.jsonl");
  int sequences = 0;
  for (std::string line; std::getline(file, line);) {
    const auto sequence = nlohmann::json::parse(line);
    if (sequence.at("kind") == "small") continue;  // those share pages: tests/standin/
    EXPECT_TRUE(lies_as_measured(sequence.at("events"))) << "sequence " << sequences;
    ++sequences;
  }
  EXPECT_EQ(sequences, 35);
}

TEST(DriverAddresses, TheFirstKernelLeavesRoomBelowTheFirstSegment) {
  DriverAddresses addresses;
  const std::uint64_t first = addresses.take(2 * kMiB);
  addresses.load(DriverCode::FirstKernel);
  // As PyTorch's segments were seen to lie on an H200.
  EXPECT_EQ(addresses.take(20 * kMiB), first - 414 * kMiB);
  EXPECT_EQ(addresses.take(2 * kMiB), first - 420 * kMiB);
  EXPECT_EQ(addresses.take(520 * kMiB), first - 1470 * kMiB);
}

TEST(DriverAddresses, ALibrarysCodeTakesTheGapAbove) {
  DriverAddresses with;
  DriverAddresses without;
  for (DriverAddresses* each : {&with, &without}) {
    each->take(2 * kMiB);
    each->load(DriverCode::FirstKernel);
    each->take(414 * kMiB);
  }
  with.load(DriverCode::Attention);
  EXPECT_LT(with.take(32 * kMiB), without.take(32 * kMiB));
}

}  // namespace
}  // namespace vramfit
