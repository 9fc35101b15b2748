#include "runtimes/article/formulas.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/errors.h"

namespace vramfit::article {
namespace {

TEST(ArticleFormulas, DefaultsAreTheArticlesOwnExample) {
  const Answer answer = will_it_fit({});
  EXPECT_DOUBLE_EQ(answer.parameters, 14e9);
  EXPECT_DOUBLE_EQ(answer.gradients, 14e9);
  EXPECT_DOUBLE_EQ(answer.optimizer, 84e9);
  EXPECT_DOUBLE_EQ(answer.activations, 12.0 * 4096 * 2048 * 32 * 2);
  EXPECT_DOUBLE_EQ(answer.kv_cache, 0);
  EXPECT_FALSE(answer.fits);
}

// "its calculator gives 112.0 + 6.4 for the same case" as Table 2's.
TEST(ArticleFormulas, TableTwosCase) {
  Question question;
  question.batch = 4;
  question.seq = 512;
  const Answer answer = will_it_fit(question);
  EXPECT_DOUBLE_EQ(answer.total() - answer.activations, 112e9);
  EXPECT_NEAR(answer.activations / 1e9, 6.4, 0.05);
}

TEST(ArticleFormulas, SgdKeepsAnFp32Master) {
  Question question;
  question.optimizer = "sgd";
  EXPECT_DOUBLE_EQ(will_it_fit(question).optimizer, 28e9);
}

TEST(ArticleFormulas, InferenceHasACacheAndNoGradients) {
  Question question;
  question.training = false;
  question.precision = "int4";
  question.batch = 8;
  const Answer answer = will_it_fit(question);
  EXPECT_DOUBLE_EQ(answer.parameters, 3.5e9);
  EXPECT_DOUBLE_EQ(answer.gradients + answer.optimizer + answer.activations, 0);
  EXPECT_NEAR(answer.kv_cache / 1e9, 2.1, 0.05);
  EXPECT_TRUE(answer.fits);
}

TEST(ArticleFormulas, FitsUpToTheLastByte) {
  Question question;
  question.training = false;
  question.vram_gb = will_it_fit(question).total() / 1e9;
  EXPECT_TRUE(will_it_fit(question).fits);
  question.vram_gb -= 1e-6;
  EXPECT_FALSE(will_it_fit(question).fits);
}

TEST(ArticleFormulas, KvCacheATokenOfASevenB) {
  Question question;
  question.seq = 1;
  EXPECT_DOUBLE_EQ(kv_cache_bytes(question), 524'288);
  question.seq = 2048;
  question.batch = 8;
  EXPECT_DOUBLE_EQ(kv_cache_bytes(question), 8.0 * (1 << 30));
}

TEST(ArticleFormulas, LargestBatchIsTheRestOverASample) {
  Question question;
  question.seq = 512;
  for (const double vram_gb : {24.0, 40.0, 48.0, 80.0}) {
    question.vram_gb = vram_gb;
    EXPECT_EQ(find_max_batch_size(question), 0) << vram_gb;
  }
  // A sample is 12 · 4096 · 512 · 32 · 2 = 1.61 GB on top of 112 GB.
  question.vram_gb = 112 + 3 * 1.6106127360 + 0.001;
  EXPECT_EQ(find_max_batch_size(question), 3);
}

TEST(ArticleFormulas, OfSeveralGpusEachHoldsAllOrAShare) {
  // 26 GB of weights and as much of gradients, 156 GB of Adam's states.
  EXPECT_DOUBLE_EQ(estimate_multi_gpu_memory(13, 2, "data-parallel"), 208e9);
  EXPECT_DOUBLE_EQ(estimate_multi_gpu_memory(13, 4, "data-parallel"), 208e9);
  for (const char* strategy : {"pipeline", "fsdp"}) {
    EXPECT_DOUBLE_EQ(estimate_multi_gpu_memory(13, 2, strategy), 104e9);
    EXPECT_DOUBLE_EQ(estimate_multi_gpu_memory(13, 4, strategy), 52e9);
  }
  EXPECT_THROW(estimate_multi_gpu_memory(13, 0, "fsdp"), BadInput);
  EXPECT_THROW(estimate_multi_gpu_memory(13, 2, "tensor-parallel"), BadInput);
}

TEST(ArticleFormulas, RefusesWhatItDoesNotKnow) {
  Question question;
  question.precision = "fp8";
  EXPECT_THROW(will_it_fit(question), BadInput);
  question = {};
  question.optimizer = "lion";
  EXPECT_THROW(will_it_fit(question), BadInput);
}

TEST(ArticleFormulas, CountsWeightsOfOursInWholeNumbersOfAsManyBits) {
  EXPECT_EQ(precision_for(DType::Bf16), "bf16");
  EXPECT_EQ(precision_for(DType::Int8), "int8");
  EXPECT_EQ(precision_for(*Format::named("nf4")), "int4");
  EXPECT_EQ(precision_for(DType::Fp8), std::nullopt);
  EXPECT_EQ(precision_for(DType::Fp64), std::nullopt);
}

TEST(ArticleFormulas, AsksAboutOurModelsWithTheirTrueSizes) {
  const Question question = question_about(model_named("llama2-13b"), "bf16", 2, 128);
  EXPECT_DOUBLE_EQ(question.params_billion, 13.01586432);
  EXPECT_EQ(question.hidden, 5120);
  EXPECT_EQ(question.layers, 40);
  EXPECT_EQ(question.precision, "bf16");
  EXPECT_EQ(question.batch, 2);
  EXPECT_EQ(question.seq, 128);
  EXPECT_EQ(optimizer_for("sgd-momentum"), "sgd");
  EXPECT_EQ(optimizer_for("adamw-same"), "adam");
}

}  // namespace
}  // namespace vramfit::article
