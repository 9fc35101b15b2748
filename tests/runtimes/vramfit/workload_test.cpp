#include "runtimes/vramfit/workload.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/transformer/sizes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(Workload, SizesAreThoseOfEitherKind) {
  for (Workload workload : {Workload{GenerationOptions{}}, Workload{TrainingOptions{}}}) {
    set_batch(workload, 3);
    set_seq(workload, 77);
    EXPECT_EQ(batch_of(workload), 3);
    EXPECT_EQ(seq_of(workload), 77);
    EXPECT_EQ(positions_of(workload), 77);
    EXPECT_EQ(precision_of(workload), DType::Bf16);
    EXPECT_EQ(attention_of(workload), AttentionForm::Flash);
  }
}

TEST(Workload, SeqLimitIsWhatValidateTakes) {
  GenerationOptions generation;
  generation.generate = 17;
  for (const char* name : {"gpt2-124m", "mistral-7b"}) {
    const ModelConfig model = model_named(name);
    for (Workload workload : {Workload{generation}, Workload{TrainingOptions{}}}) {
      const std::int64_t limit = seq_limit(model, workload);
      set_seq(workload, limit);
      EXPECT_NO_THROW(validate(model, workload)) << name;
      set_seq(workload, limit + 1);
      expect_bad_input([&] { validate(model, workload); }, {name});
    }
  }
  EXPECT_EQ(seq_limit(model_named("llama2-7b"), Workload{TrainingOptions{}}), kMaxSeq);
}

TEST(Workload, Fp64IsNoGpusBusiness) {
  TrainingOptions training;
  training.precision = DType::Fp64;
  training.seq = 8;
  expect_bad_input([&] { validate(model_named("gpt2-124m"), Workload{training}); },
                   {"precision: fp64", "bf16"});
}

}  // namespace
}  // namespace vramfit
