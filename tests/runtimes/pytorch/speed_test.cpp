// Of the processor's time, so that what else a machine does counts little.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "estimator/card_names.h"
#include "estimator/largest.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

/// Seconds of a processor that the search and what is around its answer take.
double search_seconds(const Request& request, const SearchAxis& axis) {
  const std::clock_t start = std::clock();
  SizedRuns runs(request, axis);
  const Largest found = find_largest(runs);
  band_around(found, runs);
  EXPECT_GT(found.size, 0);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// With LLM.int8() no two layers are alike, so that all that lie on a GPU are walked in each of many
// decode steps.
TEST(Speed, SearchOfLongGenerationsWithLlmInt8OverSeveralGpus) {
  const ModelConfig model = model_named("llama2-13b");
  double worst = 0;
  for (const char* gpus : {"2", "7"}) {
    for (const SearchAxis& axis : batch_and_seq()) {
      Request request{model,
                      runtime_named("pytorch").workload(
                          {{"quant", "int8"}, {"gpus", gpus}, {"generate", "248"}, {"seq", "124"}},
                          false, model),
                      budget_of(card_named("rtx4090"))};
      const double seconds = search_seconds(request, axis);
      RecordProperty(gpus + (" " + std::string(axis.name)), std::to_string(seconds));
      worst = std::max(worst, seconds);
    }
  }
  EXPECT_LT(worst, 5) << "0.1 to 1.8 were measured";
}

TEST(Speed, SevenBillionTakeMilliseconds) {
  const nlohmann::json row = read_lines(VRAMFIT_REFERENCE "/pytorch_single_gpu.jsonl").at(4);
  const nlohmann::json& test_case = row.at("case");
  ASSERT_EQ(test_case.at("model"), "llama2-7b");
  const ModelConfig model = model_of(test_case);
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const std::clock_t start = std::clock();
    run(h200(), measured_release(), model, training_of(test_case), {.detail = {.events = false}});
    const auto ticks = static_cast<double>(std::clock() - start);
    best = std::min(best, 1000 * ticks / CLOCKS_PER_SEC);
  }
  RecordProperty("milliseconds", std::to_string(best));
  EXPECT_LT(best, 20) << "2 to 4 were measured";
}

}  // namespace
}  // namespace vramfit::pytorch
