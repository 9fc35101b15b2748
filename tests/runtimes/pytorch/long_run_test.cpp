// What PyTorch had reserved once it had trained for more steps than were read one by one: the
// answer for a run of any length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/runtimes/pytorch/cases.h"
#include "tests/support/workloads.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

/// Highest of the two steps that were read stage by stage.
std::uint64_t after_two_steps(const Json& result) {
  std::uint64_t highest = 0;
  for (const auto& [name, stage] : result.at("stages").items()) {
    highest = std::max(highest, stage.at("peak_reserved").get<std::uint64_t>());
  }
  return highest;
}

TEST(LongRun, ReservesWhatItWasMeasuredTo) {
  int compared = 0;
  int grown = 0;
  for (const char* file : {"pytorch_single_gpu", "pytorch_shapes", "pytorch_more"}) {
    for (const Json& row : read_lines(VRAMFIT_REFERENCE "/" + std::string(file) + ".jsonl")) {
      if (!row.contains("case") || !row.at("case").contains("time_steps")) continue;
      const Json& test_case = row.at("case");
      if (test_case.at("mode") != "train" || !is_modelled(test_case)) continue;
      const Json& result = row.at("result");
      const std::uint64_t measured = result.at("end").at("peak_reserved");
      const std::uint64_t predicted =
          steady_run(*workload_of(training_of(test_case)), h200(), kUnlimitedBytes,
                     model_of(test_case), {.events = false})
              .report.reserved;
      EXPECT_NEAR(static_cast<double>(predicted), static_cast<double>(measured),
                  0.005 * static_cast<double>(measured))
          << title_of(test_case);
      grown += measured > after_two_steps(result) && predicted == measured ? 1 : 0;
      ++compared;
    }
  }
  EXPECT_GE(compared, 8);
  EXPECT_GE(grown, 3) << "two steps would do: the third proves nothing";
}

}  // namespace
}  // namespace vramfit::pytorch
