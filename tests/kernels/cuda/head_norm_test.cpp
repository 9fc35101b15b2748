#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

constexpr float kEps = 1e-5F;

constexpr AttentionShape kShapes[] = {{1, 1, 1, 1, 2},     {2, 3, 4, 2, 4},   {1, 33, 3, 1, 6},
                                      {3, 150, 8, 2, 128}, {1, 9, 5, 5, 256}, {2, 700, 4, 1, 64}};

std::string text(const AttentionShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.seq) + ", heads " +
         std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " of " +
         std::to_string(s.head_dim);
}

class HeadNormTest : public OpTest {};

/// `frozen`: of weights that are not trained.
void there_and_back(DType dtype, const AttentionShape& s, bool accumulate, bool frozen = false) {
  Lab lab(dtype);
  Twin qkv = lab.random({s.tokens(), s.qkv_width()}, 3.0F);
  Twin q_weight = lab.random({s.head_dim});
  Twin k_weight = lab.random({s.head_dim});
  Twin x = lab.empty({s.tokens(), s.q_width() + s.kv_width()});
  Twin rstd = lab.floats({s.tokens(), s.heads + s.kv_heads});
  Twin dqkv = lab.random({s.tokens(), s.qkv_width()});
  Twin dq_weight = lab.target({s.head_dim}, accumulate);
  Twin dk_weight = lab.target({s.head_dim}, !accumulate);
  Twin partials = lab.floats(head_norm_partials_shape(s.tokens(), s.head_dim));
  lab.run([&](Device& device, Side side) {
    device.run(
        HeadNormForward{kEps, s, side(qkv), side(q_weight), side(k_weight), side(&x), side(&rstd)});
  });
  const std::string what = text(s) + (accumulate ? ", added" : ", written");
  lab.expect_close(qkv, Bound::once, what);
  lab.expect_close(x, Bound::once, "input of " + what);
  lab.expect_close(rstd, Bound::once.times(4), "rstd of " + what);
  lab.equalize(rstd);
  lab.run([&](Device& device, Side side) {
    HeadNormBackward op{s, side(x), side(rstd), side(q_weight), side(k_weight), side(dqkv)};
    if (!frozen) {
      op.dq_weight = side(&dq_weight);
      op.accumulate_dq_weight = accumulate;
      op.dk_weight = side(&dk_weight);
      op.accumulate_dk_weight = !accumulate;
      op.partials = side(&partials);
    }
    device.run(op);
  });
  // Differences of sums over the head: in fp32 they lose digits.
  lab.expect_close(dqkv, {2e-5, Bound::once.fp16, Bound::once.bf16}, "dqkv of " + what);
  if (frozen) return;
  lab.expect_close(dq_weight, Bound::once.times(2), "dq_weight of " + what);
  lab.expect_close(dk_weight, Bound::once.times(2), "dk_weight of " + what);
}

TEST_P(HeadNormTest, ThereAndBack) {
  for (const AttentionShape& s : kShapes) {
    for (const bool accumulate : {false, true}) there_and_back(GetParam(), s, accumulate);
    there_and_back(GetParam(), s, false, true);
  }
}

VRAMFIT_FOR_EACH_DTYPE(HeadNormTest);

}  // namespace
}  // namespace vramfit
