#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

constexpr float kEps = 1e-5F;

struct Sizes {
  NormKind kind;
  std::int64_t rows;
  std::int64_t width;

  bool layer_norm() const { return kind == NormKind::LayerNorm; }
  std::string text() const {
    return std::string(layer_norm() ? "LayerNorm " : "RMSNorm ") + std::to_string(rows) + " x " +
           std::to_string(width);
  }
};

std::vector<Sizes> all_sizes() {
  std::vector<Sizes> sizes;
  for (const NormKind kind : {NormKind::RmsNorm, NormKind::LayerNorm}) {
    for (const auto& [rows, width] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                            {1, 8},
                                                            {3, 7},
                                                            {300, 12},
                                                            {257, 129},
                                                            {64, 768},
                                                            {17, 1600},
                                                            {5, 4096},
                                                            {3, 5119},
                                                            {2, 8192},
                                                            {1000, 64}}) {
      sizes.push_back({kind, rows, width});
    }
  }
  return sizes;
}

class NormTest : public OpTest {};

TEST_P(NormTest, Forward) {
  for (const Sizes& s : all_sizes()) {
    Lab lab(GetParam());
    Twin x = lab.random({s.rows, s.width}, 3.0F);
    Twin weight = lab.random({s.width});
    Twin bias = lab.random({s.width});
    Twin y = lab.empty({s.rows, s.width});
    Twin rstd = lab.floats({s.rows});
    Twin mean = lab.floats({s.rows});
    for (const bool keep : {true, false}) {
      lab.run([&](Device& device, Side side) {
        device.run(NormForward{
            s.kind, kEps, side(x), side(weight), s.layer_norm() ? side(&bias) : nullptr, side(y),
            keep ? side(&rstd) : nullptr, keep && s.layer_norm() ? side(&mean) : nullptr});
      });
      lab.expect_close(y, Bound::once, s.text());
    }
    lab.expect_close(rstd, Bound::once.times(4), "rstd of " + s.text());
    if (s.layer_norm()) lab.expect_close(mean, Bound::once.times(4), "mean of " + s.text());
  }
}

/// Of a frozen norm for x alone.
void backward(DType dtype, const Sizes& s, bool accumulate, bool frozen = false) {
  Lab lab(dtype);
  Twin x = lab.random({s.rows, s.width}, 3.0F);
  Twin weight = lab.random({s.width});
  Twin bias = lab.random({s.width});
  Twin y = lab.empty({s.rows, s.width});
  Twin rstd = lab.floats({s.rows});
  Twin mean = lab.floats({s.rows});
  Twin dy = lab.random({s.rows, s.width});
  Twin dx = lab.target({s.rows, s.width}, accumulate);
  Twin dweight = lab.target({s.width}, accumulate);
  Twin dbias = lab.target({s.width}, !accumulate);
  Twin partials = lab.floats(norm_partials_shape(s.kind, s.rows, s.width));
  Twin* const some_bias = s.layer_norm() ? &bias : nullptr;
  Twin* const some_dbias = s.layer_norm() ? &dbias : nullptr;
  Twin* const some_mean = s.layer_norm() ? &mean : nullptr;
  lab.run([&](Device& device, Side side) {
    device.run(NormForward{s.kind, kEps, side(x), side(weight), side(some_bias), side(y),
                           side(&rstd), side(some_mean)});
  });
  lab.equalize(rstd);
  lab.equalize(mean);
  lab.run([&](Device& device, Side side) {
    NormBackward op{s.kind,          side(x),  side(rstd), side(some_mean), side(weight),
                    side(some_bias), side(dy), side(dx),   accumulate};
    if (!frozen) {
      op.dweight = side(&dweight);
      op.accumulate_dweight = accumulate;
      op.dbias = side(some_dbias);
      op.accumulate_dbias = !accumulate;
      op.partials = side(&partials);
    }
    device.run(op);
  });
  const std::string what = s.text() + (accumulate ? ", added" : ", written");
  lab.expect_close(dy, Bound::once, "y again of " + what);
  // Differences of sums over the row: in fp32 they lose digits.
  lab.expect_close(dx, {2e-5, Bound::once.fp16, Bound::once.bf16}, "dx of " + what);
  if (frozen) return;
  lab.expect_close(dweight, Bound::once.times(2), "dweight of " + what);
  if (s.layer_norm()) lab.expect_close(dbias, Bound::once.times(2), "dbias of " + what);
}

TEST_P(NormTest, BackwardThatWrites) {
  for (const Sizes& s : all_sizes()) {
    // The gradient through the norm of a single number is nothing but rounding.
    if (s.width > 1) backward(GetParam(), s, false);
  }
}

TEST_P(NormTest, BackwardThatAdds) {
  for (const Sizes& s : all_sizes()) backward(GetParam(), s, true);
}

TEST_P(NormTest, BackwardOfAFrozenNorm) {
  for (const Sizes& s : all_sizes()) backward(GetParam(), s, true, true);
}

VRAMFIT_FOR_EACH_DTYPE(NormTest);

}  // namespace
}  // namespace vramfit
