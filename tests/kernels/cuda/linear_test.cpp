#include <random>

#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

struct Sizes {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;

  std::string text() const {
    return std::to_string(rows) + " x " + std::to_string(in) + " to " + std::to_string(out);
  }
};

/// One row, one column, odd, aligned, long sums, and some at random.
std::vector<Sizes> all_sizes() {
  std::vector<Sizes> sizes = {{1, 1, 1},     {1, 7, 5},    {6, 3, 9},     {300, 2, 3},
                              {1, 512, 384}, {33, 1, 17},  {128, 64, 96}, {130, 65, 257},
                              {16, 4096, 8}, {2048, 9, 16}};
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 200);
  for (int i = 0; i < 8; ++i) sizes.push_back({size(random), size(random), size(random)});
  return sizes;
}

class LinearTest : public OpTest {};

TEST_P(LinearTest, Forward) {
  for (const Sizes& s : all_sizes()) {
    Lab lab(GetParam());
    Twin x = lab.random({s.rows, s.in});
    Twin weight = lab.random({s.out, s.in});
    Twin bias = lab.random({s.out});
    Twin residual = lab.random({s.rows, s.out});
    Twin workspace = lab.gemm_workspace();
    for (const bool with_bias : {false, true}) {
      for (const bool with_residual : {false, true}) {
        Twin y = lab.empty({s.rows, s.out});
        lab.run([&](Device& device, Side side) {
          device.run(LinearForward{side(x), side(weight), with_bias ? side(&bias) : nullptr,
                                   with_residual ? side(&residual) : nullptr, side(y),
                                   side(workspace)});
        });
        lab.expect_close(y, Bound::once,
                         "linear forward " + s.text() + (with_bias ? " + bias" : "") +
                             (with_residual ? " + residual" : ""));
      }
    }
  }
}

TEST_P(LinearTest, BackwardInput) {
  for (const Sizes& s : all_sizes()) {
    Lab lab(GetParam());
    Twin dy = lab.random({s.rows, s.out});
    Twin weight = lab.random({s.out, s.in});
    Twin dx = lab.empty({s.rows, s.in});
    Twin workspace = lab.gemm_workspace();
    lab.run([&](Device& device, Side side) {
      device.run(LinearBackwardInput{side(dy), side(weight), side(dx), false, side(workspace)});
    });
    lab.expect_close(dx, Bound::once, "linear backward input " + s.text());

    Twin sum = lab.target({s.rows, s.in}, true);
    lab.run([&](Device& device, Side side) {
      device.run(LinearBackwardInput{side(dy), side(weight), side(sum), true, side(workspace)});
    });
    lab.expect_close(sum, Bound::once, "linear backward input, added, " + s.text());
  }
}

TEST_P(LinearTest, BackwardWeightAndBias) {
  for (const Sizes& s : all_sizes()) {
    Lab lab(GetParam());
    Twin x = lab.random({s.rows, s.in});
    Twin dy = lab.random({s.rows, s.out});
    Twin workspace = lab.gemm_workspace();
    for (const bool accumulate : {false, true}) {
      Twin dweight = lab.target({s.out, s.in}, accumulate);
      Twin dbias = lab.target({s.out}, !accumulate);
      Twin partials = lab.floats(bias_partials_shape(s.rows, s.out));
      lab.run([&](Device& device, Side side) {
        device.run(LinearBackwardWeight{side(x), side(dy), side(dweight), accumulate, side(&dbias),
                                        !accumulate, side(&partials), side(workspace)});
      });
      const std::string what = s.text() + (accumulate ? ", added" : ", written");
      lab.expect_close(dweight, Bound::once, "dweight " + what);
      lab.expect_close(dbias, Bound::once, "dbias of dweight " + what);
    }
  }
}

TEST_P(LinearTest, WithoutABias) {
  Lab lab(GetParam());
  Twin x = lab.random({40, 24});
  Twin dy = lab.random({40, 56});
  Twin dweight = lab.empty({56, 24});
  Twin workspace = lab.gemm_workspace();
  lab.run([&](Device& device, Side side) {
    device.run(LinearBackwardWeight{side(x), side(dy), side(dweight), false, nullptr, false,
                                    nullptr, side(workspace)});
  });
  lab.expect_close(dweight, Bound::once, "dweight without a bias");
}

/// Padding rows of the weight are columns of y.
TEST_P(LinearTest, OfAPaddedWeight) {
  Lab lab(GetParam());
  Twin x = lab.random({9, 24});
  Twin weight = lab.random({50, 24}, {128, 24});
  Twin y = lab.empty({9, 128});
  Twin workspace = lab.gemm_workspace();
  lab.run([&](Device& device, Side side) {
    device.run(LinearForward{side(x), side(weight), nullptr, nullptr, side(y), side(workspace)});
  });
  lab.expect_close(y, Bound::once, "linear forward with padding");
}

VRAMFIT_FOR_EACH_DTYPE(LinearTest);

}  // namespace
}  // namespace vramfit
