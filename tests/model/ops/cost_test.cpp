#include "model/ops/cost.h"

#include <gtest/gtest.h>

#include "tests/model/memory/bump_allocator.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kTokens = 15;  // 3 sequences of 5
constexpr std::uint64_t kWidth = 7;
constexpr std::uint64_t kOut = 11;
constexpr std::uint64_t kBf16 = 2;
constexpr std::uint64_t kFp32 = 4;

/// Each figure is spelled out: elements of each input and output, times bytes of each.
class Cost : public testing::Test {
 protected:
  Tensor tensor(const Name& name, const Shape& shape, DType dtype = DType::Bf16) {
    return {ledger_, name, Category::Activations, dtype, shape};
  }
  Tensor tokens() { return tensor("tokens", {3, 5}, DType::Int32); }

  BumpAllocator memory_;
  Ledger ledger_{memory_};

  Tensor x_ = tensor("x", {15, 7});
  Tensor dx_ = tensor("dx", {15, 7});
  Tensor y_ = tensor("y", {15, 11});
  Tensor act_ = tensor("act", {15, 13});
  Tensor weight_ = tensor({"qkv.weight", 3}, {11, 7});
  Tensor bias_ = tensor("qkv.bias", {11});
  Tensor norm_ = tensor({"norm1.weight", 3}, {7});
  Tensor norm_bias_ = tensor("norm1.bias", {7});
  Tensor rstd_ = tensor("rstd", {15}, DType::Fp32);
  Tensor mean_ = tensor("mean", {15}, DType::Fp32);
  Tensor workspace_ = tensor("workspace", {1000});  // no op is charged for it
};

void expect_cost(const OpCost& cost, const std::string& label, std::uint64_t bytes, double flops) {
  EXPECT_EQ(cost.label(), label);
  EXPECT_EQ(cost.bytes, bytes) << label;
  EXPECT_EQ(cost.flops, flops) << label;
}

TEST_F(Cost, LabelsNameTheWeightWithoutItsLayer) {
  EXPECT_EQ((OpCost{"argmax", ""}).label(), "argmax");
  EXPECT_EQ((OpCost{"linear_forward", "qkv.weight"}).label(), "linear_forward:qkv");
  EXPECT_EQ((OpCost{"linear_forward", "weight"}).label(), "linear_forward:weight");
  EXPECT_EQ((OpCost{"linear_forward", "x.weight.m"}).label(), "linear_forward:x.weight.m");
}

TEST_F(Cost, OfFillingIsWhatIsWritten) {
  expect_cost(cost(FillNormal{x_, 0, 1, 1}), "fill_normal", kTokens * kWidth * kBf16, 0);
  Tensor of_words = tokens();
  expect_cost(cost(FillTokens{of_words, 17, 1}), "fill_tokens", kTokens * 4, 0);
}

TEST_F(Cost, OfCodesReadsWhatTheyAreMadeOfAndWritesAByteEach) {
  Tensor scale = tensor("scale", {CodeScale::kValues}, DType::Fp32);
  Tensor codes = tensor("codes", {15, 7}, DType::Fp8);
  Tensor transposed = tensor("codes", {7, 15}, DType::Fp8);
  const std::uint64_t elements = kTokens * kWidth;
  expect_cost(cost(FindLargest{x_, scale}), "find_largest:x", elements * kBf16, 0);
  expect_cost(cost(EncodeTensor{x_, scale, &codes, nullptr}), "encode:x", elements * (kBf16 + 1),
              0);
  expect_cost(cost(EncodeTensor{x_, scale, &codes, &transposed}), "encode:x",
              elements * (kBf16 + 2), 0);
}

TEST_F(Cost, OfCodesProductsIsThatOfALinearWhoseOperandsAreBytes) {
  const Tensor scale = tensor("scale", {CodeScale::kValues}, DType::Fp32);
  const Tensor x = tensor("input_codes", {15, 7}, DType::Fp8);
  const Tensor weight = tensor("weight_codes", {11, 7}, DType::Fp8);
  const auto product = [&](LinearPass pass, const Tensor* residual, bool accumulate) {
    return cost(CodesProduct{pass, weight_, x, scale, weight, scale, &bias_, residual, y_,
                             accumulate, workspace_});
  };
  const std::uint64_t operands = kTokens * kWidth + kOut * kWidth + kOut * kBf16;
  const std::uint64_t out = kTokens * kOut * kBf16;
  const double flops = 2.0 * kTokens * kOut * kWidth;
  expect_cost(product(LinearPass::Forward, nullptr, false), "linear_forward:qkv", operands + out,
              flops);
  expect_cost(product(LinearPass::BackwardInput, &y_, false), "linear_backward_input:qkv",
              operands + 2 * out, flops);
  expect_cost(product(LinearPass::BackwardWeight, nullptr, true), "linear_backward_weight:qkv",
              operands + 2 * out, flops);
}

TEST_F(Cost, OfEmbeddingReadsARowATokenAndAPositionOnce) {
  const Tensor words = tokens();
  const Tensor table = tensor("table", {17, 7});
  const Tensor positions = tensor("positions", {64, 7});
  const std::uint64_t rows = kTokens * kWidth * kBf16;
  expect_cost(cost(EmbeddingForward{words, table, nullptr, nullptr, x_}), "embedding_forward",
              kTokens * 4 + 2 * rows, 0);
  expect_cost(cost(EmbeddingForward{words, table, &positions, nullptr, x_}), "embedding_forward",
              kTokens * 4 + 2 * rows + 5 * kWidth * kBf16, 0);
}

TEST_F(Cost, OfEmbeddingsGradientIsTheWholeTableAndItsSumWhereItAdds) {
  const Tensor words = tokens();
  Tensor table = tensor("table", {17, 7});
  Tensor positions = tensor("positions", {64, 7});
  const std::uint64_t read = kTokens * 4 + kTokens * kWidth * kBf16;
  const std::uint64_t of_table = 17 * kWidth * kBf16;
  const std::uint64_t of_positions = 64 * kWidth * kBf16;
  const auto backward = [&](bool add_table, Tensor* to_positions, bool add_positions) {
    return cost(
        EmbeddingBackward{words, dx_, table, add_table, to_positions, add_positions, workspace_});
  };
  expect_cost(backward(false, nullptr, true), "embedding_backward", read + of_table, 0);
  expect_cost(backward(true, nullptr, true), "embedding_backward", read + 2 * of_table, 0);
  expect_cost(backward(false, &positions, false), "embedding_backward",
              read + of_table + of_positions, 0);
  expect_cost(backward(false, &positions, true), "embedding_backward",
              read + of_table + 2 * of_positions, 0);
}

TEST_F(Cost, OfNormsIsOnePassOverTheirRows) {
  const std::uint64_t rows = kTokens * kWidth * kBf16;
  Tensor y = tensor("y", {15, 7});
  expect_cost(cost(NormForward{NormKind::RmsNorm, 1e-5F, x_, norm_, nullptr, y, nullptr, nullptr}),
              "norm_forward:norm1", 2 * rows + kWidth * kBf16, 0);
  expect_cost(
      cost(NormForward{NormKind::LayerNorm, 1e-5F, x_, norm_, &norm_bias_, y, &rstd_, &mean_}),
      "norm_forward:norm1", 2 * rows + 2 * kWidth * kBf16 + 2 * kTokens * kFp32, 0);
}

TEST_F(Cost, OfNormsGradientReadsWhatItAddsTo) {
  const std::uint64_t rows = kTokens * kWidth * kBf16;
  Tensor dy = tensor("dy", {15, 7});
  Tensor dweight = tensor("dweight", {7});
  Tensor dbias = tensor("dbias", {7});
  const auto backward = [&](bool add_dx, bool add_weight, Tensor* bias, bool add_bias) {
    return cost(NormBackward{NormKind::LayerNorm, x_, rstd_, bias != nullptr ? &mean_ : nullptr,
                             norm_, bias != nullptr ? &norm_bias_ : nullptr, dy, dx_, add_dx,
                             &dweight, add_weight, bias, add_bias, &workspace_});
  };
  // x, dy and y in its place, dx; weight and its gradient; row statistics.
  const std::uint64_t plain = 4 * rows + 2 * kWidth * kBf16 + kTokens * kFp32;
  const std::uint64_t with_bias = plain + 2 * kWidth * kBf16 + kTokens * kFp32;
  const std::string label = "norm_backward:norm1";
  expect_cost(backward(false, false, nullptr, true), label, plain, 0);
  expect_cost(backward(true, false, nullptr, false), label, plain + rows, 0);
  expect_cost(backward(false, true, nullptr, false), label, plain + kWidth * kBf16, 0);
  expect_cost(backward(false, false, &dbias, false), label, with_bias, 0);
  expect_cost(backward(false, false, &dbias, true), label, with_bias + kWidth * kBf16, 0);
}

TEST_F(Cost, OfRotationLeavesTheValuesAlone) {
  Tensor qkv = tensor("qkv", {15, (4 + 2 * 2) * 6});
  const RopeFrequencies frequencies{};
  const auto rotation = [&](bool backward) {
    return cost(RotaryEmbedding{qkv, 5, 4 + 2, 6, frequencies, nullptr, backward});
  };
  expect_cost(rotation(false), "rotary_forward", 2 * kTokens * (4 + 2) * 6 * kBf16, 0);
  expect_cost(rotation(true), "rotary_backward", 2 * kTokens * (4 + 2) * 6 * kBf16, 0);
}

TEST_F(Cost, OfProductsIsTwoFlopsAMultiplyAdd) {
  const double flops = 2 * 15 * 7 * 11;
  const std::uint64_t operands = (kTokens * kWidth + kWidth * kOut + kTokens * kOut) * kBf16;
  const Tensor residual = tensor("residual", {15, 11});
  const std::uint64_t extra = (kOut + kTokens * kOut) * kBf16;
  expect_cost(cost(LinearForward{x_, weight_, nullptr, nullptr, y_, workspace_}),
              "linear_forward:qkv", operands, flops);
  expect_cost(cost(LinearForward{x_, weight_, &bias_, &residual, y_, workspace_}),
              "linear_forward:qkv", operands + extra, flops);
  expect_cost(cost(LinearBackwardInput{y_, weight_, dx_, false, workspace_}),
              "linear_backward_input:qkv", operands, flops);
  expect_cost(cost(LinearBackwardInput{y_, weight_, dx_, true, workspace_}),
              "linear_backward_input:qkv", operands + kTokens * kWidth * kBf16, flops);
}

TEST_F(Cost, OfAWeightsGradientReadsWhatItAddsTo) {
  const double flops = 2 * 15 * 7 * 11;
  const std::uint64_t operands = (kTokens * kWidth + kWidth * kOut + kTokens * kOut) * kBf16;
  const auto backward = [&](bool add_weight, Tensor* bias, bool add_bias) {
    return cost(
        LinearBackwardWeight{x_, y_, weight_, add_weight, bias, add_bias, nullptr, workspace_});
  };
  const std::string label = "linear_backward_weight:qkv";
  expect_cost(backward(false, nullptr, true), label, operands, flops);
  expect_cost(backward(true, nullptr, false), label, operands + kWidth * kOut * kBf16, flops);
  expect_cost(backward(false, &bias_, false), label, operands + kOut * kBf16, flops);
  expect_cost(backward(false, &bias_, true), label, operands + 2 * kOut * kBf16, flops);
}

TEST_F(Cost, OfPaddedRowsIsOfThemAsWell) {
  const Tensor padded(ledger_, "table", Category::Parameters, DType::Bf16, {9, 7}, {11, 7});
  expect_cost(cost(LinearForward{x_, padded, nullptr, nullptr, y_, workspace_}),
              "linear_forward:table", (kTokens * kWidth + kWidth * kOut + kTokens * kOut) * kBf16,
              2 * 15 * 7 * 11);
}

TEST_F(Cost, OfTheMlpHoldsWhatItKeepsAndWhatItYieldsAgain) {
  const Tensor up = tensor("up.weight", {26, 7});
  const Tensor up_bias = tensor("up.bias", {26});
  const Tensor down = tensor("down.weight", {7, 13});
  Tensor pre = tensor("pre", {15, 26});
  const std::uint64_t of_x = kTokens * 7 * kBf16;
  const std::uint64_t of_pre = kTokens * 26 * kBf16;
  const std::uint64_t of_act = kTokens * 13 * kBf16;
  const auto forward = [&](const Tensor* bias) {
    return cost(MlpUpForward{ActivationKind::SwiGlu, x_, up, bias, pre, act_, workspace_});
  };
  expect_cost(forward(nullptr), "mlp_up_forward", of_x + 26 * 7 * kBf16 + of_pre + of_act,
              2 * 15 * 7 * 26);
  expect_cost(forward(&up_bias), "mlp_up_forward", of_x + 26 * (7 + 1) * kBf16 + of_pre + of_act,
              2 * 15 * 7 * 26);
  expect_cost(cost(Activate{ActivationKind::SwiGlu, pre, act_}), "activate", of_pre + of_act, 0);
  expect_cost(cost(ActivateBackward{ActivationKind::SwiGlu, pre, act_}), "activate_backward",
              2 * of_pre + 2 * of_act, 0);
}

class AttentionCost : public Cost {
 protected:
  const AttentionShape shape_{3, 5, 4, 2, 6};
  static constexpr double kProduct = 3 * 4 * 5 * 5 * 6;  // half of 2 · B · a · T · T · d: causal
  static constexpr std::uint64_t kQkv = kTokens * (4 + 2 * 2) * 6 * kBf16;
  static constexpr std::uint64_t kHeads = kTokens * 4 * 6 * kBf16;
  static constexpr std::uint64_t kRows = 3 * 4 * 5 * kFp32;
  static constexpr std::uint64_t kSquares = 3 * 4 * 5 * 5 * kBf16;

  Tensor qkv_ = tensor("qkv", {15, 8 * 6});
  Tensor dqkv_ = tensor("dqkv", {15, 8 * 6});
  Tensor out_ = tensor("out", {15, 4 * 6});
  Tensor dout_ = tensor("dout", {15, 4 * 6});
  Tensor rows_ = tensor("log_sum_exp", {3, 4, 5}, DType::Fp32);
  Tensor squares_ = tensor("probabilities", {3, 4, 5, 5});
};

TEST_F(AttentionCost, ForwardIsTwoProducts) {
  const auto forward = [&](AttentionForm form, Tensor* rows, Tensor* squares) {
    return cost(AttentionForward{form, shape_, qkv_, out_, rows, squares, workspace_, workspace_});
  };
  const std::string label = "attention_forward";
  expect_cost(forward(AttentionForm::Flash, nullptr, nullptr), label, kQkv + kHeads, 2 * kProduct);
  expect_cost(forward(AttentionForm::Flash, &rows_, nullptr), label, kQkv + kHeads + kRows,
              2 * kProduct);
  expect_cost(forward(AttentionForm::Cublas, nullptr, &squares_), label, kQkv + kHeads + kSquares,
              2 * kProduct);
}

TEST_F(AttentionCost, BackwardIsFourAndTheScoresAgainWhereTheyWereNotKept) {
  const auto backward = [&](AttentionForm form, const Tensor* rows, const Tensor* squares) {
    return cost(AttentionBackward{form, shape_, qkv_, out_, rows, squares, dout_, dqkv_, &squares_,
                                  workspace_, workspace_});
  };
  const std::string label = "attention_backward";
  expect_cost(backward(AttentionForm::Flash, &rows_, nullptr), label, 2 * kQkv + 2 * kHeads + kRows,
              5 * kProduct);
  expect_cost(backward(AttentionForm::Cublas, nullptr, &squares_), label,
              2 * kQkv + 2 * kHeads + kSquares, 4 * kProduct);
}

TEST_F(AttentionCost, OfTheCacheIsOfAllItsKeysAndValues) {
  Tensor keys = tensor("keys", {3, 9, 2, 6});
  Tensor values = tensor("values", {3, 9, 2, 6});
  const Tensor starts = tensor("starts", {3}, DType::Int32);
  const KvBlocks cache{keys, values};
  expect_cost(cost(KvCacheAppend{shape_, qkv_, cache, nullptr, nullptr}), "kv_cache_append",
              2 * kTokens * 2 * 2 * 6 * kBf16, 0);
  const AttentionShape one{3, 1, 4, 2, 6};
  Tensor qkv = tensor("qkv", {3, 8 * 6});
  Tensor out = tensor("out", {3, 4 * 6});
  const RopeFrequencies frequencies;
  const auto decode = [&](const RopeFrequencies* turns) {
    return cost(AttentionDecode{one, qkv, turns, cache, starts, out, workspace_});
  };
  const std::uint64_t bytes = (3 * 9 * 2 * 2 * 6 + 3 * 8 * 6 + 3 * 4 * 6) * kBf16;
  expect_cost(decode(nullptr), "attention_decode", bytes, 2 * 2 * 3 * 4 * 9 * 6);
  expect_cost(decode(&frequencies), "attention_decode", bytes + 3 * 6 * 6 * kBf16,
              2 * 2 * 3 * 4 * 9 * 6);
}

TEST_F(Cost, OfTheHeadLeavesItsLogitsOnTheChip) {
  const Tensor targets = tokens();
  Tensor loss = tensor("loss", {1}, DType::Fp32);
  Tensor logits = tensor("logits", {4, 11});
  Tensor dweight = tensor("dweight", {11, 7});
  const auto head = [&](bool add) {
    return cost(HeadLoss{x_, weight_, targets, 4, 1, nullptr, loss, &dweight, add, logits, nullptr,
                         workspace_});
  };
  // hidden and its gradient, weight and its gradient
  const std::uint64_t bytes = (2 * kTokens * kWidth + 2 * kOut * kWidth) * kBf16 + kTokens * 4;
  expect_cost(head(false), "head_loss", bytes, 3 * 2 * 15 * 7 * 11);
  expect_cost(head(true), "head_loss", bytes + kOut * kWidth * kBf16, 3 * 2 * 15 * 7 * 11);
}

TEST_F(Cost, OfANewTokenIsARowASequence) {
  Tensor last = tensor("last", {3, 7});
  expect_cost(cost(LastToken{x_, 5, nullptr, last}), "last_token", 2 * 3 * kWidth * kBf16, 0);
  const Tensor logits = tensor("logits", {3, 11});
  Tensor token = tensor("token", {3, 1}, DType::Int32);
  expect_cost(cost(Argmax{logits, 9, token}), "argmax", 3 * 9 * kBf16 + 3 * 4, 0);
}

TEST_F(Cost, OfTheOptimizerIsOnePassOverWhatItKeeps) {
  const Tensor gradient = tensor("g", {11, 7});
  const Tensor master = tensor("master", {11, 7}, DType::Fp32);
  const Tensor m = tensor("m", {11, 7}, DType::Fp32);
  const Tensor v = tensor("v", {11, 7}, DType::Fp32);
  const Tensor scale = tensor("scale", {3}, DType::Fp32);
  const OptimizerSettings settings{};
  const auto step = [&](const char* kind, const ParameterUpdate& one, const Tensor* scaler) {
    const std::vector<ParameterUpdate> updates(2, one);
    return cost(OptimizerStep{optimizer_named(kind), settings, updates, 3, scaler, workspace_});
  };
  const std::uint64_t both = 2 * kOut * kWidth;  // elements of the two parameters
  const std::string label = "optimizer_step";
  expect_cost(step("sgd", {&weight_, &gradient, nullptr, nullptr, nullptr, true}, nullptr), label,
              both * (2 + 2 * 2), 0);
  expect_cost(step("sgd-momentum", {&weight_, &gradient, nullptr, &m, nullptr, true}, nullptr),
              label, both * (2 + 2 * 2 + 2 * 4), 0);
  expect_cost(step("adamw", {&weight_, &gradient, nullptr, &m, &v, true}, nullptr), label,
              both * (2 + 2 * 2 + 2 * 4 + 2 * 4), 0);
  // States that are not on the card.
  expect_cost(step("adamw-cpu", {&weight_, &gradient, nullptr, &m, &v, true}, nullptr), label,
              both * (2 + 2 * 2), 0);
  // The parameter is only written; the step reads its master.
  expect_cost(step("adamw-master", {&weight_, &gradient, &master, &m, &v, true}, nullptr), label,
              both * (2 + 2 + 2 * 4 + 2 * 4 + 2 * 4), 0);
  // Means of it all, the RMS of it all and the step: each needs the one before.
  const Tensor factored = tensor("v", {11 + 7}, DType::Fp32);
  const ParameterUpdate relative{&weight_, &gradient, nullptr, nullptr, &factored, true};
  for (const Tensor* scaler : {&scale, static_cast<const Tensor*>(nullptr)}) {
    expect_cost(step("adafactor", relative, scaler), label,
                both * (3 * 2 + 3 * 2) + 2 * 2 * (11 + 7) * 4, 0);
  }
  // Gradients are first asked whether they are finite.
  expect_cost(step("adamw", {&weight_, &gradient, nullptr, &m, &v, true}, &scale), label,
              both * (2 * 2 + 2 * 2 + 2 * 4 + 2 * 4), 0);
}

}  // namespace
}  // namespace vramfit
