#include "kernels/cpu/code_products.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/norm_row.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// LayerNorm has a bias, and a mean where it keeps statistics; RMSNorm has neither. Throws where
/// that is not so.
void require_kind(NormKind kind, bool has_bias, bool has_mean, bool keeps_statistics) {
  const bool layer_norm = kind == NormKind::LayerNorm;
  require(has_bias == layer_norm && has_mean == (layer_norm && keeps_statistics),
          "LayerNorm, and it alone, has bias and mean");
}

template <typename Element>
void forward(const NormForward& op) {
  using Sum = Accumulator<Element>;
  require_kind(op.kind, op.bias != nullptr, op.mean != nullptr, op.rstd != nullptr);
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t width = op.x.shape()[1];
  const auto x = input<Element>(op.x, rows, width);
  const Element* weight = input<Element>(op.weight, width);
  const Element* bias = input<Element>(op.bias, width);
  const auto y = output<Element>(op.y, rows, width);
  Sum* rstd = output<Sum>(op.rstd, rows);
  Sum* mean = output<Sum>(op.mean, rows);
  for (std::int64_t n = 0; n < rows; ++n) {
    const auto statistics = statistics_of(op.kind, x[n], width, op.eps);
    for (std::int64_t c = 0; c < width; ++c) {
      y[n][c] = scaled(statistics.normalized(x[n][c]), weight, bias, c);
    }
    if (rstd != nullptr) rstd[n] = statistics.rstd;
    if (mean != nullptr) mean[n] = statistics.mean;
  }
}

template <typename Element>
class Backward {
  using Sum = Accumulator<Element>;

 public:
  explicit Backward(const NormBackward& op)
      : op_(op),
        rows_(op.x.shape()[0]),
        width_(op.x.shape()[1]),
        x_(input<Element>(op.x, rows_, width_)),
        rstd_(input<Sum>(op.rstd, rows_)),
        mean_(input<Sum>(op.mean, rows_)),
        weight_(input<Element>(op.weight, width_)),
        bias_(input<Element>(op.bias, width_)),
        dy_(output<Element>(op.dy, rows_, width_)),
        dx_(output<Element>(op.dx, rows_, width_)) {
    require_kind(op.kind, op.bias != nullptr, op.mean != nullptr, true);
    if (op.dweight == nullptr) return;
    require((op.bias == nullptr) == (op.dbias == nullptr),
            "a norm's bias and gradient go together");
    require(op.partials->shape() == norm_partials_shape(op.kind, rows_, width_),
            "norm partials are not norm_partials_shape");
  }

  void run() {
    // Columns first: each row's gradient is overwritten once its dx is known.
    for (std::int64_t c = 0; op_.dweight != nullptr && c < width_; ++c) sum_column(c);
    for (std::int64_t n = 0; n < rows_; ++n) finish_row(n);
  }

 private:
  RowStatistics<Sum> statistics(std::int64_t n) const {
    return {mean_ == nullptr ? Sum{0} : mean_[n], rstd_[n]};
  }

  void sum_column(std::int64_t c) {
    Sum dweight = 0;
    Sum dbias = 0;
    for (std::int64_t n = 0; n < rows_; ++n) {
      dweight += dy_[n][c] * statistics(n).normalized(x_[n][c]);
      dbias += dy_[n][c];
    }
    store(output<Element>(*op_.dweight, width_)[c], dweight, op_.accumulate_dweight);
    if (op_.dbias != nullptr) {
      store(output<Element>(*op_.dbias, width_)[c], dbias, op_.accumulate_dbias);
    }
  }

  /// With z the normalized x and dz = dy · weight:
  /// dx = rstd · (dz − z · mean(dz · z)), less mean(dz) in LayerNorm, which the mean passes on.
  void finish_row(std::int64_t n) {
    const RowStatistics<Sum> row = statistics(n);
    const auto dz = [&](std::int64_t c) {
      return static_cast<Sum>(dy_[n][c]) * static_cast<Sum>(weight_[c]);
    };
    Sum along_z = 0;
    Sum along_mean = 0;
    for (std::int64_t c = 0; c < width_; ++c) {
      along_z += dz(c) * row.normalized(x_[n][c]);
      if (op_.kind == NormKind::LayerNorm) along_mean += dz(c);
    }
    along_z /= static_cast<Sum>(width_);
    along_mean /= static_cast<Sum>(width_);
    for (std::int64_t c = 0; c < width_; ++c) {
      const Sum z = row.normalized(x_[n][c]);
      store(dx_[n][c], row.rstd * (dz(c) - z * along_z - along_mean), op_.accumulate_dx);
      dy_[n][c] = scaled(z, weight_, bias_, c);
    }
  }

  const NormBackward& op_;
  const std::int64_t rows_;
  const std::int64_t width_;
  const Matrix<const Element> x_;
  const Sum* rstd_;
  const Sum* mean_;
  const Element* weight_;
  const Element* bias_;
  const Matrix<Element> dy_;
  const Matrix<Element> dx_;
};

}  // namespace

void CpuDevice::run(const NormForward& op) {
  with_element(op.x.format(), [&op](auto e) { forward<decltype(e)>(op); });
  if (op.largest != nullptr) find_largest(op.y, *op.largest);
}

void CpuDevice::run(const NormBackward& op) {
  with_element(op.x.format(), [&op](auto e) { Backward<decltype(e)>(op).run(); });
}

}  // namespace vramfit
