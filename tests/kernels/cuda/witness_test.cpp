#include "tests/kernels/cuda/support/witness.h"

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>

#include "estimator/models.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/cuda/support/gpu_run.h"

// The central test can fail.

namespace vramfit {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// A device that does something more than it should in the second optimizer step.
class MischievousDevice : public CudaDevice {
 public:
  using CudaDevice::run;
  void run(const OptimizerStep& op) override {
    if (op.step == 2) mischief();
    CudaDevice::run(op);
  }
  std::function<void()> mischief;
};

class WitnessTest : public testing::Test {
 protected:
  void SetUp() override {
    VRAMFIT_NEEDS_GPU();
    options.batch = 2;
    options.seq = 64;
    device.emplace();
    device->mischief = [] {};
    GpuRun unobserved;  // for libraries to load what they will
    run_training(*device, unobserved.ledger, config, options, kSteps);
  }

  RunReport observed(GpuRun& run, Witness& witness) {
    run.ledger.set_observer(&witness);
    return run_training(*device, run.ledger, config, options, kSteps);
  }
  RunReport predicted() {
    return dry_run({device->arch(), free_capacity()}, config, options, kSteps);
  }

  static constexpr int kSteps = 3;
  const ModelConfig config = model_named("gpt2-124m");
  TrainingOptions options;
  std::optional<MischievousDevice> device;
};

TEST_F(WitnessTest, AgreesWhereNothingIsWrong) {
  GpuRun run;
  Witness witness(run.pool);
  const RunReport real = observed(run, witness);
  EXPECT_EQ(witness.differences, 0) << witness.first;
  EXPECT_EQ(first_difference(real.events, predicted().events), std::nullopt);
}

/// From the end of step 2's optimizer on: its own mark, zero_grad's two, step 3's eight.
constexpr int kMarksAfterwards = 11;

TEST_F(WitnessTest, NoticesAnAllocationBesideThePool) {
  GpuRun run;
  Witness witness(run.pool);
  void* beside = nullptr;
  device->mischief = [&] { ASSERT_EQ(cudaMalloc(&beside, 4 * kMiB), cudaSuccess); };
  const RunReport real = observed(run, witness);
  EXPECT_EQ(witness.differences, kMarksAfterwards) << witness.first;
  EXPECT_NE(witness.first.find("optimizer of step 2 ends"), std::string::npos) << witness.first;
  EXPECT_EQ(first_difference(real.events, predicted().events), std::nullopt)
      << "the ledger cannot know";
  EXPECT_EQ(cudaFree(beside), cudaSuccess);
}

TEST_F(WitnessTest, NoticesMemoryMappedBesideThePool) {
  GpuRun run;
  Witness witness(run.pool);
  CudaSource beside(64 * kMiB);
  device->mischief = [&] { beside.grow(0, 2 * kMiB); };
  observed(run, witness);
  EXPECT_EQ(witness.differences, kMarksAfterwards) << witness.first;
}

TEST_F(WitnessTest, TheLedgerNoticesATensorThatNoContractNames) {
  GpuRun run;
  Witness witness(run.pool);
  device->mischief = [&] {
    const Tensor extra(run.ledger, "extra", Category::Workspace, DType::Fp32, {1});
  };
  const std::optional<std::string> difference =
      first_difference(observed(run, witness).events, predicted().events);
  ASSERT_TRUE(difference.has_value());
  EXPECT_NE(difference->find("extra"), std::string::npos) << *difference;
}

TEST_F(WitnessTest, TheLedgerNoticesATensorThatIsMissing) {
  GpuRun run;
  Witness witness(run.pool);
  const RunReport real = observed(run, witness);
  std::vector<Event> fewer = real.events;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(fewer.size() / 2));
  EXPECT_NE(first_difference(fewer, predicted().events), std::nullopt);
}

}  // namespace
}  // namespace vramfit
