#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/coded_moments.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

using Rule = OptimizerKind::Rule;

/// The most that a stored value is off its neighbour by, relative to itself.
double last_place(Format format) {
  if (format == DType::Fp16) return 0x1p-10;
  return format == DType::Bf16 ? 0x1p-7 : 0x1p-22;  // of fp32: two, as it is rounded on the way
}

/// Parameters of several sizes with their states, and steps over all of them, each of which is
/// judged: both devices start it from the same.
class Parameters {
 public:
  Parameters(Lab& lab, const OptimizerKind& kind) : lab_(lab), kind_(kind) {
    settings_.learning_rate = 1e-2F;
    // A sign shows in a weight of 4 in bf16.
    if (kind.rule == Rule::Lion) settings_.learning_rate = 0.25F;
    // From the second step on a step is of 1 / √step.
    if (kind.rule == Rule::Adafactor) settings_.learning_rate = 0.9F;
    const Format moments = kind.moment_format(lab.dtype());
    // Vectors, matrices of one block and of many by rows and by columns, one of weights next to
    // nothing and one with padding rows.
    for (const Shape& shape :
         {Shape{1}, Shape{7}, Shape{4096}, Shape{129, 65}, Shape{64, 64}, Shape{1000, 33},
          Shape{5, 2056}, Shape{5000, 8}, Shape{40, 9}, Shape{300, 130}}) {
      const Shape stored = shape == Shape{300, 130} ? Shape{304, 130} : shape;
      const std::int64_t blocks = (stored.elements() + kDynamicBlock - 1) / kDynamicBlock;
      const float deviation = shape == Shape{40, 9} ? 1e-5F : 1.0F;
      Set set{lab.random(shape, stored, deviation), {}, {}, {}, {}, shape.rank() == 2};
      if (kind.master) set.master = lab.make(DType::Fp32, shape, stored);
      if (kind.keeps_momentum()) set.momentum = lab.make(moments, shape, stored);
      if (kind.keeps_variance()) {
        set.variance = lab.make(moments, variance_shape(kind, shape), variance_shape(kind, stored));
      }
      if (kind.has_scales()) set.scales = lab.floats({kind.moments, blocks});
      sets_.push_back(std::move(set));
    }
  }

  void step(int number, Twin* scaler, float gradient_scale) {
    std::vector<Twin> gradients;
    const double loss_scale = scaler == nullptr ? 1 : values_of(scaler->cpu)[LossScale::kScale];
    for (Set& set : sets_) {
      const Tensor& parameter = set.parameter.cpu;
      gradients.push_back(lab_.random(parameter.shape(), parameter.stored(), gradient_scale));
      expect_moments(set, number == 1, gradients.back(), loss_scale);
    }
    run(number, scaler, gradients);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const std::string what =
          " " + std::to_string(i) + " of " + kind_.name + ", step " + std::to_string(number);
      if (std::isfinite(gradient_scale)) {
        expect_updated(sets_[i], what);
      } else {
        for_each_tensor(sets_[i], [&](Twin& twin, const std::string& name) {
          lab_.expect_same_bytes(twin, name + what + ", which overflows");
        });
      }
      for_each_tensor(sets_[i], [&](Twin& twin, const std::string&) { lab_.equalize(twin); });
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
    // What the step makes of them, where they are codes; of Lion's momentum the step's direction.
    ExactMoment exact_momentum = {};
    ExactMoment exact_variance = {};
  };

  void run(int number, Twin* scaler, std::vector<Twin>& gradients) {
    const auto updates = [&](Side side) {
      std::vector<ParameterUpdate> all;
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        Set& set = sets_[i];
        all.push_back({&side(set.parameter), &side(gradients[i]), or_null(side(set.master)),
                       or_null(side(set.momentum)), or_null(side(set.variance)), set.decays,
                       or_null(side(set.scales))});
      }
      return all;
    };
    Twin table = lab_.bytes(optimizer_table_bytes(updates(Side(false))));
    Twin sums;
    const std::uint64_t sums_bytes = factor_sums_bytes(kind_, updates(Side(false)));
    if (sums_bytes > 0) sums = lab_.bytes(sums_bytes);
    lab_.run([&](Device& device, Side side) {
      device.run(OptimizerStep{kind_, settings_, updates(side), number, side(scaler), side(table),
                               or_null(side(sums))});
    });
  }

  void expect_moments(Set& set, bool first, const Twin& gradient, double loss_scale) {
    std::vector<double> g = values_of(gradient.cpu);
    for (double& value : g) value /= loss_scale;
    const std::vector<double> nothing(g.size(), 0);
    if (kind_.rule == Rule::Lion) {
      set.exact_momentum = moved(first ? nothing : values_of(set.momentum.cpu), settings_.beta1, g);
    }
    if (!kind_.has_scales()) return;
    const auto [m, v] = coded_moments(set, [](const Twin& twin) { return bytes_of(twin.cpu); });
    set.exact_momentum = moved(first ? nothing : m.values<SignedCodes>(), settings_.beta1, g);
    for (double& value : g) value *= value;
    set.exact_variance = moved(first ? nothing : v.values<UnsignedCodes>(), settings_.beta2, g);
  }

  void expect_updated(Set& set, const std::string& what) {
    if (kind_.has_scales()) {
      const auto [m, v] = coded_moments(set, [](const Twin& twin) {
        std::vector<std::uint8_t> bytes(twin.gpu.bytes());
        gpu().download(bytes.data(), twin.gpu, bytes.size());
        return bytes;
      });
      expect_nearest<SignedCodes>(m, set.exact_momentum, "momentum" + what);
      expect_nearest<UnsignedCodes>(v, set.exact_variance, "variance" + what);
    }
    for_each_tensor(set, [&](Twin& twin, const std::string& name) {
      if (is_quantized(twin.cpu.format())) return;
      if (kind_.rule == Rule::Lion && &twin == &set.parameter) {
        expect_signs(set, what);
      } else {
        lab_.expect_close(twin, Bound::once, name + what);
      }
    });
  }

  /// That every weight has gone the way its direction says. Where that is nothing but what rounding
  /// leaves, it may have gone either way; where it is nothing at all, as in padding, none.
  void expect_signs(const Set& set, const std::string& what) const {
    const std::vector<double> expected = values_of(set.parameter.cpu);
    const std::vector<double> found = downloaded_values(gpu(), set.parameter.gpu);
    const ExactMoment& direction = set.exact_momentum;
    std::size_t undecided = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto rate = static_cast<double>(settings_.learning_rate);
      double off = last_place(set.parameter.cpu.format()) * (std::abs(expected[i]) + rate);
      const double terms = direction.terms[i];
      if (terms > 0 && std::abs(direction.values[i]) <= 0x1p-22 * terms) {
        ++undecided;
        off += 2 * rate;
      }
      EXPECT_NEAR(found[i], expected[i], off) << "parameter" << what << ", element " << i;
    }
    EXPECT_LE(undecided, expected.size() < 256 ? 0 : 1 + expected.size() / 2000) << what;
  }

  static std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
    const auto* bytes = tensor.as<std::uint8_t>();
    return {bytes, bytes + tensor.bytes()};
  }

  /// The two moments, of the side whose bytes `read` reads.
  template <typename Read>
  static std::array<CodedMoment, 2> coded_moments(const Set& set, const Read& read) {
    const std::vector<std::uint8_t> bytes = read(set.scales);
    std::vector<float> scales(bytes.size() / sizeof(float));
    std::memcpy(scales.data(), bytes.data(), bytes.size());
    const auto second = scales.begin() + static_cast<std::ptrdiff_t>(scales.size() / 2);
    return {CodedMoment{read(set.momentum), {scales.begin(), second}},
            CodedMoment{read(set.variance), {second, scales.end()}}};
  }

  template <typename Body>
  static void for_each_tensor(Set& set, const Body& body) {
    for (const auto& [twin, name] : {std::pair{&set.parameter, "parameter"},
                                     {&set.master, "master"},
                                     {&set.momentum, "momentum"},
                                     {&set.variance, "variance"},
                                     {&set.scales, "scales"}}) {
      if (twin->cpu) body(*twin, name);
    }
  }

  static const Tensor* or_null(const Tensor& tensor) { return tensor ? &tensor : nullptr; }

  Lab& lab_;
  const OptimizerKind& kind_;
  OptimizerSettings settings_;
  std::vector<Set> sets_;
};

class OptimizerTest : public OpTest {
 protected:
  /// Calls `body` with a lab and the parameters in it, for every kind that goes with the dtype.
  template <typename Body>
  static void for_each_kind(const Body& body) {
    for (const OptimizerKind& kind : optimizer_kinds()) {
      if (kind.master && !is_16_bit(GetParam())) continue;
      if (kind.on_host) continue;  // host_updates_test.cpp
      Lab lab(GetParam());
      Parameters parameters(lab, kind);
      body(lab, parameters);
    }
  }
};

TEST_P(OptimizerTest, ThreeStepsOfEveryKind) {
  for_each_kind([](Lab&, Parameters& parameters) {
    for (int step = 1; step <= 3; ++step) parameters.step(step, nullptr, 1.0F);
  });
}

// What it divides by is bounded, first the mean of all squares, then each.
TEST_P(OptimizerTest, AdafactorOfFaintGradients) {
  for (const float size : {1e-4F, 1e-8F}) {
    Lab lab(GetParam());
    Parameters parameters(lab, optimizer_named("adafactor"));
    for (int step = 1; step <= 2; ++step) parameters.step(step, nullptr, size);
  }
}

TEST_P(OptimizerTest, LossScaleFollowsOverflow) {
  for_each_kind([](Lab& lab, Parameters& parameters) {
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
  });
}

// States are there from the first step on, and are not what was in memory before.
TEST_P(OptimizerTest, AnOverflowAtTheFirstStepInitializesAllTheSame) {
  for_each_kind([](Lab& lab, Parameters& parameters) {
    Twin scaler = lab.values(DType::Fp32, {LossScale::kValues}, {1024.0F, 0.0F, 0.0F});
    parameters.step(1, &scaler, std::numeric_limits<float>::infinity());
    lab.expect_equal(scaler, "scaler after overflow");
    parameters.step(2, &scaler, 512.0F);
  });
}

VRAMFIT_FOR_EACH_DTYPE(OptimizerTest);

}  // namespace
}  // namespace vramfit
