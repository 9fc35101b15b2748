#include "kernels/cuda/device/cuda_device.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/attention/attention_cublas.h"
#include "kernels/cuda/attention/attention_cudnn.h"
#include "kernels/cuda/base/error.h"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/base/stream.h"
#include "kernels/cuda/collectives/collectives.h"
#include "kernels/cuda/device/laps.h"
#include "kernels/cuda/device/recorded_graph.h"
#include "kernels/cuda/gemm/adapters.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/one_token.h"
#include "kernels/cuda/gpu/gpu_info.h"
#include "kernels/cuda/optimizer/optimizer.h"
#include "kernels/cuda/quantized/quantized_linear.h"
#include "kernels/cuda/small_batch/small_batch.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// On that GPU, which the process's thread uses from now on.
Stream stream_on(int device) {
  select_gpu(device);
  return Stream();
}

void require_room(const Tensor& tensor, std::uint64_t bytes) {
  if (tensor.data() == nullptr || bytes > tensor.bytes()) {
    throw std::logic_error(tensor.name().text() + ": a copy of more than the tensor holds");
  }
}

/// Whether a linear, which writes `y`, is bound by reading its weight, or does more than a GEMM
/// can. Of fp8's codes cuBLASLt makes as much.
template <typename Op>
bool is_small_batch(const Op& op, const Tensor& y, Arch arch) {
  const std::int64_t rows = op.x.shape()[0];
  if (!is_quantized(op.weight.format())) return rows <= kNormedRows || beats_gemm(op.x, arch);
  if (op.quantized.quantizes_x) return true;
  const bool codes = op.quantized.x_scales != nullptr;
  const bool multiplies = !codes || (op.x.format() == Format(DType::Int8) && is_16_bit(y.format()));
  return multiplies && rows <= direct_rows(arch);
}

void* data_or_null(const Tensor* tensor) { return tensor == nullptr ? nullptr : tensor->data(); }

}  // namespace

struct CudaDevice::Impl {
  explicit Impl(const CudaOptions& options)
      : stream(stream_on(options.device)),
        arch(gpu_arch(options.device)),
        gemms(stream, {options.tf32, options.tune, options.gemm_algorithms}),
        attention(static_cast<cudaStream_t>(stream)) {
    if (options.rank) collectives.emplace(*options.rank, stream);
  }

  /// An op that is one kernel.
  template <typename Op>
  void run(const Op& op) {
    launch(op, stream);
  }
  void run(const LinearForward& op);
  void run(const LinearBackwardInput& op);
  void run(const LinearBackwardWeight& op);
  void run(const LoraForward& op) { add_adapters(op, gemms); }
  void run(const LoraBackwardInput& op) { multiply_adapters(op, gemms); }
  void run(const LoraBackwardWeight& op) { multiply_adapters(op, gemms); }
  void run(const CodesProduct& op) { multiply_codes(op, gemms); }
  void run(const MlpUpForward& op);
  void run(const AttentionForward& op);
  void run(const AttentionBackward& op);
  void run(const HeadLoss& op);
  void run(const FindOverflow& op) { optimizer.launch(op, stream); }
  void run(const OptimizerStep& op) { optimizer.launch(op, stream); }
  void run(const AllReduce& op) { run_together(op); }
  void run(const ReduceScatter& op) { run_together(op); }
  void run(const AllGather& op) { run_together(op); }
  void run(const Exchange& op) { run_together(op); }
  void run(const SumWith& op) { run_together(op); }
  void run(const Await& op) {
    if (notes_waits) waits.note(stream);
    run_together(op);
    if (notes_waits) waits.note(stream);
  }
  template <typename Op>
  void run_together(const Op& op) {
    if (!collectives) throw std::logic_error("a collective on a GPU that is alone");
    collectives->run(op);
  }
  void head_chunk(const HeadLoss& op, std::int64_t first, std::int64_t count);

  Stream stream;
  Arch arch;
  GemmRunner gemms;
  CudnnAttention attention;
  OptimizerLauncher optimizer;
  std::optional<Collectives> collectives;
  Laps laps;
  bool notes_waits = false;
  Laps waits;  ///< two for each
};

CudaDevice::CudaDevice(const CudaOptions& options) : impl_(std::make_unique<Impl>(options)) {}
CudaDevice::~CudaDevice() = default;

Arch CudaDevice::arch() const { return impl_->arch; }

void CudaDevice::upload(const Tensor& to, const void* from, std::uint64_t bytes) {
  require_room(to, bytes);
  check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, impl_->stream), "upload");
  check(cudaStreamSynchronize(impl_->stream), "upload");
}

void CudaDevice::download(void* to, const Tensor& from, std::uint64_t bytes) {
  require_room(from, bytes);
  check(cudaMemcpyAsync(to, from.data(), bytes, cudaMemcpyDeviceToHost, impl_->stream), "download");
  check(cudaStreamSynchronize(impl_->stream), "download");
}

void CudaDevice::copy(const Tensor& to, const Tensor& from) {
  require_room(to, from.bytes());
  check(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice,
                        impl_->stream),
        "copy");
}

void CudaDevice::synchronize() {
  check(cudaStreamSynchronize(impl_->stream), "cudaStreamSynchronize");
  if (impl_->collectives) impl_->collectives->synchronize();
}

std::unique_ptr<RecordedOps> CudaDevice::record(const std::function<void()>& ops) {
  return std::make_unique<RecordedGraph>(impl_->stream, impl_->arch.sm >= 90, ops);
}

void CudaDevice::lap() { impl_->laps.note(impl_->stream); }
std::vector<double> CudaDevice::laps() { return impl_->laps.take(); }

void CudaDevice::note_waits() { impl_->notes_waits = true; }

double CudaDevice::waited() {
  const std::vector<double> waits_and_work = impl_->waits.take();
  double seconds = 0;
  for (std::size_t i = 0; i < waits_and_work.size(); i += 2) seconds += waits_and_work[i];
  return seconds;
}

#define VRAMFIT_RUN(Op) \
  void CudaDevice::run(const Op& op) { impl_->run(op); }
VRAMFIT_OPS(VRAMFIT_RUN)
#undef VRAMFIT_RUN

void CudaDevice::Impl::run(const LinearForward& op) {
  if (is_small_batch(op, op.y, arch)) return launch_small_batch(op, stream);
  if (is_quantized(op.weight.format())) return multiply_quantized(op, gemms, stream);
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t out = op.weight.stored()[0];
  const std::int64_t in = op.weight.stored()[1];
  gemms.run({GemmMatrix::of(op.x, rows, in), GemmMatrix::of(op.weight, out, in).transpose(),
             GemmMatrix::of(op.y, rows, out), data_or_null(op.residual), data_or_null(op.bias)},
            op.workspace);
}

void CudaDevice::Impl::run(const LinearBackwardInput& op) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t out = op.weight.stored()[0];
  const std::int64_t in = op.weight.stored()[1];
  if (is_quantized(op.weight.format())) return multiply_quantized(op, gemms, stream);
  gemms.run({GemmMatrix::of(op.dy, rows, out), GemmMatrix::of(op.weight, out, in),
             GemmMatrix::of(op.dx, rows, in), op.accumulate ? op.dx.data() : nullptr},
            op.workspace);
}

void CudaDevice::Impl::run(const LinearBackwardWeight& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.x.shape()[1];
  const std::int64_t out = op.dy.shape()[1];
  gemms.run(
      {GemmMatrix::of(op.dy, rows, out).transpose(), GemmMatrix::of(op.x, rows, in),
       GemmMatrix::of(op.dweight, out, in), op.accumulate_dweight ? op.dweight.data() : nullptr},
      op.workspace);
  if (op.dbias == nullptr) return;
  launch(BiasBackward{op.dy, *op.dbias, op.accumulate_dbias, *op.partials}, stream);
}

// cuBLASLt's GELU epilogue computes from what it has not yet rounded, where the contract says that
// `act` comes from `pre` as stored: backward computes it again from there, and must get the same.
void CudaDevice::Impl::run(const MlpUpForward& op) {
  if (is_small_batch(op, op.pre, arch)) return launch_small_batch(op, stream);
  if (op.x.format() == Format(DType::Int8) && launch_int8_mlp_up(op, stream)) return;
  run(LinearForward{op.x, op.weight, op.bias, nullptr, op.pre, op.workspace, op.quantized});
  launch(Activate{op.kind, op.pre, op.act}, stream);
}

void CudaDevice::Impl::run(const AttentionForward& op) {
  if (op.form == AttentionForm::Cublas) return attend_by_gemms(op, gemms, stream);
  if (is_16_bit(op.qkv.format())) return attention.run(op);
  launch(FlashForwardFp32{op}, stream);
}

void CudaDevice::Impl::run(const AttentionBackward& op) {
  if (op.form == AttentionForm::Cublas) return attend_by_gemms(op, gemms, stream);
  if (!is_16_bit(op.qkv.format())) return launch(FlashBackwardFp32{op}, stream);
  if (op.shape.seq == 1) return launch_one_token_backward(op, stream);
  attention.run(op);
}

void CudaDevice::Impl::run(const HeadLoss& op) {
  const std::int64_t tokens = op.hidden.shape()[0];
  if (op.dweight != nullptr && is_16_bit(op.hidden.format()) && op.chunk < tokens &&
      op.dweight_sum == nullptr) {
    throw std::logic_error("the head's gradient over several chunks is summed in fp32");
  }
  for (std::int64_t first = 0; first < tokens; first += op.chunk) {
    head_chunk(op, first, std::min(op.chunk, tokens - first));
  }
  if (op.dweight_sum != nullptr) launch(HeadGradientRounding{op}, stream);
}

void CudaDevice::Impl::head_chunk(const HeadLoss& op, std::int64_t first, std::int64_t count) {
  const std::int64_t width = op.weight.stored()[1];
  const std::int64_t vocab = op.weight.stored()[0];
  const GemmMatrix hidden = GemmMatrix::of(op.hidden, count, width, first * width);
  const GemmMatrix weight = GemmMatrix::of(op.weight, vocab, width);
  const GemmMatrix logits = GemmMatrix::of(op.logits, count, vocab);
  gemms.run({hidden, weight.transpose(), logits}, op.gemm_workspace);
  launch(HeadLossChunk{op, first, count}, stream);

  if (op.dweight != nullptr) {
    const bool summed = op.dweight_sum != nullptr;
    const GemmMatrix dweight = GemmMatrix::of(summed ? *op.dweight_sum : *op.dweight, vocab, width);
    const bool accumulate = first > 0 || (op.accumulate_dweight && !summed);
    gemms.run({logits.transpose(), hidden, dweight, accumulate ? dweight.data : nullptr},
              op.gemm_workspace);
  }
  gemms.run({logits, weight, hidden}, op.gemm_workspace);
}

}  // namespace vramfit
