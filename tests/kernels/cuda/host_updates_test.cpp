#include <cstring>
#include <limits>

#include "kernels/cuda/memory/pinned_memory.h"
#include "model/memory/pool.h"
#include "tests/kernels/cuda/support/lab.h"

// Updates that the host takes: the bits of the CPU's plain loops, whatever is under way meanwhile.

namespace vramfit {
namespace {

constexpr std::uint64_t kPinned = std::uint64_t{1} << 30;

/// Parameters on both devices, the GPU's with states in page-locked memory of the host.
class OnHost {
 public:
  explicit OnHost(Lab& lab) : lab_(lab), kind_(optimizer_named("adamw-cpu")) {
    settings_.learning_rate = 1e-2F;
  }

  void add(const Shape& shape, const Shape& stored) {
    sets_.push_back({lab_.random(shape, stored), {}, {}, {}});
  }
  /// The slots first, as a program has it.
  void create() {
    Updates updates;
    for (Set& set : sets_) updates.push_back({&set.parameter.cpu, nullptr, {}, {}, {}, true});
    table_ = lab_.bytes(optimizer_table_bytes(updates));
    slots_ = lab_.bytes(host_slots_bytes(kind_, updates));
    slots_.gpu = pinned(DType::Int32, slots_.cpu.shape());
    for (Set& set : sets_) {
      const Shape& stored = set.parameter.cpu.stored();
      for (Twin* state : {&set.momentum, &set.variance}) {
        *state = lab_.floats(stored);
        state->gpu = pinned(DType::Fp32, stored);
        std::memset(state->gpu.data(), 0xFF, state->gpu.bytes());
      }
    }
  }

  void step(int number, Twin* scaler, float gradient_scale) {
    for (Set& set : sets_) {
      const Tensor& parameter = set.parameter.cpu;
      set.gradient = lab_.random(parameter.shape(), parameter.stored(), gradient_scale);
    }
    lab_.run([&](Device& device, Side side) {
      Updates updates;
      for (Set& set : sets_) {
        updates.push_back({&side(set.parameter), &side(set.gradient), nullptr, &side(set.momentum),
                           &side(set.variance), set.parameter.cpu.shape().rank() == 2});
      }
      device.run(OptimizerStep{kind_, settings_, updates, number, side(scaler), side(table_),
                               nullptr, &side(slots_)});
    });
    gpu().synchronize();
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const std::string what = std::to_string(i) + ", step " + std::to_string(number);
      Set& set = sets_[i];
      lab_.expect_same_bytes(set.parameter, "parameter " + what);
      for (const Twin* state : {&set.momentum, &set.variance}) {
        EXPECT_EQ(std::memcmp(state->cpu.data(), state->gpu.data(), state->cpu.bytes()), 0)
            << "state of " << what;
      }
    }
  }

 private:
  using Updates = std::vector<ParameterUpdate>;
  struct Set {
    Twin parameter;
    Twin gradient;
    Twin momentum;
    Twin variance;
  };

  Tensor pinned(Format format, const Shape& shape) {
    return {ledger_, "pinned", Category::OptimizerState, format, shape};
  }

  Lab& lab_;
  const OptimizerKind& kind_;
  OptimizerSettings settings_;
  PinnedSource source_{kPinned};
  Pool pool_{source_};
  Ledger ledger_{pool_};
  Twin table_;
  Twin slots_;
  std::vector<Set> sets_;
};

class HostUpdatesTest : public OpTest {
 protected:
  /// Vectors and matrices, one with padding rows, in less than a slot.
  static void add_small(OnHost& parameters) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{4096}, Shape{129, 65}, Shape{1000, 33}}) {
      parameters.add(shape, shape);
    }
    parameters.add({300, 130}, {304, 130});
  }
};

TEST_P(HostUpdatesTest, HaveThePlainLoopsBits) {
  Lab lab(GetParam());
  OnHost parameters(lab);
  add_small(parameters);
  parameters.create();
  for (int step = 1; step <= 3; ++step) parameters.step(step, nullptr, 1.0F);
}

// One after the other through the same three slots, parameters across their ends.
TEST_P(HostUpdatesTest, OfMoreThanTheSlotsHold) {
  Lab lab(GetParam());
  OnHost parameters(lab);
  add_small(parameters);
  const std::int64_t rows = HostSlots::kMostElements / 1000;
  parameters.add({3 * rows, 1001}, {3 * rows, 1001});
  parameters.add({2 * rows, 999}, {2 * rows, 999});
  parameters.create();
  for (int step = 1; step <= 2; ++step) parameters.step(step, nullptr, 1.0F);
}

TEST_P(HostUpdatesTest, FollowTheLossScale) {
  Lab lab(GetParam());
  OnHost parameters(lab);
  add_small(parameters);
  parameters.create();
  Twin scaler = lab.values(DType::Fp32, {LossScale::kValues},
                           {1024.0F, LossScale::kGrowthInterval - 2, 0.0F});
  parameters.step(1, &scaler, std::numeric_limits<float>::infinity());
  lab.expect_equal(scaler, "scaler after overflow");
  parameters.step(2, &scaler, 512.0F);
  parameters.step(3, &scaler, std::numeric_limits<float>::infinity());
  parameters.step(4, &scaler, 512.0F);
  lab.expect_equal(scaler, "scaler after a good step");
}

VRAMFIT_FOR_EACH_DTYPE(HostUpdatesTest);

}  // namespace
}  // namespace vramfit
