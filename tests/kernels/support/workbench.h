#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/pass_through.h"

namespace vramfit {

/// Every element that `tensor` stores, padding included, whatever its dtype.
std::vector<double> values_of(const Tensor& tensor);

/// The same for a tensor on any device.
std::vector<double> downloaded_values(Device& device, const Tensor& tensor);

/// Of a quantised weight what is read back, in fp32. `scales`: of 8 bits.
std::vector<double> dequantized_values(const Tensor& weight, const Tensor* scales);

/// Rounds `values`, one for each stored element, to the tensor's dtype.
void set_values(const Tensor& tensor, const std::vector<double>& values);

/// Where an op writes a gradient or adds it to what is there.
struct Gradient {
  Tensor tensor;
  bool accumulate;
  std::vector<double> before;  ///< zeros where nothing was there

  /// What the op wrote or added.
  std::vector<double> added() const;
};

/// Small tensors for one op, each a heap allocation of its own, and a device to run it. Tensors
/// hold NaN until something writes them.
class Workbench {
 public:
  explicit Workbench(DType dtype = DType::Fp64) : dtype_(dtype), ledger_(allocator_) {}

  /// Without padding rows.
  Tensor empty(const Shape& shape) { return empty(shape, shape); }
  Tensor empty(const Shape& shape, const Shape& stored) { return make(dtype_, shape, stored); }
  /// Row statistics and sums.
  Tensor sums(const Shape& shape) { return make(accumulation_dtype(dtype_), shape, shape); }
  Tensor floats(const Shape& shape) { return make(DType::Fp32, shape, shape); }
  Tensor tensor(Format format, const Shape& shape) { return make(format, shape, shape); }
  Tensor integers(const std::vector<std::int32_t>& values, const Shape& shape);
  Tensor bytes(std::uint64_t count);

  /// Standard normal numbers, other ones for each tensor; padding rows are zero.
  Tensor random(const Shape& shape) { return random(shape, shape); }
  Tensor random(const Shape& shape, const Shape& stored);
  Tensor random_tokens(const Shape& shape, std::int64_t vocab);
  Tensor copy(const Tensor& tensor);
  /// As large as `x`; random before the op where it adds, NaN where it writes.
  Gradient gradient_of(const Tensor& x, bool accumulate);

  DType dtype() const { return dtype_; }
  CpuDevice device{Arch{90}};

 private:
  Tensor make(Format format, const Shape& shape, const Shape& stored);

  DType dtype_;
  PassThrough allocator_;
  Ledger ledger_;
  std::uint64_t seed_ = 1000;
};

}  // namespace vramfit
