#include <gtest/gtest.h>

#include "model/ops/workspaces.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr std::int64_t kWords = 5;
constexpr std::int64_t kStoredRows = 8;
constexpr std::int64_t kWidth = 3;
constexpr std::int64_t kPositions = 6;

class EmbeddingTest : public testing::Test {
 protected:
  void forward(const Tensor* with_positions, std::int32_t first_position) {
    const Tensor starts = bench.integers({first_position, first_position}, {2});
    bench.device.run(EmbeddingForward{tokens, table, with_positions,
                                      first_position == 0 ? nullptr : &starts, x});
  }

  void check_backward(bool learned_positions, bool accumulate_table, bool accumulate_positions) {
    Gradient dtable = bench.gradient_of(table, accumulate_table);
    Gradient dpositions = bench.gradient_of(positions, accumulate_positions);
    bench.device.run(EmbeddingBackward{tokens, cotangent, dtable.tensor, accumulate_table,
                                       learned_positions ? &dpositions.tensor : nullptr,
                                       accumulate_positions, workspace});
    const auto objective = [&] {
      forward(learned_positions ? &positions : nullptr, 0);
      return inner_product(x, cotangent);
    };
    // Tokens that do not occur, unused positions and padding rows are among them.
    expect_gradient(table, dtable.added(), objective);
    if (learned_positions) expect_gradient(positions, dpositions.added(), objective);
  }

  Workbench bench;
  Tensor table = bench.random({kWords, kWidth}, {kStoredRows, kWidth});
  Tensor positions = bench.random({kPositions, kWidth});
  Tensor tokens = bench.integers({4, 0, 4, 1, 4, 4, 0, 2}, {2, 4});
  Tensor x = bench.empty({8, kWidth});
  Tensor cotangent = bench.random({8, kWidth});
  Tensor workspace = bench.bytes(embedding_backward_workspace_bytes(8, kWords));
};

TEST_F(EmbeddingTest, BackwardIsTheDerivative) {
  check_backward(false, false, false);
  check_backward(false, true, false);
  check_backward(true, false, false);
  check_backward(true, true, false);
  check_backward(true, false, true);
}

TEST_F(EmbeddingTest, AddsThePositionFromTheFirstOn) {
  forward(&positions, 2);
  for (std::int64_t n = 0; n < 8; ++n) {
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const std::int32_t token = tokens.as<std::int32_t>()[n];
      EXPECT_EQ(x.as<double>()[n * kWidth + c],
                table.as<double>()[token * kWidth + c] +
                    positions.as<double>()[(2 + n % 4) * kWidth + c]);
    }
  }
}

TEST_F(EmbeddingTest, OneTokenASequence) {
  tokens = bench.integers({3}, {1, 1});
  x = bench.empty({1, kWidth});
  cotangent = bench.random({1, kWidth});
  check_backward(true, false, false);
}

TEST_F(EmbeddingTest, RefusesTokensAndPositionsThatHaveNoRow) {
  EXPECT_THROW(forward(&positions, 3), std::logic_error);
  tokens.as<std::int32_t>()[3] = kWords;
  EXPECT_THROW(forward(nullptr, 0), std::logic_error);
  tokens.as<std::int32_t>()[3] = -1;
  EXPECT_THROW(forward(nullptr, 0), std::logic_error);
}

}  // namespace
}  // namespace vramfit
