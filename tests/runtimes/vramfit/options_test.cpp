#include "runtimes/vramfit/options.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/transformer/sizes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(StepOptions, SeqLimitIsWhatValidateTakes) {
  GenerationOptions generation;
  generation.generate = 17;
  for (const char* name : {"gpt2-124m", "mistral-7b"}) {
    const ModelConfig model = model_named(name);
    for (StepOptions options : {StepOptions{generation}, StepOptions{TrainingOptions{}}}) {
      const std::int64_t limit = seq_limit(model, options);
      std::visit([&](auto& o) { o.seq = limit; }, options);
      EXPECT_NO_THROW(validate(model, options)) << name;
      std::visit([&](auto& o) { o.seq = limit + 1; }, options);
      expect_bad_input([&] { validate(model, options); }, {name});
    }
  }
  EXPECT_EQ(seq_limit(model_named("llama2-7b"), StepOptions{TrainingOptions{}}), kMaxSeq);
}

TEST(StepOptions, Fp64IsNoGpusBusiness) {
  TrainingOptions training;
  training.precision = DType::Fp64;
  training.seq = 8;
  expect_bad_input([&] { validate(model_named("gpt2-124m"), StepOptions{training}); },
                   {"precision: fp64", "bf16"});
}

}  // namespace
}  // namespace vramfit
