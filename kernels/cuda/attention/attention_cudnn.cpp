#include "kernels/cuda/attention/attention_cudnn.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/base/element.h"
#include "kernels/cuda/base/error.h"
#include "model/errors.h"

namespace vramfit {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;

/// A graph's tensors by name, each with the memory it stands for.
enum Uid : std::int64_t { kQ = 1, kK, kV, kOut, kStatistics, kDout, kDq, kDk, kDv };
using Pointers = std::unordered_map<std::int64_t, void*>;

enum class Kind : std::uint8_t { Forward, ForwardWithStatistics, Backward };

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw CudaError("cuDNN: " + std::string(what) + " failed: " + cudnnGetErrorString(status));
}

void check(const fe::error_t& status, const char* what) {
  if (status.is_good()) return;
  throw CudaError("cuDNN: " + std::string(what) + " failed: " + status.err_msg);
}

std::string text(Kind kind, const AttentionShape& s, Format format) {
  return std::string(kind == Kind::Backward ? "attention backward" : "attention forward") +
         ", batch " + std::to_string(s.batch) + ", seq " + std::to_string(s.seq) + ", heads " +
         std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + ", head_dim " +
         std::to_string(s.head_dim) + ", " + format.name();
}

/// cuDNN's names of what it attends to.
template <typename T>
inline constexpr auto kDataType = fe::DataType_t::NOT_SET;
template <>
inline constexpr auto kDataType<__half> = fe::DataType_t::HALF;
template <>
inline constexpr auto kDataType<__nv_bfloat16> = fe::DataType_t::BFLOAT16;

fe::DataType_t data_type(Format format) {
  auto type = fe::DataType_t::NOT_SET;
  gpu::with_element(format, [&](auto element) { type = kDataType<decltype(element)>; });
  return type;
}

/// Writes one attention down as a graph of cuDNN's operations: the composite form, which has causal
/// masks in every version since 9.0. q, k, v and their gradients are views into the fused tensor.
class GraphBuilder {
 public:
  GraphBuilder(Graph& graph, const AttentionShape& shape, Format format)
      : graph_(graph), shape_(shape) {
    graph_.set_io_data_type(data_type(format))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void add_forward(bool statistics) {
    auto sdpa = attributes<fe::graph::SDPA_attributes>("forward");
    sdpa.set_generate_stats(statistics);
    sdpa.set_implementation(fe::AttentionImplementation_t::COMPOSITE);
    const auto [out, stats] = graph_.sdpa(q(), k(), v(), sdpa);
    output(out, kOut, shape_.heads, shape_.q_width());
    if (statistics) {
      stats->set_output(true).set_uid(kStatistics).set_data_type(fe::DataType_t::FLOAT);
    }
  }

  void add_backward() {
    const auto stats = graph_.tensor(Tensor_attributes()
                                         .set_uid(kStatistics)
                                         .set_dim({shape_.batch, shape_.heads, shape_.seq, 1})
                                         .set_stride({shape_.heads * shape_.seq, shape_.seq, 1, 1})
                                         .set_data_type(fe::DataType_t::FLOAT));
    const auto out = input(kOut, shape_.heads, shape_.q_width());
    const auto dout = input(kDout, shape_.heads, shape_.q_width());
    const auto [dq, dk, dv] =
        graph_.sdpa_backward(q(), k(), v(), out, dout, stats,
                             attributes<fe::graph::SDPA_backward_attributes>("backward"));
    output(dq, kDq, shape_.heads, shape_.qkv_width());
    output(dk, kDk, shape_.kv_heads, shape_.qkv_width());
    output(dv, kDv, shape_.kv_heads, shape_.qkv_width());
  }

 private:
  using TensorPointer = std::shared_ptr<Tensor_attributes>;
  using Dimensions = std::vector<std::int64_t>;

  /// (B, heads, T, d), in rows of `width` elements a token.
  Dimensions sizes(std::int64_t heads) const {
    return {shape_.batch, heads, shape_.seq, shape_.head_dim};
  }
  Dimensions strides(std::int64_t width) const {
    return {shape_.seq * width, shape_.head_dim, width, 1};
  }
  TensorPointer input(Uid uid, std::int64_t heads, std::int64_t width) {
    return graph_.tensor(
        Tensor_attributes().set_uid(uid).set_dim(sizes(heads)).set_stride(strides(width)));
  }
  TensorPointer q() { return input(kQ, shape_.heads, shape_.qkv_width()); }
  TensorPointer k() { return input(kK, shape_.kv_heads, shape_.qkv_width()); }
  TensorPointer v() { return input(kV, shape_.kv_heads, shape_.qkv_width()); }

  void output(const TensorPointer& tensor, Uid uid, std::int64_t heads, std::int64_t width) const {
    tensor->set_output(true).set_uid(uid).set_dim(sizes(heads)).set_stride(strides(width));
  }

  template <typename Attributes>
  Attributes attributes(const char* name) const {
    Attributes attributes;
    attributes.set_name(name);
    attributes.set_causal_mask(true);
    attributes.set_attn_scale(1.0F / std::sqrt(static_cast<float>(shape_.head_dim)));
    return attributes;
  }

  Graph& graph_;
  const AttentionShape shape_;
};

/// What plans are made for: the GPU of this machine, or one that is only described.
struct Target {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const fe::DeviceProperties> properties;
  int sm = 0;  ///< of the one that is described
};

/// A graph and the best of its plans that fits a workspace.
class Plan {
 public:
  Plan(const Target& target, Kind kind, const AttentionShape& shape, Format format,
       std::uint64_t workspace)
      : what_(text(kind, shape, format)) {
    // Before there are nodes, which copy it.
    if (target.sm != 0) graph_->set_sm_version(target.sm).set_device_properties(target.properties);
    GraphBuilder builder(*graph_, shape, format);
    if (kind == Kind::Backward) {
      builder.add_backward();
    } else {
      builder.add_forward(kind == Kind::ForwardWithStatistics);
    }
    if (const fe::error_t status = list_plans(target); status.is_bad()) {
      throw BadInput(what_ + ": cuDNN " + cudnn_version() + " has no flash kernel (" +
                     status.err_msg + "); use the form cublas");
    }
    build_first_within(workspace);
  }

  void run(cudnnHandle_t handle, Pointers pointers, void* workspace) const {
    check(graph_->execute(handle, pointers, workspace), what_.c_str());
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  fe::error_t list_plans(const Target& target) {
    fe::error_t status = graph_->validate();
    if (status.is_bad()) return status;
    status = target.handle == nullptr ? graph_->build_operation_graph()
                                      : graph_->build_operation_graph(target.handle);
    if (status.is_bad()) return status;
    return graph_->create_execution_plans({fe::HeurMode_t::A});
  }

  /// Plans come best first.
  void build_first_within(std::uint64_t workspace) {
    std::string wants;
    for (std::int64_t i = 0; i < graph_->get_execution_plan_count(); ++i) {
      const fe::error_t status = graph_->build_plan_at_index(i);
      if (status.is_bad()) {
        wants += ", plan " + std::to_string(i) + " fails: " + status.err_msg;
        continue;
      }
      bytes_ = static_cast<std::uint64_t>(graph_->get_workspace_size_plan_at_index(i));
      if (bytes_ <= workspace) return;
      wants += ", plan " + std::to_string(i) + " wants " + std::to_string(bytes_) + " bytes";
    }
    throw CudaError("cuDNN " + cudnn_version() + ": " + what_ + ": given " +
                    std::to_string(workspace) + " bytes of workspace" + wants);
  }

  std::string what_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::uint64_t bytes_ = 0;
};

struct Key {
  Kind kind;
  AttentionShape shape;
  Format format;
  std::uint64_t workspace;

  friend auto operator<=>(const Key&, const Key&) = default;
};

/// Where q, k and v start in a (B, T, a + 2k, d) tensor.
struct QkvPointers {
  void* q;
  void* k;
  void* v;

  QkvPointers(const Tensor& fused, const AttentionShape& s) : q(fused.data()) {
    auto* bytes = fused.as<std::byte>();
    k = bytes + fused.format().bytes(s.q_width());
    v = bytes + fused.format().bytes(s.q_width() + s.kv_width());
  }
};

Target described(const std::string& json) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize(std::vector<std::uint8_t>(json.begin(), json.end())),
        "reading the device's properties");
  const int version = nlohmann::json::parse(json).at("deviceVer");  // 900 is sm_90
  return {nullptr, properties, version / 10};
}

/// Owns a handle.
class Handle {
 public:
  Handle() { check(cudnnCreate(&handle_), "cudnnCreate"); }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

struct CudnnAttention::Impl {
  Handle handle;
  std::map<Key, Plan> plans;

  void run(Kind kind, const AttentionShape& shape, Format format, const Tensor& workspace,
           Pointers pointers) {
    const Key key{kind, shape, format, workspace.bytes()};
    const Target target = {handle.get(), nullptr, 0};
    const auto plan = plans.try_emplace(key, target, kind, shape, format, workspace.bytes()).first;
    plan->second.run(handle.get(), std::move(pointers), workspace.data());
  }
};

CudnnAttention::CudnnAttention(void* stream) : impl_(std::make_unique<Impl>()) {
  check(cudnnSetStream(impl_->handle.get(), static_cast<cudaStream_t>(stream)), "cudnnSetStream");
}

CudnnAttention::~CudnnAttention() = default;

void CudnnAttention::run(const AttentionForward& op) {
  const bool statistics = op.log_sum_exp != nullptr;
  const QkvPointers qkv(op.qkv, op.shape);
  Pointers pointers = {{kQ, qkv.q}, {kK, qkv.k}, {kV, qkv.v}, {kOut, op.out.data()}};
  if (statistics) pointers.emplace(kStatistics, op.log_sum_exp->data());
  impl_->run(statistics ? Kind::ForwardWithStatistics : Kind::Forward, op.shape, op.qkv.format(),
             op.workspace, std::move(pointers));
}

void CudnnAttention::run(const AttentionBackward& op) {
  const QkvPointers qkv(op.qkv, op.shape);
  const QkvPointers dqkv(op.dqkv, op.shape);
  impl_->run(Kind::Backward, op.shape, op.qkv.format(), op.workspace,
             {{kQ, qkv.q},
              {kK, qkv.k},
              {kV, qkv.v},
              {kOut, op.out.data()},
              {kStatistics, op.log_sum_exp->data()},
              {kDout, op.dout.data()},
              {kDq, dqkv.q},
              {kDk, dqkv.k},
              {kDv, dqkv.v}});
}

std::string cudnn_version() {
  const std::size_t version = cudnnGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

CudnnWorkspace cudnn_workspace(const AttentionShape& shape, Format format,
                               const std::string& device_properties) {
  constexpr std::uint64_t kAny = std::uint64_t{1} << 60;
  const auto bytes = [&](const Target& target, Kind kind) {
    return Plan(target, kind, shape, format, kAny).bytes();
  };
  const auto all = [&](const Target& target) {
    return CudnnWorkspace{
        std::max(bytes(target, Kind::Forward), bytes(target, Kind::ForwardWithStatistics)),
        bytes(target, Kind::Backward)};
  };
  if (!device_properties.empty()) return all(described(device_properties));
  const Handle handle;
  return all({handle.get(), nullptr, 0});
}

std::string cudnn_device_properties() {
  const Handle handle;
  fe::DeviceProperties properties;
  check(properties.set_handle(handle.get()).build(), "reading the device's properties");
  std::vector<std::uint8_t> json;
  check(properties.serialize(json), "writing the device's properties");
  return {json.begin(), json.end()};
}

}  // namespace vramfit
