#include <algorithm>
#include <cmath>

#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/workbench.h"

// Codes that share a scale, and their products: trained linears.

namespace vramfit {
namespace {

/// One tile and less, tiles that are not full, long rows, long columns.
const Shape kShapes[] = {{16, 16},   {48, 32},   {128, 128},  {144, 272},
                         {16, 4096}, {4096, 16}, {2064, 1040}};

std::string text(const Shape& shape) {
  return std::to_string(shape[0]) + " x " + std::to_string(shape[1]);
}

Twin no_scale(Lab& lab) { return lab.values(DType::Fp32, {CodeScale::kValues}, {0, 0, 0, 0}); }

class CodesTest : public OpTest {};

TEST_P(CodesTest, AreThoseOfTheCpu) {
  for (const Shape& shape : kShapes) {
    Lab lab(GetParam());
    Twin from = lab.random(shape, 0.3F);
    Twin scale = no_scale(lab);
    Twin alone = lab.stored(DType::Fp8, shape);
    Twin codes = lab.stored(DType::Fp8, shape);
    Twin transposed = lab.stored(DType::Fp8, {shape[1], shape[0]});
    Twin transposed_alone = lab.stored(DType::Fp8, {shape[1], shape[0]});
    lab.run([&](Device& device, Side side) {
      device.run(FindLargest{side(from), side(scale)});
      device.run(EncodeTensor{side(from), side(scale), side(&alone), nullptr});
      device.run(EncodeTensor{side(from), side(scale), side(&codes), side(&transposed)});
      device.run(EncodeTensor{side(from), side(scale), nullptr, side(&transposed_alone)});
    });
    lab.expect_same_bytes(scale, "scale of " + text(shape));
    lab.expect_same_bytes(alone, text(shape));
    lab.expect_same_bytes(codes, text(shape) + ", beside their transpose");
    lab.expect_same_bytes(transposed, text(shape) + ", transposed");
    lab.expect_same_bytes(transposed_alone, text(shape) + ", transposed alone");
  }
}

// What lies beyond the largest that was found, and what is no number.
TEST_P(CodesTest, SaturateAsOnTheCpu) {
  Lab lab(GetParam());
  Twin from = lab.random({32, 32}, 100);
  Twin scale = lab.values(DType::Fp32, {CodeScale::kValues}, {0, 1, 0, 0});
  Twin codes = lab.stored(DType::Fp8, {32, 32});
  lab.run([&](Device& device, Side side) {
    device.run(EncodeTensor{side(from), side(scale), side(&codes), nullptr});
  });
  lab.expect_same_bytes(codes, "codes");
}

TEST_P(CodesTest, LargestIsFoundOfAnySize) {
  for (const Shape& shape : {Shape{1, 1}, Shape{7, 13}, Shape{3, 4096}, Shape{3000, 2008}}) {
    Lab lab(GetParam());
    Twin from = lab.random(shape);
    Twin scale = no_scale(lab);
    lab.run([&](Device& device, Side side) { device.run(FindLargest{side(from), side(scale)}); });
    lab.expect_same_bytes(scale, "largest of " + text(shape));
  }
}

/// Of what is on the GPU, where values are not those of the CPU to the bit.
void expect_found(const Twin& scale, const Twin& of, const std::string& what) {
  double largest = 0;
  for (const double value : downloaded_values(gpu(), of.gpu)) {
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_EQ(downloaded_values(gpu(), scale.gpu)[CodeScale::kLargest], largest) << what;
}

TEST_P(CodesTest, ProducersFindTheLargestOfWhatTheyWrite) {
  for (const Shape& shape : {Shape{1, 16}, Shape{5, 24}, Shape{300, 2008}, Shape{64, 5504}}) {
    Lab lab(GetParam());
    Twin x = lab.random(shape);
    Twin weight = lab.random({shape[1]});
    Twin bias = lab.random({shape[1]});
    Twin y = lab.empty(shape);
    Twin scale = no_scale(lab);
    const auto of_norm = [&](NormKind kind) {
      lab.run([&](Device& device, Side side) {
        device.run(NormForward{kind, 1e-5F, side(x), side(weight),
                               kind == NormKind::LayerNorm ? side(&bias) : nullptr, side(y),
                               nullptr, nullptr, side(&scale)});
      });
      expect_found(scale, y, "norm of " + text(shape));
      scale = no_scale(lab);
    };
    of_norm(NormKind::RmsNorm);
    of_norm(NormKind::LayerNorm);
    for (const ActivationKind kind : {ActivationKind::SwiGlu, ActivationKind::Gelu}) {
      const std::int64_t width = kind == ActivationKind::SwiGlu ? shape[1] / 2 : shape[1];
      Twin pre = lab.random(shape);
      Twin act = lab.random({shape[0], width});
      Twin of_pre = no_scale(lab);
      lab.run([&](Device& device, Side side) {
        device.run(Activate{kind, side(pre), side(act), side(&scale), side(&of_pre)});
      });
      expect_found(scale, act, "activation of " + text(shape));
      expect_found(of_pre, pre, "what is activated, of " + text(shape));
      scale = no_scale(lab);
      lab.run([&](Device& device, Side side) {
        device.run(ActivateBackward{kind, side(pre), side(act), side(&scale)});
      });
      expect_found(scale, pre, "activation's gradient of " + text(shape));
      scale = no_scale(lab);
    }
  }
}

TEST_P(CodesTest, AreReadByTheActivationsBackward) {
  for (const Shape& shape : {Shape{16, 16}, Shape{48, 272}, Shape{64, 5504}}) {
    for (const ActivationKind kind : {ActivationKind::SwiGlu, ActivationKind::Gelu}) {
      Lab lab(GetParam());
      Twin kept = lab.random(shape);
      Twin scale = no_scale(lab);
      Twin codes = lab.stored(DType::Fp8, shape);
      Twin pre = lab.empty(shape);
      Twin act = lab.random({shape[0], kind == ActivationKind::SwiGlu ? shape[1] / 2 : shape[1]});
      lab.run([&](Device& device, Side side) {
        device.run(FindLargest{side(kept), side(scale)});
        device.run(EncodeTensor{side(kept), side(scale), side(&codes), nullptr});
        device.run(
            ActivateBackward{kind, side(pre), side(act), nullptr, side(&codes), side(&scale)});
      });
      lab.expect_close(pre, Bound::once, "the gradient of what codes stand for, " + text(shape));
      lab.expect_close(act, Bound::once, "the activation of what codes stand for, " + text(shape));
    }
  }
}

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

class CodesProductTest : public testing::Test {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

TEST_F(CodesProductTest, IsThatOfTheCpu) {
  for (const Sizes& s : {Sizes{16, 16, 16}, Sizes{48, 80, 32}, Sizes{272, 144, 128},
                         Sizes{1040, 64, 4096}, Sizes{64, 2064, 272}}) {
    for (const LinearPass pass :
         {LinearPass::Forward, LinearPass::BackwardInput, LinearPass::BackwardWeight}) {
      Lab lab(DType::Bf16);
      Twin a = lab.random({s.rows, s.depth});
      Twin b = lab.random({s.columns, s.depth}, 0.02F);
      Twin a_scale = no_scale(lab);
      Twin b_scale = no_scale(lab);
      Twin a_codes = lab.stored(DType::Fp8, {s.rows, s.depth});
      Twin b_codes = lab.stored(DType::Fp8, {s.columns, s.depth});
      Twin bias = lab.random({s.columns});
      Twin residual = lab.random({s.rows, s.columns});
      Twin workspace = lab.gemm_workspace();
      lab.run([&](Device& device, Side side) {
        device.run(FindLargest{side(a), side(a_scale)});
        device.run(FindLargest{side(b), side(b_scale)});
        device.run(EncodeTensor{side(a), side(a_scale), side(&a_codes), nullptr});
        device.run(EncodeTensor{side(b), side(b_scale), side(&b_codes), nullptr});
      });
      for (const bool more : {false, true}) {
        const bool adds = more && pass == LinearPass::BackwardWeight;
        const bool epilogue = more && pass == LinearPass::Forward;
        Twin to = lab.target({s.rows, s.columns}, adds);
        lab.run([&](Device& device, Side side) {
          device.run(CodesProduct{pass, side(b), side(a_codes), side(a_scale), side(b_codes),
                                  side(b_scale), epilogue ? side(&bias) : nullptr,
                                  epilogue ? side(&residual) : nullptr, side(to), adds,
                                  side(workspace)});
        });
        // Hopper's sums of fp8 keep 14 bits in the forward pass, and are long here.
        const Bound bound = pass == LinearPass::Forward ? Bound{0, 3e-3, 5e-3} : Bound::once;
        lab.expect_close(to, bound,
                         std::to_string(static_cast<int>(pass)) + ": " + std::to_string(s.rows) +
                             " x " + std::to_string(s.columns) + " x " + std::to_string(s.depth) +
                             (more ? ", and more" : ""));
      }
    }
  }
}

VRAMFIT_FOR_EACH_DTYPE(CodesTest);

}  // namespace
}  // namespace vramfit
