#include "model/ops/workspaces.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "model/errors.h"

namespace vramfit {
namespace {

TEST(GemmWorkspace, Is32MiBOnHopperAnd4Elsewhere) {
  EXPECT_EQ(gemm_workspace_bytes({90}), 32U << 20);
  for (const int sm : {75, 80, 86, 89, 100, 120}) {
    EXPECT_EQ(gemm_workspace_bytes({sm}), 4U << 20) << sm;
  }
}

TEST(GemmWorkspace, IsUnknownOfAGpuThatNobodyNamed) {
  EXPECT_THROW(gemm_workspace_bytes({}), std::logic_error);
}

TEST(AttentionForm, NamesAreFrozenAndParsedBack) {
  EXPECT_EQ(parse_attention("flash"), AttentionForm::Flash);
  EXPECT_EQ(parse_attention("cublas"), AttentionForm::Cublas);
  EXPECT_STREQ(name(AttentionForm::Flash), "flash");
  EXPECT_STREQ(name(AttentionForm::Cublas), "cublas");
  try {
    parse_attention("sdpa");
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "attention: unknown 'sdpa'; flash or cublas");
  }
}

constexpr AttentionShape kLlama2 = {4, 512, 32, 32, 128};
constexpr AttentionShape kLlama3 = {4, 512, 32, 8, 128};

TEST(AttentionWorkspace, OfCublasIsTheProbabilitiesThatTheStepProgramHolds) {
  EXPECT_EQ(attention_forward_workspace_bytes(AttentionForm::Cublas, kLlama2, DType::Bf16), 0U);
  EXPECT_EQ(attention_backward_workspace_bytes(AttentionForm::Cublas, kLlama2, DType::Bf16), 0U);
}

TEST(AttentionWorkspace, OfFlashForwardDoesNotGrow) {
  AttentionShape longer = kLlama2;
  longer.seq *= 8;
  EXPECT_EQ(attention_forward_workspace_bytes(AttentionForm::Flash, kLlama2, DType::Bf16),
            attention_forward_workspace_bytes(AttentionForm::Flash, longer, DType::Bf16));
}

TEST(AttentionWorkspace, OfFlashBackwardGrowsWithTheTokensAlone) {
  const auto bytes = [](const AttentionShape& shape, DType dtype) {
    return attention_backward_workspace_bytes(AttentionForm::Flash, shape, dtype);
  };
  const auto a_token = [&](AttentionShape shape, DType dtype) {
    const std::uint64_t before = bytes(shape, dtype);
    const std::int64_t tokens = shape.tokens();
    shape.seq *= 2;
    return (bytes(shape, dtype) - before) / static_cast<std::uint64_t>(tokens);
  };
  // dQ in fp32 and a row sum for each head; with grouped queries also dK and dV of each head.
  EXPECT_EQ(a_token(kLlama2, DType::Bf16), 4U * 4096 + 4 * 32);
  EXPECT_EQ(a_token(kLlama3, DType::Bf16), 4U * 4096 + 4 * 32 + 2 * 2 * 4096);
  EXPECT_EQ(a_token(kLlama2, DType::Fp64), 8U * 4096 + 8 * 32);
}

TEST(AttentionWorkspace, OfDecodingDoesNotGrowWithTheCache) {
  const AttentionShape one = {8, 1, 32, 8, 128};
  EXPECT_EQ(attention_decode_workspace_bytes(one, DType::Bf16), 8U * 32 * 32 * 130 * 4);
}

TEST(AttentionWorkspace, RefusesSizesThatOverflow) {
  const AttentionShape huge = {std::int64_t{1} << 20, std::int64_t{1} << 24, 1 << 20, 1, 256};
  EXPECT_THROW(attention_backward_workspace_bytes(AttentionForm::Flash, huge, DType::Bf16),
               BadInput);
}

TEST(ColumnSums, AreSplitIntoAtMost256Groups) {
  EXPECT_EQ(column_sum_groups(1), 1);
  EXPECT_EQ(column_sum_groups(255), 255);
  EXPECT_EQ(column_sum_groups(1 << 20), 256);
  EXPECT_EQ(bias_partials_shape(100, 64), (Shape{100, 64}));
  EXPECT_EQ(norm_partials_shape(NormKind::RmsNorm, 1000, 64), (Shape{1, 256, 64}));
  EXPECT_EQ(norm_partials_shape(NormKind::LayerNorm, 1000, 64), (Shape{2, 256, 64}));
}

TEST(EmbeddingWorkspace, HoldsALinkATokenAndAHeadAWord) {
  EXPECT_EQ(embedding_backward_workspace_bytes(2048, 32000), 4U * (2048 + 32000));
}

}  // namespace
}  // namespace vramfit
