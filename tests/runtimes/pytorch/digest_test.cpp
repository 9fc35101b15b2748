// Every event of every measured case's prediction, as it was before the code was rearranged: a
// change of structure moves no byte.
#include "tests/support/digest.h"

#include <gtest/gtest.h>

#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

/// Of what comes and goes; stages stand behind it.
std::string digest_of(const RunReport& report) {
  EventDigest digest;
  for (const Event& e : report.events) {
    const bool allocated = e.kind == Event::Kind::Allocate;
    if (!allocated && e.kind != Event::Kind::Free) continue;
    digest.add(allocated ? '+' : '-', e.stage, e.step, e.category, e.bytes, e.offset);
  }
  std::string text = digest.text();
  for (const StageRecord& stage : report.stages) {
    text += "; " + std::string(name(stage.stage)) + " " + std::to_string(stage.peak) + " " +
            std::to_string(stage.peak_reserved) + " " + std::to_string(stage.device_used);
  }
  return text;
}

void add_training(const Json& test_case, std::map<std::string, std::string>& digests) {
  digests[title_of(test_case)] =
      digest_of(run(h200(), measured_release(), model_of(test_case), training_of(test_case)));
}

void add_generations(const Json& test_case, std::map<std::string, std::string>& digests) {
  for (const Json& point : test_case.at("points")) {
    const std::string title = title_of(test_case) + " at " + point.dump();
    digests[title] = digest_of(
        run(h200(), measured_release(), model_of(test_case), generation_of(test_case, point)));
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
