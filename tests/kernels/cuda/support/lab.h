#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/pass_through.h"
#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/gpu.h"
#include "tests/kernels/cuda/support/guarded_allocator.h"

namespace vramfit {

/// A tensor on the CPU, and on the GPU with the same contents.
struct Twin {
  Tensor cpu;
  Tensor gpu;
};

/// Which of a tensor's two copies an op gets.
class Side {
 public:
  explicit Side(bool on_gpu) : on_gpu_(on_gpu) {}

  Tensor& operator()(Twin& twin) const { return on_gpu_ ? twin.gpu : twin.cpu; }
  Tensor* operator()(Twin* twin) const { return twin == nullptr ? nullptr : &(*this)(*twin); }

 private:
  bool on_gpu_;
};

/// Largest ‖gpu − cpu‖₂ / ‖cpu‖₂ by which an op's result may differ. It says how often the two
/// round differently on the way: once, when stored, is about `once`.
struct Bound {
  double fp32;
  double fp16;
  double bf16;

  static const Bound once;
  constexpr Bound times(double factor) const {
    return {fp32 * factor, fp16 * factor, bf16 * factor};
  }
  double of(Format format) const;
};

/// A test for each dtype that CUDA devices run.
class OpTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

/// The same op on the CPU and on the GPU. Tensors hold NaN until something writes them.
class Lab {
 public:
  explicit Lab(DType dtype) : dtype_(dtype), cpu_ledger_(cpu_memory_), gpu_ledger_(gpu_memory_) {}

  Twin make(Format format, const Shape& shape, const Shape& stored);
  Twin empty(const Shape& shape) { return make(dtype_, shape, shape); }
  Twin empty(const Shape& shape, const Shape& stored) { return make(dtype_, shape, stored); }
  Twin stored(Format format, const Shape& shape) { return make(format, shape, shape); }
  Twin floats(const Shape& shape) { return make(DType::Fp32, shape, shape); }
  Twin bytes(std::uint64_t count);
  Twin gemm_workspace() { return bytes(gemm_workspace_bytes(gpu().arch())); }

  /// Standard normal numbers, other ones for each tensor, scaled; padding rows are zero.
  Twin random(const Shape& shape, float deviation = 1.0F) {
    return random(shape, shape, deviation);
  }
  Twin random(const Shape& shape, const Shape& stored, float deviation = 1.0F);
  Twin tokens(const Shape& shape, std::int64_t vocab);
  /// `count` of int32, the first as given and each next one more by `step`.
  Twin integers(std::int64_t count, std::int32_t first, std::int32_t step = 0);
  /// Random where an op adds to it, NaN where it writes.
  Twin target(const Shape& shape, const Shape& stored, bool accumulate);
  Twin target(const Shape& shape, bool accumulate) { return target(shape, shape, accumulate); }
  Twin values(DType dtype, const Shape& shape, const std::vector<float>& values);

  /// Gives the GPU's the CPU's contents, so that what comes next starts from the same.
  void equalize(Twin& twin) { upload(twin); }

  /// Runs the op on both, and expects that the GPU's wrote nothing beside its tensors.
  void run(const std::function<void(Device&, Side)>& op);

  /// `what` names the op and its sizes. The environment's VRAMFIT_PRINT_ERRORS prints all errors.
  void expect_close(const Twin& result, const Bound& bound, const std::string& what);
  void expect_equal(const Twin& result, const std::string& what);
  /// Whatever they stand for.
  void expect_same_bytes(const Twin& result, const std::string& what);

  DType dtype() const { return dtype_; }

 private:
  void upload(Twin& twin);

  DType dtype_;
  PassThrough cpu_memory_;
  GuardedAllocator gpu_memory_;
  Ledger cpu_ledger_;
  Ledger gpu_ledger_;
  CpuDevice cpu_{Arch{90}};
  std::uint64_t seed_ = 1000;
};

}  // namespace vramfit

/// Instantiates an OpTest.
#define VRAMFIT_FOR_EACH_DTYPE(Suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(                                                              \
      Cuda, Suite,                                                                       \
      testing::Values(vramfit::DType::Fp32, vramfit::DType::Fp16, vramfit::DType::Bf16), \
      [](const auto& dtype) { return std::string(name(dtype.param)); })
