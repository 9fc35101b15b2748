#include <array>
#include <limits>

#include "model/ops/workspaces.h"
#include "model/optimizer/dynamic_codes.h"
#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// Parameters of several sizes with their states, and steps over all of them.
class Parameters {
 public:
  Parameters(Lab& lab, const OptimizerKind& kind) : lab_(lab), kind_(kind) {
    const Format moments = kind.moment_format(lab.dtype());
    for (const auto& [rows, width] : std::vector<std::array<std::int64_t, 2>>{
             {1, 1}, {1, 7}, {129, 65}, {64, 64}, {1, 4096}, {1000, 33}}) {
      const Shape shape = {rows, width};
      const auto kept = [&](bool there, Format format) {
        return there ? lab.make(format, shape, shape) : Twin{};
      };
      const std::int64_t blocks = (shape.elements() + kDynamicBlock - 1) / kDynamicBlock;
      sets_.push_back({lab.random(shape), kept(kind.master, DType::Fp32),
                       kept(kind.moments >= 1, moments), kept(kind.moments >= 2, moments),
                       kind.has_scales() ? lab.floats({kind.moments, blocks}) : Twin{}, rows > 1});
    }
  }

  void step(int number, Twin* scaler, float gradient_scale) {
    std::vector<Twin> gradients;
    for (const Set& set : sets_) {
      gradients.push_back(lab_.random(set.parameter.cpu.shape(), gradient_scale));
    }
    Twin table = lab_.bytes(optimizer_workspace_bytes(sets_.size()));
    lab_.run([&](Device& device, Side side) {
      std::vector<ParameterUpdate> updates;
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        Set& set = sets_[i];
        updates.push_back({&side(set.parameter), &side(gradients[i]), or_null(side(set.master)),
                           or_null(side(set.momentum)), or_null(side(set.variance)), set.decays,
                           or_null(side(set.scales))});
      }
      OptimizerSettings settings;
      settings.learning_rate = 1e-2F;
      device.run(OptimizerStep{kind_, settings, updates, number, side(scaler), side(table)});
    });
  }

  void expect_close(const std::string& what) {
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const std::string which = " " + std::to_string(i) + " of " + kind_.name + ", " + what;
      // Rounding decides the sign of a step whose direction is all but nothing.
      const bool signs = kind_.rule == OptimizerKind::Rule::Lion;
      lab_.expect_close(sets_[i].parameter, signs ? Bound::once.times(100) : Bound::once,
                        "parameter" + which);
      for (const auto& [state, name] : {std::pair{&sets_[i].master, "master"},
                                        {&sets_[i].momentum, "momentum"},
                                        {&sets_[i].variance, "variance"},
                                        {&sets_[i].scales, "scales"}}) {
        if (!state->cpu) continue;
        if (is_quantized(state->cpu.format())) {
          expect_same_codes(*state, name + which);
        } else {
          lab_.expect_close(*state, Bound::once, name + which);
        }
      }
      if (kind_.has_scales()) equalize(sets_[i]);
    }
  }

 private:
  struct Set {
    Twin parameter;
    Twin master;
    Twin momentum;
    Twin variance;
    Twin scales;
    bool decays;
  };

  /// But for values that stand so near to halfway between two that rounding decides.
  static void expect_same_codes(const Twin& codes, const std::string& what) {
    std::vector<std::uint8_t> found(codes.gpu.bytes());
    gpu().download(found.data(), codes.gpu, found.size());
    const auto* expected = codes.cpu.as<std::uint8_t>();
    std::size_t different = 0;
    for (std::size_t i = 0; i < found.size(); ++i) different += found[i] == expected[i] ? 0U : 1U;
    EXPECT_LE(different, 1 + found.size() / 100) << what;
  }

  /// Of codes that differ all that follows does.
  void equalize(Set& set) {
    for (Twin* twin : {&set.parameter, &set.momentum, &set.variance, &set.scales}) {
      lab_.equalize(*twin);
    }
  }

  static const Tensor* or_null(const Tensor& tensor) { return tensor ? &tensor : nullptr; }

  Lab& lab_;
  const OptimizerKind& kind_;
  std::vector<Set> sets_;
};

class OptimizerTest : public OpTest {};

TEST_P(OptimizerTest, ThreeStepsOfEveryKind) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.master && !is_16_bit(GetParam())) continue;
    Lab lab(GetParam());
    Parameters parameters(lab, kind);
    for (int step = 1; step <= 3; ++step) {
      parameters.step(step, nullptr, 1.0F);
      parameters.expect_close("step " + std::to_string(step));
    }
  }
}

TEST_P(OptimizerTest, LossScaleFollowsOverflow) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.master && !is_16_bit(GetParam())) continue;
    Lab lab(GetParam());
    Parameters parameters(lab, kind);
    Twin scaler = lab.values(DType::Fp32, {LossScale::kValues},
                             {1024.0F, LossScale::kGrowthInterval - 2, 0.0F});
    parameters.step(1, &scaler, 512.0F);
    lab.expect_equal(scaler, "scaler after a good step");
    parameters.step(2, &scaler, 512.0F);
    lab.expect_equal(scaler, "scaler that doubles");
    parameters.step(3, &scaler, std::numeric_limits<float>::infinity());
    lab.expect_equal(scaler, "scaler after overflow");
    EXPECT_EQ(downloaded_values(gpu(), scaler.gpu)[LossScale::kScale], 1024);
    parameters.step(4, &scaler, 512.0F);
    parameters.expect_close("after an overflow");
  }
}

VRAMFIT_FOR_EACH_DTYPE(OptimizerTest);

}  // namespace
}  // namespace vramfit
