#include "estimator/timeline/verification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "estimator/timeline/snapshot.h"
#include "tests/estimator/timeline/ledgers.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

const KeptLedger& predicted() {
  static const KeptLedger ledger = small_ledger("pytorch");
  return ledger;
}

const std::string& snapshot() {
  static const std::string bytes = memory_snapshot({"a run", predicted(), 0, 0});
  return bytes;
}

/// Where the n-th allocation of the stage of that step is among the recording's events.
std::size_t event_of(const Recording& recording, Stage stage, int step, std::size_t n) {
  std::size_t allocations = 0;
  for (const KeptEvent& e : predicted().events) {
    if (e.kind != Event::Kind::Allocate) continue;
    if (e.stage == stage && e.step == step && n-- == 0) break;
    ++allocations;
  }
  std::size_t event = 0;
  for (; event < recording.events.size(); ++event) {
    if (recording.events[event].allocates && allocations-- == 0) return event;
  }
  return event;
}

/// What the prediction reserves at most, until the n-th allocation of that stage.
std::uint64_t reserved_before(Stage stage, int step, std::size_t n) {
  std::uint64_t most = 0;
  for (const KeptEvent& e : predicted().events) {
    if (e.kind != Event::Kind::Allocate) continue;
    if (e.stage == stage && e.step == step && n-- == 0) break;
    most = std::max(most, e.reserved);
  }
  return most;
}

/// Another allocation, which is freed `after` events later; 0: it stays.
void plant(Recording& recording, std::size_t event, std::uint64_t bytes, std::size_t after) {
  recording.stacks.emplace_back("train.py:7 in main");
  recording.allocations.push_back({bytes, recording.stacks.size() - 1});
  const std::size_t owner = recording.allocations.size() - 1;
  const auto at = [&](std::size_t i) {
    return recording.events.begin() + static_cast<std::ptrdiff_t>(i);
  };
  if (after > 0) recording.events.insert(at(event + after), {false, owner});
  recording.events.insert(at(event), {true, owner});
}

TEST(Verification, OfOurOwnSnapshotAgrees) {
  const Recording recording = recording_of(snapshot());
  const Verification v = verify(recording, {predicted()});
  EXPECT_TRUE(v.agree());
  EXPECT_EQ(v.matched, v.recorded);
  EXPECT_EQ(v.run_peak, v.predicted_peak);
  EXPECT_EQ(v.run_reserved, v.predicted_reserved);
  EXPECT_FALSE(v.late);
  EXPECT_FALSE(v.ends);
  EXPECT_EQ(v.freed_elsewhere, 0U);
}

TEST(Verification, ATensorMoreIsFoundNamedAndAttributed) {
  Recording recording = recording_of(snapshot());
  plant(recording, event_of(recording, Stage::Forward, 1, 5), std::uint64_t{5} << 20, 0);
  const Verification v = verify(recording, {predicted()});
  ASSERT_TRUE(v.first);
  EXPECT_EQ(v.first->moment.stage, Stage::Forward);
  EXPECT_EQ(v.first->moment.step, 1);
  EXPECT_EQ(v.first->run_bytes, std::uint64_t{5} << 20);
  EXPECT_EQ(v.first->run_what, "train.py:7 in main");
  EXPECT_FALSE(v.first->predicted_bytes);
  ASSERT_EQ(v.extra.size(), 1U);
  EXPECT_EQ(v.extra.front().count, 1);
  EXPECT_TRUE(v.missing.empty());
  EXPECT_EQ(v.run_peak - v.predicted_peak, std::uint64_t{5} << 20);
  ASSERT_EQ(v.at_peak.size(), 1U);
  EXPECT_EQ(v.at_peak.front().what, "train.py:7 in main");
  EXPECT_EQ(v.at_peak.front().total(), std::int64_t{5} << 20);
}

TEST(Verification, WhatPassesIsADifferenceToo) {
  Recording recording = recording_of(snapshot());
  plant(recording, event_of(recording, Stage::Forward, 1, 9), 12345, 3);
  const Verification v = verify(recording, {predicted()});
  ASSERT_TRUE(v.first);
  EXPECT_EQ(v.first->moment.stage, Stage::Forward);
  EXPECT_EQ(v.first->run_bytes, 12800U) << "as the allocator rounds it";
  EXPECT_TRUE(v.at_peak.empty());
}

TEST(Verification, AnotherSizeIsSetBesideTheOneExpected) {
  Recording recording = recording_of(snapshot());
  const std::size_t event = event_of(recording, Stage::Forward, 1, 20);
  Recording::Allocation& allocation = recording.allocations[recording.events[event].allocation];
  const std::uint64_t before = allocation.requested;
  allocation.requested += std::uint64_t{1} << 20;
  const Verification v = verify(recording, {predicted()});
  ASSERT_TRUE(v.first);
  ASSERT_TRUE(v.first->run_bytes && v.first->predicted_bytes);
  EXPECT_EQ(*v.first->run_bytes - *v.first->predicted_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(*v.first->predicted_bytes, (before + 511) / 512 * 512);
  EXPECT_EQ(v.extra.size(), 1U);
  EXPECT_EQ(v.missing.size(), 1U);
}

TEST(Verification, ATensorLessIsMissing) {
  Recording recording = recording_of(snapshot());
  const std::size_t event = event_of(recording, Stage::Forward, 2, 3);
  const std::size_t owner = recording.events[event].allocation;
  std::erase_if(recording.events, [&](const auto& e) { return e.allocation == owner; });
  const Verification v = verify(recording, {predicted()});
  ASSERT_TRUE(v.first);
  EXPECT_EQ(v.first->moment.stage, Stage::Forward);
  EXPECT_EQ(v.first->moment.step, 2);
  EXPECT_FALSE(v.first->run_bytes);
  ASSERT_EQ(v.missing.size(), 1U);
  EXPECT_EQ(v.missing.front().count, 1);
  EXPECT_TRUE(v.extra.empty());
}

TEST(Verification, WhatIsHeldLongerIsAPartingWhereThePeakSeesIt) {
  Recording recording = recording_of(snapshot());
  // A large block that forward frees is kept to the end.
  const std::size_t from = event_of(recording, Stage::Forward, 1, 10);
  const auto large =
      std::find_if(recording.events.begin() + static_cast<std::ptrdiff_t>(from),
                   recording.events.end(), [&](const Recording::Event& e) {
                     return !e.allocates && recording.allocations[e.allocation].requested > 1 << 20;
                   });
  recording.events.erase(large);
  const Verification v = verify(recording, {predicted()});
  ASSERT_TRUE(v.first);
  EXPECT_TRUE(v.first->frees);
  EXPECT_GT(v.run_peak, v.predicted_peak);
  EXPECT_TRUE(v.extra.empty());
  std::int64_t total = 0;
  for (const Alike& alike : v.at_peak) total += alike.total();
  EXPECT_EQ(total, static_cast<std::int64_t>(v.run_peak - v.predicted_peak));
}

/// The recording without its first events; what they left is there from the start.
Recording late(Recording whole, std::size_t first) {
  std::vector<bool> live(whole.allocations.size(), false);
  for (std::size_t i = 0; i < first; ++i) {
    live[whole.events[i].allocation] = whole.events[i].allocates;
  }
  Recording cut = whole;
  cut.allocations.clear();
  std::vector<std::size_t> number(whole.allocations.size());
  for (const bool there : {true, false}) {
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (live[i] != there) continue;
      number[i] = cut.allocations.size();
      cut.allocations.push_back(whole.allocations[i]);
    }
    if (there) cut.from_start = cut.allocations.size();
  }
  cut.events.erase(cut.events.begin(), cut.events.begin() + static_cast<std::ptrdiff_t>(first));
  for (Recording::Event& event : cut.events) event.allocation = number[event.allocation];
  return cut;
}

TEST(Verification, ALateRecordingIsComparedFromThere) {
  const Recording whole = recording_of(snapshot());
  for (const auto& [stage, step] : {std::pair{Stage::Forward, 1},
                                    {Stage::Forward, 2},
                                    {Stage::Backward, 2},
                                    {Stage::Optimizer, 2}}) {
    for (const std::size_t n : {0UL, 7UL}) {
      SCOPED_TRACE(std::string(name(stage)) + " " + std::to_string(step));
      Recording recording = late(whole, event_of(whole, stage, step, n));
      const Verification v = verify(recording, {predicted()});
      EXPECT_TRUE(v.agree());
      ASSERT_TRUE(v.late);
      EXPECT_EQ(v.late->run_bytes, v.late->predicted_bytes);
      // Optimizers take the same in every step.
      EXPECT_TRUE(stage == Stage::Optimizer || v.late->moment.step == step);
    }
  }
}

TEST(Verification, ALateRecordingThatReservesMoreParts) {
  const Recording whole = recording_of(snapshot());
  Recording recording = late(whole, event_of(whole, Stage::Forward, 2, 0));
  recording.peak_reserved += std::uint64_t{1} << 30;
  EXPECT_TRUE(verify(recording, {predicted()}).reserved_differs);
}

TEST(Verification, WhatWasThereBeforeALateRecordingIsCompared) {
  const Recording whole = recording_of(snapshot());
  Recording recording = late(whole, event_of(whole, Stage::Forward, 2, 0));
  recording.stacks.emplace_back();
  recording.allocations.insert(recording.allocations.begin(),
                               {std::uint64_t{7} << 20, recording.stacks.size() - 1});
  ++recording.from_start;
  for (Recording::Event& event : recording.events) ++event.allocation;
  const Verification v = verify(recording, {predicted()});
  ASSERT_TRUE(v.first);
  EXPECT_EQ(v.first->run_bytes, std::uint64_t{7} << 20);
  EXPECT_EQ(v.run_peak - v.predicted_peak, std::uint64_t{7} << 20);
}

TEST(Verification, AShortRecordingIsComparedSoFar) {
  Recording recording = recording_of(snapshot());
  recording.events.resize(event_of(recording, Stage::Backward, 1, 4));
  recording.peak_reserved = reserved_before(Stage::Backward, 1, 4);
  const Verification v = verify(recording, {predicted()});
  EXPECT_TRUE(v.agree());
  ASSERT_TRUE(v.ends);
  EXPECT_EQ(v.ends->stage, Stage::Backward);
  EXPECT_EQ(v.ends->step, 1);
}

TEST(Verification, WhatIsReservedIsPartOfTheVerdict) {
  Recording recording = recording_of(snapshot());
  for (const std::int64_t more : {std::int64_t{1} << 30, -(std::int64_t{2} << 20)}) {
    Recording other = recording;
    other.peak_reserved += static_cast<std::uint64_t>(more);
    const Verification v = verify(other, {predicted()});
    EXPECT_FALSE(v.first);
    EXPECT_TRUE(v.reserved_differs);
    EXPECT_FALSE(v.agree()) << more;
  }
}

TEST(Verification, HowTheyEndIsPartOfTheVerdict) {
  const Recording went_on = recording_of(snapshot());
  Recording ran_out = went_on;
  ran_out.out_of_memory = true;
  ran_out.peak_reserved -= std::uint64_t{2} << 20;  // given back at the limit
  const std::size_t room = went_on.allocations.size() / 2;
  EXPECT_EQ(verify(ran_out, {predicted()}).ending, Ending::RunRanOut);
  EXPECT_FALSE(verify(ran_out, {predicted()}).agree());
  EXPECT_TRUE(verify(ran_out, {predicted(), room}).agree());
  EXPECT_EQ(verify(went_on, {predicted(), room}).ending, Ending::PredictionRanOut);
  EXPECT_FALSE(verify(went_on, {predicted(), room}).agree());

  Recording ends_before = went_on;
  ends_before.events.resize(event_of(went_on, Stage::Forward, 1, 5));
  ends_before.peak_reserved = reserved_before(Stage::Forward, 1, 5);
  EXPECT_TRUE(verify(ends_before, {predicted(), room}).agree()) << "nobody knows how it went on";
}

TEST(Verification, LoadingAloneIsSaid) {
  Recording recording = recording_of(snapshot());
  EXPECT_FALSE(verify(recording, {predicted()}).loading_alone);
  const auto& events = predicted().events;
  const auto loaded = std::find_if(events.begin(), events.end(), [](const KeptEvent& e) {
    return e.kind == Event::Kind::StageEnd && e.stage == Stage::Loaded;
  });
  const auto changes = std::count_if(events.begin(), loaded, [](const KeptEvent& e) {
    return e.kind == Event::Kind::Allocate || e.kind == Event::Kind::Free;
  });
  recording.events.resize(static_cast<std::size_t>(changes));
  const Verification v = verify(recording, {predicted()});
  EXPECT_TRUE(v.loading_alone);
  EXPECT_FALSE(v.first);
}

TEST(Verification, NothingInCommonIsAParting) {
  Recording recording;
  recording.stacks = {""};
  recording.allocations = {{100, 0}, {200, 0}};
  recording.events = {{true, 0}, {true, 1}, {false, 0}};
  EXPECT_FALSE(verify(recording, {predicted()}).agree());
  EXPECT_FALSE(verify(recording_of(snapshot()), {}).agree());
}

TEST(Verification, ATraceWithoutAnAllocationIsNone) {
  std::string bytes = snapshot();
  for (const std::string known : {"alloc", "free_completed", "segment_map"}) {
    for (std::size_t at = 0; (at = bytes.find(known, at)) != std::string::npos;) {
      bytes.replace(at, known.size(), std::string(known.size(), 'x'));
    }
  }
  expect_bad_input([&] { recording_of(std::move(bytes)); }, {"none is an allocation"});
}

/// Bytes changed, cut out and put in: a recording or one line that says what is wrong.
TEST(Verification, NoDamageGetsPastTheReader) {
  // A part of the trace is enough, and keeps the test short.
  KeptLedger ledger = predicted();
  ledger.events.resize(100);
  const std::string valid = memory_snapshot({"a run", ledger, 0, 0});
  std::mt19937 random(13);
  int read = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string bytes = valid;
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 9);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 9));
          break;
        default:
          bytes.resize(at + 1);
      }
    }
    try {
      const Recording recording = recording_of(std::move(bytes));
      if (read++ % 20 == 0) verify(recording, {ledger});
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read, 100) << "some changes do no harm";
}

}  // namespace
}  // namespace vramfit
