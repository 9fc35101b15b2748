#include "runtimes/llamacpp/ggml/backend.h"

#include "runtimes/llamacpp/ggml/cuda_facts.h"
#include "runtimes/llamacpp/ggml/flash_attention.h"

namespace vramfit::llamacpp::ggml {
namespace {

bool float_or_half(Type type) { return type.kind == Kind::F32 || type.kind == Kind::F16; }

// The cases of GGML_OP_GET_ROWS: the kernel of two formats reads 256 elements at once.
bool gets_rows_of(const Tensor& source) {
  switch (source.type.kind) {
    case Kind::NVFP4:
    case Kind::TQ:
    case Kind::I64:
      return false;
    case Kind::IQ4NL:
    case Kind::MXFP4:
      return source.ne[0] % 256 == 0;
    default:
      return true;
  }
}

bool sets_rows(const Tensor& op) {
  switch (op.type.kind) {
    case Kind::I32:
    case Kind::I64:
    case Kind::MXFP4:
    case Kind::NVFP4:
    case Kind::TQ:
    case Kind::Quantised:
      return false;
    default:
      return op.sources[0]->type == kF32 || (op.type == kF16 && op.sources[0]->type == kF16);
  }
}

bool sums(const Tensor& op) {
  const Type a = op.sources[0]->type;
  const Type b = op.sources[1]->type;
  return float_or_half(a) && float_or_half(b) && float_or_half(op.type);
}

// ggml_backend_cuda_device_supports_op, of the ops that graphs here are made of.
bool cuda_supports(const Backend& backend, const Tensor& op) {
  switch (op.op) {
    case Op::Unary:
      return contiguous(*op.sources[0]);
    case Op::Glu:
      return contiguous(*op.sources[0], 1);
    case Op::MulMat:
    case Op::MulMatId: {
      const Tensor& a = *op.sources[0];
      const Tensor& b = *op.sources[1];
      return a.nb[0] == a.type.bytes && b.nb[0] == b.type.bytes && a.type.kind != Kind::TQ &&
             (b.type != kF16 || a.type == kF16);
    }
    case Op::GetRows:
      return gets_rows_of(*op.sources[0]);
    case Op::SetRows:
      return sets_rows(op);
    case Op::Norm:
    case Op::RmsNorm:
    case Op::SumRows:
      return contiguous_rows(*op.sources[0]);
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
      return sums(op);
    case Op::Rope:
      return op.sources[0]->nb[0] == op.sources[0]->type.bytes && contiguous(*op.sources[0], 2);
    case Op::SsmConv:
      return op.sources[0]->ne[1] % 128 == 0;
    case Op::FlashAttention:
      return flash_attention_kernel(backend.compute_capability, op) != AttentionKernel::None;
    default:
      return true;
  }
}

// get_op_batch_size of ggml-cuda.cu.
std::int64_t batch_size(const Tensor& op) {
  switch (op.op) {
    case Op::GetRows:
      return 0;
    case Op::MulMat:
      return op.ne[1];
    case Op::MulMatId:
    case Op::Rope:
      return op.ne[2];
    default:
      return op.rows();
  }
}

constexpr std::int64_t kOffloadMinBatch = 32;  // GGML_OP_OFFLOAD_MIN_BATCH's default

}  // namespace

bool supports_op(const Backends& backends, BackendId id, const Tensor& op) {
  const Backend& backend = backends[static_cast<std::size_t>(id)];
  if (!backend.cuda) return true;
  for (const Tensor* source : op.used_sources()) {
    if (source == nullptr || source->buffer == kNoBackend) continue;
    if (source->buffer != id && source->buffer != cpu_of(backends)) return false;
  }
  return cuda_supports(backend, op);
}

bool offloads(const Tensor& op) { return batch_size(op) >= kOffloadMinBatch; }

std::uint64_t alignment(const Backend& backend) { return backend.cuda ? 128 : 32; }

// ggml_backend_cuda_buffer_type_get_alloc_size; the CPU has none of its own.
std::uint64_t alloc_size(const Backend& backend, const Tensor& tensor) {
  if (!backend.cuda) return bytes(tensor);
  std::uint64_t size = bytes(tensor);
  if (tensor.op == Op::FlashAttention) {
    size = flash_attention_alloc_size(backend.compute_capability, tensor);
  }
  const std::int64_t rest = tensor.ne[0] % kRowPadding;
  if (tensor.type.quantised() && rest != 0) size += tensor.type.row_size(kRowPadding - rest);
  return size;
}

}  // namespace vramfit::llamacpp::ggml
