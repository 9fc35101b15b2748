// Adapters beside quantised weights: what an H200 recorded of two steps with transformers 5.17,
// PEFT 0.21 and bitsandbytes 0.50.2, byte by byte.
#include <gtest/gtest.h>

#include "tests/runtimes/pytorch/cases.h"
#include "tests/runtimes/pytorch/events.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

RunReport trained(const Json& test_case) {
  return run(h200(), current_release(), model_of(test_case), training_of(test_case));
}

TEST(Qlora, AsksForTheSameBytesInTheSameOrder) {
  constexpr std::uint64_t kWorkspace = 32 << 20;  // cuBLAS's, which recordings leave out
  int compared = 0;
  for (const Json& recording : read_lines(VRAMFIT_PYTORCH_FIXTURES "/qlora.jsonl")) {
    const Json& test_case = recording.at("case");
    SCOPED_TRACE(title_of(test_case));
    // Small ones were left out; of LLM.int8() also those that follow how many outliers there were.
    const std::int64_t least = recording.at("least");
    ByteEvents events = events_of(trained(test_case), least, [](const Event& event) {
      return event.requested != kWorkspace || event.category != Category::Workspace;
    });
    // The loader's warm-up, for which a process that has trained before has memory.
    ASSERT_EQ(events.at(0), -events.at(1));
    events.erase(events.begin(), events.begin() + 2);
    EXPECT_EQ(first_difference(recording.at("events"), events), "");
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

}  // namespace
}  // namespace vramfit::pytorch
