// What ContractDevice expects of ops on codes of 8 bits with one scale a tensor.
#include <gtest/gtest.h>

#include "model/ops/workspaces.h"
#include "tests/model/transformer/contract_device.h"

namespace vramfit {

void ContractDevice::expect_scale(const Tensor& scale) {
  expect_tensor(scale, DType::Fp32, {CodeScale::kValues});
}

void ContractDevice::expect_largest(const Tensor* scale) {
  if (scale != nullptr) expect_scale(*scale);
}

void ContractDevice::check(const FindLargest& op) {
  expect(op.from, op.from.shape());
  expect_scale(op.scale);
}

void ContractDevice::check(const EncodeTensor& op) {
  const Shape& from = op.from.stored();
  expect(op.from, op.from.shape());
  expect_scale(op.scale);
  EXPECT_EQ(from[0] % 16, 0);
  EXPECT_EQ(from[1] % 16, 0);
  EXPECT_TRUE(op.codes != nullptr || op.transposed != nullptr);
  if (op.codes != nullptr) expect_tensor(*op.codes, op.codes->format(), from);
  if (op.transposed == nullptr) return;
  expect_tensor(*op.transposed, op.transposed->format(), {from[1], from[0]});
  if (op.codes == nullptr) return;
  EXPECT_EQ(op.codes->format(), op.transposed->format());
}

void ContractDevice::check(const CodesProduct& op) {
  const std::int64_t rows = op.to.stored()[0];
  const std::int64_t columns = op.to.stored()[1];
  const std::int64_t depth = op.a.shape()[1];
  expect_tensor(op.a, DType::Fp8, {rows, depth});
  expect_tensor(op.b, DType::Fp8, {columns, depth});
  EXPECT_EQ(depth % 16, 0);
  expect_scale(op.a_scale);
  expect_scale(op.b_scale);
  if (op.bias != nullptr) expect(*op.bias, {columns});
  if (op.residual != nullptr) expect(*op.residual, {rows, columns});
  expect(op.to, {rows, columns});
  EXPECT_TRUE(op.residual == nullptr || !op.accumulate);
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::check(const BiasBackward& op) {
  const Shape& dy = op.dy.shape();
  expect(op.dy, {dy[0], dy[1]});
  expect(op.dbias, {dy[1]});
  expect_sums(op.partials, bias_partials_shape(dy[0], dy[1]));
}

}  // namespace vramfit
