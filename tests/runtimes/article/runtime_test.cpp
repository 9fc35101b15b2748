#include "runtimes/article/runtime.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/errors.h"

namespace vramfit::article {
namespace {

std::shared_ptr<const Workload> workload(const Flags& flags, bool training) {
  return article_runtime().workload(flags, training, model_named("llama2-7b"));
}

RunReport run(const Workload& workload, std::uint64_t capacity = kUnlimitedBytes) {
  return workload.run(Gpu{}, capacity, model_named("llama2-7b"), Extent{}).report;
}

TEST(ArticleRuntime, AddsUpWhatTheFormulasSay) {
  for (const bool training : {true, false}) {
    Question question = question_about(model_named("llama2-7b"), "int8", 4, 512);
    question.training = training;
    const Flags flags = {{"precision", "int8"}, {"batch", "4"}, {"seq", "512"}};
    EXPECT_NEAR(static_cast<double>(run(*workload(flags, training)).peak.allocated),
                will_it_fit(question).total(), 2.5);
  }
}

TEST(ArticleRuntime, SeveralGpusShareWhatTheStrategySays) {
  const auto allocated = [](const char* strategy) {
    return run(*workload({{"gpus", "4"}, {"strategy", strategy}}, true)).peak.allocated;
  };
  EXPECT_EQ(allocated("data-parallel"), 16U * 6'738'415'616);
  EXPECT_EQ(allocated("fsdp"), 4U * 6'738'415'616);
}

TEST(ArticleRuntime, RunsOutInTheStageThatIsTooMuch) {
  const RunReport report = run(*workload({}, true), 24'000'000'000);
  ASSERT_TRUE(report.missing);
  EXPECT_EQ(report.missing->stage, Stage::Backward);
}

TEST(ArticleRuntime, RefusesWhatTheArticleDoesNotKnow) {
  for (const Flags& flags :
       {Flags{{"precision", "fp12"}}, Flags{{"optimizer", "adamw"}}, Flags{{"strategy", "fsdp"}},
        Flags{{"gpus", "0"}}, Flags{{"gpus", "2"}, {"strategy", "tensor"}},
        Flags{{"gpus", "2"}, {"precision", "fp32"}}}) {
    EXPECT_THROW(workload(flags, true), BadInput) << flags.begin()->first;
  }
}

}  // namespace
}  // namespace vramfit::article
