#include "runtimes/llamacpp/ggml/flash_attention.h"

#include "runtimes/llamacpp/ggml/cuda_facts.h"

namespace vramfit::llamacpp::ggml {
namespace {

constexpr std::uint64_t kExtraAlignment = 128;

struct Sources {
  const Tensor& q;
  const Tensor& k;
  const Tensor& v;
  const Tensor* mask;
  std::int64_t heads_per_key;  // gqa_ratio

  explicit Sources(const Tensor& op)
      : q(*op.sources[0]),
        k(*op.sources[1]),
        v(*op.sources[2]),
        mask(op.sources[3]),
        heads_per_key(q.ne[2] / k.ne[2]) {}
};

// ggml_cuda_fattn_kv_type_supported.
bool reads(Type type) {
  switch (type.kind) {
    case Kind::F32:
    case Kind::F16:
    case Kind::BF16:
    case Kind::Q40:
    case Kind::Q41:
    case Kind::Q50:
    case Kind::Q51:
    case Kind::Q80:
      return true;
    default:
      return false;
  }
}

// gqa_opt_applies: heads of one key are computed together.
bool heads_together(const Sources& s) {
  if (s.heads_per_key < 2 || s.mask == nullptr || s.k.ne[1] % kKeyStride != 0) return false;
  for (const Tensor* tensor : {&s.q, &s.k, &s.v, s.mask}) {
    if (tensor->type.quantised()) continue;
    for (std::size_t i = 1; i < kMaxDims; ++i) {
      if (tensor->nb[i] % 16 != 0) return false;
    }
  }
  return true;
}

// The switch over K->ne[0].
bool has_head_size(const Sources& s, bool together) {
  switch (s.k.ne[0]) {
    case 40:
    case 64:
    case 72:
    case 80:
    case 96:
    case 112:
    case 128:
    case 256:
      return s.v.ne[0] == s.k.ne[0];
    case 192:
      return s.v.ne[0] == 128 && together && s.heads_per_key % 8 == 0;
    case 320:
      return s.v.ne[0] == 256 && together && s.heads_per_key % 32 == 0;
    case 512:
    case 576:
      return s.v.ne[0] == 512 && together;
    default:
      return false;
  }
}

AttentionKernel on_turing_and_later(int cc, const Sources& s, bool together, bool vector) {
  const std::int64_t queries = s.q.ne[1];
  if (vector) {
    if (!s.k.type.quantised() && !s.v.type.quantised()) {
      const bool long_rows = s.heads_per_key > 4 && (s.q.ne[0] >= 256 || s.k.ne[1] >= 8192);
      if (cc >= kAda && queries == 1 && s.q.ne[3] == 1 && !long_rows) {
        return AttentionKernel::Vector;
      }
    } else if (queries <= (cc >= kAda ? 2 : 1)) {
      return AttentionKernel::Vector;
    }
    if (!together && queries == 1) return AttentionKernel::Vector;
  }
  return AttentionKernel::TensorCores;
}

AttentionKernel on_volta(const Sources& s, bool vector) {
  const std::int64_t most = s.q.ne[0] == 320 ? 32 : (s.q.ne[0] == 576 || s.q.ne[0] == 192) ? 16 : 8;
  std::int64_t columns = 1;
  while (s.heads_per_key % (2 * columns) == 0 && columns < most) columns *= 2;
  columns *= s.q.ne[1];
  if (vector && columns <= 2) return AttentionKernel::Vector;
  return columns <= 16 ? AttentionKernel::Tile : AttentionKernel::TensorCores;
}

AttentionKernel without_tensor_cores(const Sources& s, bool together, bool vector) {
  if (!vector) return AttentionKernel::Tile;
  const bool plain = !s.k.type.quantised() && !s.v.type.quantised();
  const bool few = plain ? s.q.ne[1] == 1 && !together : s.q.ne[1] <= 2;
  return few ? AttentionKernel::Vector : AttentionKernel::Tile;
}

// ggml_cuda_get_fattn_vec_case, of the instances that GGML_CUDA_FA_QUANTS builds where nobody says
// otherwise. An f32 is read as f16 is.
bool vector_reads(Type k, Type v) {
  const auto as_read = [](Type type) { return type == kF32 ? Kind::F16 : type.kind; };
  const Kind kind = as_read(k);
  return kind == as_read(v) &&
         (kind == Kind::F16 || kind == Kind::BF16 || kind == Kind::Q40 || kind == Kind::Q80);
}

std::uint64_t aligned(std::uint64_t size) {
  return (size + kExtraAlignment - 1) / kExtraAlignment * kExtraAlignment;
}

}  // namespace

bool heads_together(const Tensor& op) { return heads_together(Sources(op)); }

AttentionKernel flash_attention_kernel(int compute_capability, const Tensor& op) {
  const Sources s(op);
  const bool together = heads_together(s);
  if (!has_head_size(s, together) || !reads(s.k.type) || !reads(s.v.type) ||
      (s.mask != nullptr && s.mask->ne[2] != 1)) {
    return AttentionKernel::None;
  }
  const std::int64_t size = s.q.ne[0];
  const bool vector = size <= 256 && size % 64 == 0 && size != 192 && s.k.ne[1] % kKeyStride == 0;
  if (size != 40 && size != 72) {
    if (compute_capability >= kTuring) {
      return on_turing_and_later(compute_capability, s, together, vector);
    }
    if (compute_capability >= kVolta) return on_volta(s, vector);
  }
  return without_tensor_cores(s, together, vector);
}

int same_attention_since(int compute_capability) {
  for (const int since : {kAda, kTuring, kVolta}) {
    if (compute_capability >= since) return since;
  }
  return 0;
}

std::uint64_t flash_attention_alloc_size(int compute_capability, const Tensor& op) {
  const Sources s(op);
  std::uint64_t end = bytes(op);
  const AttentionKernel kernel = flash_attention_kernel(compute_capability, op);
  if (kernel == AttentionKernel::None) return end;
  const bool all = kernel != AttentionKernel::Vector || !vector_reads(s.k.type, s.v.type);
  const auto add_copy = [&](const Tensor& of) {
    end = aligned(end) + static_cast<std::uint64_t>(of.elements()) * kF16.bytes;
  };
  if ((all || s.k.type == kF32) && s.k.type != kF16) add_copy(s.k);
  // ggml_cuda_flash_attn_ext_get_f16_extra_data: values that are a view of the keys are in their
  // copy.
  const bool within_keys =
      s.v.is_view() &&
      (s.v.view_of == &s.k || (s.v.view_of == s.k.view_of && s.v.view_offset == s.k.view_offset));
  if ((all || s.v.type == kF32) && s.v.type != kF16 && !within_keys) add_copy(s.v);
  return end;
}

}  // namespace vramfit::llamacpp::ggml
