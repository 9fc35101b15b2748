// What PyTorch 2.11 did on an H200, event by event (scripts/record_allocator.py), against our model
// of its allocator and against predicted runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

const std::vector<Json>& recordings() {
  static const std::vector<Json> lines = read_lines(VRAMFIT_PYTORCH_FIXTURES "/allocator.jsonl");
  return lines;
}

/// The allocator's own decisions as the recording spells them: "s" and bytes.
class Replay {
 public:
  Replay() {
    allocator_.set_segment_observer([this](std::uint64_t, std::int64_t bytes) {
      segments_.push_back((bytes > 0 ? "s" : "r") + std::to_string(std::abs(bytes)));
    });
  }

  void event(const Json& event) {
    if (event.is_string()) {
      const std::string text = event;
      // empty_cache() was called, for nothing ran out of memory.
      if (text[0] == 'r' && expected_segments_.back()[0] != 'r') allocator_.empty_cache();
      expected_segments_.push_back(text);
    } else if (event.get<std::int64_t>() >= 0) {
      load_blas(event.get<std::uint64_t>());
      blocks_.push_back(allocator_.allocate(event.get<std::uint64_t>()));
    } else {
      allocator_.free(blocks_.at(static_cast<std::size_t>(-event.get<std::int64_t>() - 1)));
    }
  }

  CachingAllocator allocator_;
  std::vector<std::string> segments_;
  std::vector<std::string> expected_segments_;

 private:
  /// cuBLAS's workspace, 32 MiB, follows its handle; its first, what embeddings have had loaded.
  void load_blas(std::uint64_t bytes) {
    if (bytes != std::uint64_t{32} << 20) return;
    if (!blas_) allocator_.load(DriverCode::Asserts);
    allocator_.load(blas_ ? DriverCode::BlasHandle : DriverCode::Blas);
    blas_ = true;
  }

  std::vector<Block> blocks_;
  bool blas_ = false;
};

TEST(Recorded, TheAllocatorTakesTheSameSegments) {
  ASSERT_GE(recordings().size(), 8U);
  int compared = 0;
  int equal = 0;
  int same_segments = 0;
  for (const Json& recording : recordings()) {
    SCOPED_TRACE(title_of(recording.at("case")));
    std::map<std::size_t, std::vector<std::string>> marks;
    for (const auto& [name, stage] : recording.at("stages").items()) {
      marks[stage.at("events")].push_back(name);
    }
    Replay replay;
    std::size_t count = 0;
    for (const Json& event : recording.at("events")) {
      replay.event(event);
      for (const std::string& name : marks[++count]) {
        const Json& stage = recording.at("stages").at(name);
        // Of two free blocks of one size the lower is taken, and what lies lower hangs on what else
        // the process has mapped: rarely a block with another rest comes out.
        const auto allocated = stage.at("alloc").get<double>();
        const auto reserved = stage.at("reserved").get<double>();
        EXPECT_NEAR(static_cast<double>(replay.allocator_.allocated()), allocated, allocated / 300)
            << name;
        EXPECT_NEAR(static_cast<double>(replay.allocator_.reserved()), reserved, reserved / 300)
            << name;
        const bool same = replay.allocator_.allocated() == stage.at("alloc") &&
                          replay.allocator_.reserved() == stage.at("reserved");
        equal += same ? 1 : 0;
        ++compared;
      }
    }
    same_segments += replay.segments_ == replay.expected_segments_ ? 1 : 0;
  }
  EXPECT_GE(same_segments, static_cast<int>(recordings().size()) - 1);
  EXPECT_GE(equal, compared * 95 / 100);
}

/// Sizes as they come (+) and go (-); what goes between two that come has no order.
std::vector<std::string> in_one_order(std::vector<std::string> events) {
  for (auto at = events.begin(); at != events.end();) {
    const auto end =
        std::find_if(at, events.end(), [](const std::string& e) { return e[0] != '-'; });
    std::sort(at, end);
    at = end == events.end() ? end : end + 1;
  }
  return events;
}

std::vector<std::string> recorded_events(const Json& recording) {
  std::vector<std::string> events;
  std::vector<std::int64_t> sizes;
  std::size_t count = 0;
  for (const Json& event : recording.at("events")) {
    const bool counts = count++ >= recording.at("stages").at("load").at("events");
    if (event.is_string()) continue;
    const auto number = event.get<std::int64_t>();
    if (number >= 0) sizes.push_back(number);
    if (!counts) continue;
    events.push_back(number >= 0
                         ? "+" + std::to_string(number)
                         : "-" + std::to_string(sizes.at(static_cast<std::size_t>(-number - 1))));
  }
  return in_one_order(events);
}

std::vector<std::string> predicted_events(const Json& test_case) {
  std::vector<std::string> events;
  std::map<std::uint64_t, std::uint64_t> sizes;
  for (const Event& event :
       run(h200(), measured_release(), model_of(test_case), training_of(test_case)).events) {
    const bool allocated = event.kind == Event::Kind::Allocate;
    if (!allocated && event.kind != Event::Kind::Free) continue;
    if (allocated) sizes[event.offset] = event.requested;
    events.push_back((allocated ? "+" : "-") + std::to_string(sizes[event.offset]));
  }
  return in_one_order(events);
}

TEST(Recorded, TrainingAsksForTheSameBytesInTheSameOrder) {
  int compared = 0;
  for (const Json& recording : recordings()) {
    const Json& test_case = recording.at("case");
    if (test_case.at("mode") != "train") continue;
    SCOPED_TRACE(title_of(test_case));
    const std::vector<std::string> recorded = recorded_events(recording);
    const std::vector<std::string> all = predicted_events(test_case);
    // Loading is left out: there constants are made on the way. It ends where both begin alike.
    const auto begin = std::search(all.begin(), all.end(), recorded.begin(), recorded.begin() + 9);
    const std::vector<std::string> predicted(begin, all.end());
    ASSERT_GE(predicted.size(), recorded.size());  // ends by giving everything back
    const auto different = std::mismatch(recorded.begin(), recorded.end(), predicted.begin());
    // The last frees run into the end of the prediction, in another order.
    const auto left = recorded.end() - different.first;
    const bool only_frees = std::all_of(different.first, recorded.end(),
                                        [](const std::string& e) { return e[0] == '-'; });
    EXPECT_TRUE(left == 0 || only_frees)
        << "event " << recorded.size() - static_cast<std::size_t>(left) << " of " << recorded.size()
        << ": recorded " << *different.first << ", predicted " << *different.second;
    ++compared;
  }
  EXPECT_GE(compared, 7);
}

}  // namespace
}  // namespace vramfit::pytorch
