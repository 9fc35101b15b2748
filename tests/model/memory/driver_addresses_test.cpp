#include "model/memory/driver_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "model/errors.h"

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

TEST(DriverAddresses, SegmentsLieApartInWhateverOrderThingsCome) {
  std::mt19937 random(20261124);
  const auto up_to = [&random](std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most)(random);
  };
  const std::vector<DriverCode> codes = {DriverCode::FirstKernel, DriverCode::Asserts,
                                         DriverCode::Blas,        DriverCode::BlasHandle,
                                         DriverCode::Attention,   DriverCode::BackwardAttention};
  for (int sequence = 0; sequence < 200; ++sequence) {
    DriverAddresses addresses;
    std::vector<DriverCode> loads = codes;
    std::shuffle(loads.begin(), loads.end(), random);
    std::map<std::uint64_t, std::uint64_t> live;  // bytes by offset
    for (int i = 0; i < 200; ++i) {
      if (!loads.empty() && up_to(20) == 0) {
        addresses.load(loads.back());
        loads.pop_back();
      } else if (!live.empty() && up_to(2) == 0) {
        const auto freed = std::next(live.begin(), static_cast<long>(up_to(live.size() - 1)));
        addresses.give(freed->first, freed->second);
        live.erase(freed);
      } else {
        const std::uint64_t bytes = 2 * kMiB * (1 + up_to(std::uint64_t{1} << up_to(9)));
        const auto [at, is_new] = live.emplace(addresses.take(bytes), bytes);
        ASSERT_TRUE(is_new) << "sequence " << sequence;
        const auto above = std::next(at);
        ASSERT_TRUE(above == live.end() || at->first + bytes <= above->first);
        ASSERT_TRUE(at == live.begin() || std::prev(at)->first + std::prev(at)->second <= at->first)
            << "sequence " << sequence;
      }
    }
  }
}

TEST(DriverAddresses, ThatThereAreNoneMoreOfAreRefused) {
  DriverAddresses addresses;
  EXPECT_THROW(addresses.take(std::uint64_t{1} << 63), BadInput);
  addresses.take(std::uint64_t{1} << 61);
  EXPECT_THROW(for (int i = 0; i < 8; ++i) addresses.take(std::uint64_t{1} << 61), BadInput);
}

}  // namespace
}  // namespace vramfit
