#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/ops/cost.h"
#include "model/ops/each_op.h"

namespace vramfit {

/// Runs nothing and checks that the step program keeps its side of every op's contract: tensors
/// that are alive, of the shapes and dtypes that the op's struct states, and workspaces as large as
/// their functions say. A real device would read or write beside them.
class ContractDevice : public EachOp<ContractDevice> {
 public:
  /// `dtype`: what weights and activations are stored in.
  explicit ContractDevice(DType dtype) : dtype_(dtype) {}

  /// How often each op ran, by its name in OpCost.
  const std::map<std::string, int>& calls() const { return calls_; }

  Arch arch() const override { return {90}; }
  void upload(const Tensor& to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const Tensor& from, std::uint64_t bytes) override;
  void synchronize() override {}

  template <typename Op>
  void each(const Op& op) {
    ++calls_[cost(op).op];
    check(op);
  }

 protected:
  /// Told of every tensor that an op reads or writes.
  virtual void used(const Tensor& /*tensor*/) {}

 private:
  /// What a collective reads or writes that nobody has awaited yet.
  struct InFlight {
    std::uint64_t number;
    const std::byte* first;
    const std::byte* last;  ///< behind it
  };
  /// Of an op that is no collective: what it uses no collective may.
  void touched(const Tensor& tensor);
  void starts(Ticket& ticket);
  void takes_part(const Tensor& tensor);

#define VRAMFIT_CHECK(Op) void check(const Op& op);
  VRAMFIT_OPS(VRAMFIT_CHECK)
#undef VRAMFIT_CHECK

  void expect_tensor(const Tensor& tensor, Format format, const Shape& shape);
  void expect_room(const Tensor& workspace, std::uint64_t bytes);
  /// In the model's dtype.
  void expect(const Tensor& tensor, const Shape& shape);
  void expect_optional(const Tensor* tensor, bool present, const Shape& shape);
  /// In the accumulation dtype.
  void expect_sums(const Tensor& tensor, const Shape& shape);
  /// What a linear multiplies, and what it has beside that where the weight is quantised.
  void expect_linear(const Tensor& x, const Tensor& weight, const QuantizedOperands& quantized,
                     const InputNorm* norm);
  /// CodeScale's values.
  void expect_scale(const Tensor& scale);
  void expect_largest(const Tensor* scale);
  /// What the second halves of adapters have in common.
  void expect_adapters(const AdaptersOfLinear& adapters, const Tensor& u, const Tensor& b,
                       const Tensor& y);
  void expect_gemm_workspace(const Tensor& tensor);
  void expect_cache(const AttentionShape& shape, const KvBlocks& cache);
  /// int32, one of each sequence; or null.
  void expect_integers(const Tensor* tensor, std::int64_t count);

  DType dtype_;
  std::map<std::string, int> optimizer_steps_;  ///< of each parameter
  std::uint64_t collectives_ = 0;
  std::vector<InFlight> in_flight_;
  std::map<std::string, int> calls_;
};

}  // namespace vramfit
