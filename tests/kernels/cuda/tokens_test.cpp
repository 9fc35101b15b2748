#include <array>
#include <limits>

#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

class TokensTest : public OpTest {};

TEST_P(TokensTest, LastToken) {
  for (const auto& [batch, seq, hidden] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {3, 7, 12}, {2, 33, 129}, {8, 5, 4096}}) {
    Lab lab(GetParam());
    Twin x = lab.random({batch * seq, hidden});
    Twin out = lab.empty({batch, hidden});
    lab.run([&, length = seq](Device& device, Side side) {
      device.run(LastToken{side(x), length, nullptr, side(out)});
    });
    lab.expect_equal(out, "last token");
    Twin counts = lab.integers(batch, static_cast<std::int32_t>((seq + 1) / 2));
    lab.run([&, length = seq](Device& device, Side side) {
      device.run(LastToken{side(x), length, side(&counts), side(out)});
    });
    lab.expect_equal(out, "last token");
  }
}

TEST_P(TokensTest, Argmax) {
  for (const auto& [batch, vocab, stored] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 128}, {3, 29, 128}, {5, 1000, 1024}, {2, 50257, 50304}}) {
    Lab lab(GetParam());
    Twin logits = lab.random({batch, stored});
    Twin tokens = lab.make(DType::Int32, {batch, 1}, {batch, 1});
    lab.run([&, words = vocab](Device& device, Side side) {
      device.run(Argmax{side(logits), words, side(tokens)});
    });
    lab.expect_equal(tokens, "argmax of " + std::to_string(vocab));
  }
}

/// The first of equals, and never a column of padding.
TEST_P(TokensTest, ArgmaxOfTies) {
  Lab lab(GetParam());
  std::vector<float> row(512, 1.0F);
  row[3] = row[300] = 2.0F;
  row[450] = 9.0F;
  Twin logits = lab.values(GetParam(), {1, 512}, row);
  Twin tokens = lab.make(DType::Int32, {1, 1}, {1, 1});
  lab.run([&](Device& device, Side side) { device.run(Argmax{side(logits), 400, side(tokens)}); });
  lab.expect_equal(tokens, "argmax of ties");
  EXPECT_EQ(downloaded_values(gpu(), tokens.gpu), std::vector<double>{3});
}

VRAMFIT_FOR_EACH_DTYPE(TokensTest);

}  // namespace
}  // namespace vramfit
