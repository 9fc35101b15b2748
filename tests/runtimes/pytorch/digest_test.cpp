// Every event of every measured case's prediction, as it was before the code was rearranged: a
// change of structure moves no byte.
#include "tests/support/digest.h"

#include <gtest/gtest.h>

#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

/// Runs and sums up what `go` is to observe.
template <typename Go>
std::string digest_of(const Go& go) {
  EventDigest digest;
  const RunReport report = go([&digest](const Memory::Change& change) {
    digest.add(change.allocated ? '+' : '-', change.at.stage, change.at.step, change.category,
               change.block.bytes, change.block.offset);
  });
  std::string text = digest.text();
  for (const StageRecord& stage : report.stages) {
    text += "; " + std::string(name(stage.stage)) + " " + std::to_string(stage.peak) + " " +
            std::to_string(stage.peak_reserved) + " " + std::to_string(stage.device_used);
  }
  return text;
}

void add_training(const Json& test_case, std::map<std::string, std::string>& digests) {
  digests[title_of(test_case)] = digest_of([&](const Memory::Observer& observe) {
    return run(h200(), current_release(), model_of(test_case), training_of(test_case),
               kDefaultSteps, observe);
  });
}

void add_generations(const Json& test_case, std::map<std::string, std::string>& digests) {
  for (const Json& point : test_case.at("points")) {
    const GenerationOptions options = generation_of(test_case, point);
    const std::string title = title_of(test_case) + " at " + point.dump();
    digests[title] = digest_of([&](const Memory::Observer& observe) {
      return run(h200(), current_release(), model_of(test_case), options, observe);
    });
  }
}

TEST(Digest, OfEveryMeasuredCaseIsAsItWas) {
  std::map<std::string, std::string> digests;
  for (const char* file : {"pytorch_single_gpu", "pytorch_shapes", "pytorch_max_batch"}) {
    for (const Json& row : read_lines(VRAMFIT_REFERENCE "/" + std::string(file) + ".jsonl")) {
      if (!row.contains("case") || !row.at("case").contains("arch")) continue;
      const Json& test_case = row.at("case");
      test_case.at("mode") == "infer" ? add_generations(test_case, digests)
                                      : add_training(test_case, digests);
    }
  }
  expect_digests("pytorch.txt", digests);
}

}  // namespace
}  // namespace vramfit::pytorch
