#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr std::int64_t kTokens = 7;
constexpr std::int64_t kHidden = 5;
constexpr std::int64_t kVocab = 6;
constexpr std::int64_t kStored = 8;
constexpr float kLossWeight = 0.25F;
constexpr float kLossScale = 512.0F;

/// The head over a few tokens, in chunks of a given size.
class HeadCase {
 public:
  explicit HeadCase(std::int64_t chunk, DType dtype = DType::Fp64) : chunk_(chunk), bench(dtype) {
    const std::vector<float> start = {kLossScale, 0.0F, 0.0F};
    bench.device.upload(scaler, start.data(), start.size() * sizeof(float));
    if (is_16_bit(dtype) && chunk < kTokens) dweight_sum = bench.floats({kStored, kHidden});
  }

  /// `dhidden` holds the final norm's output, and its gradient afterwards.
  void run(Tensor& dhidden, Gradient& dweight, Tensor& loss, bool scaled) {
    Tensor logits = bench.empty({chunk_, kStored});
    Tensor workspace = bench.bytes(0);
    bench.device.run(HeadLoss{dhidden, weight, targets, chunk_, kLossWeight,
                              scaled ? &scaler : nullptr, loss, &dweight.tensor, dweight.accumulate,
                              logits, dweight_sum ? &dweight_sum : nullptr, workspace});
  }

  double objective() {
    Tensor scratch = bench.copy(hidden);
    Gradient dweight = bench.gradient_of(weight, false);
    Tensor loss = bench.sums({1});
    set_values(loss, {0});
    run(scratch, dweight, loss, false);
    return values_of(loss)[0];
  }

 private:
  std::int64_t chunk_;

 public:
  Workbench bench;
  Tensor hidden = bench.random({kTokens, kHidden});
  Tensor weight = bench.random({kVocab, kHidden}, {kStored, kHidden});
  Tensor targets = bench.random_tokens({1, kTokens}, kVocab);
  Tensor scaler = bench.floats({LossScale::kValues});
  Tensor dweight_sum;
};

class HeadChunkTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(HeadChunkTest, BackwardIsTheDerivative) {
  for (const bool accumulate : {false, true}) {
    HeadCase head(GetParam());
    Tensor dhidden = head.bench.copy(head.hidden);
    Gradient dweight = head.bench.gradient_of(head.weight, accumulate);
    Tensor loss = head.bench.sums({1});
    set_values(loss, {0});
    head.run(dhidden, dweight, loss, false);
    const auto objective = [&head] { return head.objective(); };
    expect_gradient(head.hidden, values_of(dhidden), objective);
    // Padding rows are among them: they do not take part, so their gradients are zero.
    expect_gradient(head.weight, dweight.added(), objective);
  }
}

TEST_P(HeadChunkTest, OfAFrozenHeadIsForItsInputAlone) {
  for (const DType dtype : {DType::Fp64, DType::Bf16}) {
    HeadCase head(GetParam(), dtype);
    Gradient dweight = head.bench.gradient_of(head.weight, false);
    Tensor trained = head.bench.copy(head.hidden);
    Tensor frozen = head.bench.copy(head.hidden);
    Tensor losses[] = {head.bench.sums({1}), head.bench.sums({1})};
    for (Tensor& loss : losses) set_values(loss, {0});
    head.run(trained, dweight, losses[0], false);
    Tensor logits = head.bench.empty({GetParam(), kStored});
    Tensor workspace = head.bench.bytes(0);
    head.bench.device.run(HeadLoss{frozen, head.weight, head.targets, GetParam(), kLossWeight,
                                   nullptr, losses[1], nullptr, false, logits, nullptr, workspace});
    EXPECT_EQ(values_of(frozen), values_of(trained));
    EXPECT_EQ(values_of(losses[1]), values_of(losses[0]));
  }
}

TEST_P(HeadChunkTest, ScalesGradientsAndNotTheLoss) {
  HeadCase head(GetParam());
  Tensor loss = head.bench.sums({1});
  set_values(loss, {3});
  std::vector<std::vector<double>> dhidden;
  std::vector<std::vector<double>> dweight;
  for (const bool scaled : {false, true}) {
    Tensor hidden = head.bench.copy(head.hidden);
    Gradient gradient = head.bench.gradient_of(head.weight, false);
    head.run(hidden, gradient, loss, scaled);
    dhidden.push_back(values_of(hidden));
    dweight.push_back(gradient.added());
  }
  EXPECT_NEAR(values_of(loss)[0], 3 + 2 * head.objective(), 1e-13) << "the loss is to be added";
  for (std::vector<std::vector<double>>* gradients : {&dhidden, &dweight}) {
    for (double& g : gradients->front()) g *= static_cast<double>(kLossScale);
    EXPECT_LT(relative_error(gradients->back(), gradients->front()), 1e-15);
  }
}

INSTANTIATE_TEST_SUITE_P(Chunks, HeadChunkTest, testing::Values(1, 2, 3, kTokens));

TEST(Head, LossByItsDefinition) {
  HeadCase head(3);
  double expected = 0;
  for (std::int64_t n = 0; n < kTokens; ++n) {
    std::vector<double> logits;
    double sum = 0;
    for (std::int64_t v = 0; v < kVocab; ++v) {
      double logit = 0;
      for (std::int64_t c = 0; c < kHidden; ++c) {
        logit +=
            head.hidden.as<double>()[n * kHidden + c] * head.weight.as<double>()[v * kHidden + c];
      }
      logits.push_back(logit);
      sum += std::exp(logit);
    }
    const std::int32_t target = head.targets.as<std::int32_t>()[n];
    expected += std::log(sum) - logits[static_cast<std::size_t>(target)];
  }
  EXPECT_NEAR(head.objective(), expected * static_cast<double>(kLossWeight), 1e-13);
}

/// Padding rows are zero, but the head must not rely on it.
TEST(Head, PaddingRowsTakeNoPartWhateverTheyHold) {
  std::vector<std::vector<double>> results;
  for (const double padding : {0.0, 5.0}) {
    HeadCase head(3);
    std::vector<double> rows = values_of(head.weight);
    for (std::size_t i = kVocab * kHidden; i < rows.size(); ++i) rows[i] = padding;
    set_values(head.weight, rows);
    Tensor dhidden = head.bench.copy(head.hidden);
    Gradient dweight = head.bench.gradient_of(head.weight, false);
    Tensor loss = head.bench.sums({1});
    set_values(loss, {0});
    head.run(dhidden, dweight, loss, false);
    std::vector<double> result = values_of(dhidden);
    for (const double g : dweight.added()) result.push_back(g);
    result.push_back(values_of(loss)[0]);
    results.push_back(result);
  }
  EXPECT_EQ(results[0], results[1]);
}

/// In 16 bits the gradient over several chunks is summed in fp32 and rounded once, so that chunks
/// do not show: sums in bf16 would be off by an ulp here and there.
TEST(Head, ChunksDoNotShowInBf16) {
  HeadCase whole(kTokens, DType::Bf16);
  HeadCase chunked(1, DType::Bf16);
  std::vector<std::vector<double>> gradients;
  for (HeadCase* head : {&whole, &chunked}) {
    Tensor hidden = head->bench.copy(head->hidden);
    Gradient dweight = head->bench.gradient_of(head->weight, true);
    Tensor loss = head->bench.sums({1});
    set_values(loss, {0});
    head->run(hidden, dweight, loss, true);
    gradients.push_back(values_of(dweight.tensor));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(Head, RefusesChunksWithoutASumIn16Bits) {
  HeadCase head(3, DType::Fp16);
  head.dweight_sum = {};
  EXPECT_THROW(head.objective(), std::logic_error);
}

TEST(Head, RefusesATargetOutsideTheVocabulary) {
  HeadCase head(3);
  head.targets.as<std::int32_t>()[4] = kVocab;
  EXPECT_THROW(head.objective(), std::logic_error);
}

TEST(LastToken, TakesEachSequencesLast) {
  Workbench bench;
  const Tensor x = bench.empty({6, 2});
  set_values(x, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor out = bench.empty({2, 2});
  bench.device.run(LastToken{x, 3, nullptr, out});
  EXPECT_EQ(values_of(out), (std::vector<double>{4, 5, 10, 11}));
  const Tensor counts = bench.integers({1, 2}, {2});
  bench.device.run(LastToken{x, 3, &counts, out});
  EXPECT_EQ(values_of(out), (std::vector<double>{0, 1, 8, 9}));
}

TEST(Argmax, TakesTheFirstOfEqualsAndNoPadding) {
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Fp16, DType::Bf16}) {
    Workbench bench(dtype);
    const Tensor logits = bench.empty({3, 5});
    set_values(logits, {1, 3, 3, 2, 9,      //
                        -5, -4, -4, -3, 0,  //
                        0, 0, 0, 0, 0});
    Tensor tokens = bench.integers({-1, -1, -1}, {3, 1});
    bench.device.run(Argmax{logits, 4, tokens});
    EXPECT_EQ(values_of(tokens), (std::vector<double>{1, 3, 0}));
  }
}

}  // namespace
}  // namespace vramfit
