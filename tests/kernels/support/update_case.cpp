#include "tests/kernels/support/update_case.h"

#include "model/ops/workspaces.h"
#include "model/optimizer/dynamic_codes.h"

namespace vramfit {

UpdateCase::UpdateCase(const OptimizerKind& kind_, DType dtype, const std::vector<double>& start,
                       const OptimizerSettings& settings, bool decays, std::int64_t rows)
    : bench(dtype), kind(kind_), settings_(settings), decays_(decays) {
  const auto count = static_cast<std::int64_t>(start.size());
  const Shape shape = rows == 0 ? Shape{count} : Shape{rows, count / rows};
  parameter = bench.empty(shape);
  gradient_ = bench.empty(shape);
  set_values(parameter, start);
  if (kind.master) master = bench.floats(shape);
  const Format moments = kind.moment_format(dtype);
  if (kind.keeps_momentum()) momentum = bench.tensor(moments, shape);
  if (kind.keeps_variance()) variance = bench.tensor(moments, variance_shape(kind, shape));
  if (kind.has_scales()) {
    const std::int64_t blocks = (shape.elements() + kDynamicBlock - 1) / kDynamicBlock;
    scales = bench.floats({kind.moments, blocks});
  }
}

void UpdateCase::use_scaler(float scale, float good_steps) {
  scaler_ = bench.floats({LossScale::kValues});
  set_values(scaler_, {double{scale}, double{good_steps}, 0});
}

void UpdateCase::step(const std::vector<double>& gradient) {
  set_values(gradient_, gradient);
  const auto or_null = [](const Tensor& tensor) { return tensor ? &tensor : nullptr; };
  const std::vector<ParameterUpdate> updates = {{&parameter, &gradient_, or_null(master),
                                                 or_null(momentum), or_null(variance), decays_,
                                                 or_null(scales)}};
  Tensor table = bench.bytes(optimizer_table_bytes(updates));
  Tensor sums;
  const std::uint64_t sums_bytes = factor_sums_bytes(kind, updates);
  if (sums_bytes > 0) sums = bench.bytes(sums_bytes);
  Tensor slots;
  const std::uint64_t slots_bytes = host_slots_bytes(kind, updates);
  if (slots_bytes > 0) slots = bench.bytes(slots_bytes);
  bench.device.run(OptimizerStep{kind, settings_, updates, ++step_, or_null(scaler_), table,
                                 or_null(sums), or_null(slots)});
}

}  // namespace vramfit
