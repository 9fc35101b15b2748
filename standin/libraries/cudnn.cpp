#include <array>
#include <cstdio>
#include <cstring>
#include <span>

#include "model/ops/cudnn_attention.h"
#include "standin/calls/unanswered.h"
#include "standin/kernels/kernels.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// cuDNN's graph interface, as attention meets it: one engine, whose workspace is that of
// model/ops/cudnn_attention.h, and beside which the frontend places dQ in fp32 and sums of rows.
namespace vramfit::standin {
namespace {

constexpr const char* kSoname = "libcudnn.so.9";
constexpr int kVersion = 91900;
constexpr Result kNotSupportedByCudnn = 3000;

// Kinds of descriptors that we tell apart.
constexpr int kPlan = 5;
constexpr int kGraph = 15;
constexpr int kTensor = 17;
constexpr int kMatmul = 19;
constexpr int kBackwardAttention = 43;

// Attributes.
constexpr int kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kPlanWorkspace = 402;
constexpr int kGraphOps = 801;
constexpr int kDimensions = 902;
constexpr int kMatmulLeft = 1520;
constexpr int kMatmulRight = 1521;
constexpr int kAttentionQ = 2800;
constexpr int kAttentionK = 2801;
constexpr int kBackwardAttentionQ = 2851;
constexpr int kBackwardAttentionK = 2852;

// Types of attributes.
constexpr int kBoolean = 2;
constexpr int kInt64 = 3;
constexpr int kInt32 = 23;
constexpr int kDescriptor = 15;

struct Descriptor {
  int kind;
  std::array<std::int64_t, 4> sizes{};  ///< of a tensor: batch, heads, rows, columns
  const Descriptor* first = nullptr;    ///< of a product, or of an attention: Q and K
  const Descriptor* second = nullptr;
  CudnnAttention attention{};  ///< of a graph, and of a plan made of it
  bool has_attention = false;
  bool backward = false;
};

/// Of the graph that this thread finalized last, whose plan is next.
Descriptor& latest_graph() {
  thread_local Descriptor graph{kGraph};
  return graph;
}

Result cudnn_create(void** handle) {
  *handle = static_cast<void*>(new void*(nullptr));
  return kSuccess;
}
Result cudnn_set_stream(void** handle, void* stream) {
  *handle = stream;
  return kSuccess;
}
Result cudnn_get_stream(void** handle, void** stream) {
  *stream = *handle;
  return kSuccess;
}
std::size_t cudnn_get_version() { return kVersion; }
std::size_t cudnn_get_cudart_version() { return 13000; }
/// Major, minor, patch.
Result cudnn_get_property(int which, int* value) {
  *value = which == 0 ? kVersion / 10000 : which == 1 ? kVersion / 100 % 100 : kVersion % 100;
  return kSuccess;
}
const char* cudnn_get_error_string(Result) { return "cuDNN, stood in for by vramfit"; }
void cudnn_get_last_error_string(char* text, std::size_t bytes) {
  if (bytes > 0) *text = '\0';
}

Result create_descriptor(int kind, void** descriptor) {
  *descriptor = new Descriptor{kind};
  return kSuccess;
}
Result destroy_descriptor(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return kSuccess;
}
/// Attention is one op, or many of which two multiply matrices, and of backward five; the first
/// multiplies Q with keys, transposed.
void read_graph(Descriptor& graph, std::span<const Descriptor* const> ops) {
  int products = 0;
  for (const Descriptor* op : ops) {
    if (!op->first || !op->second || (op->kind == kMatmul && ++products > 1)) continue;
    const auto& q = op->first->sizes;
    const auto& k = op->second->sizes;
    graph.attention = {q[0], q[1], k[1], q[2], k[op->kind == kMatmul ? 3 : 2], q[3], 2};
    graph.has_attention = true;
    graph.backward = op->kind == kBackwardAttention;
  }
  graph.backward = graph.backward || products > 2;
}

Result set_attribute(void* descriptor, int attribute, int type, std::int64_t count,
                     const void* elements) {
  auto& to = *static_cast<Descriptor*>(descriptor);
  if (to.kind == kTensor && attribute == kDimensions && count == 4) {
    std::memcpy(to.sizes.data(), elements, sizeof to.sizes);
  }
  if (type != kDescriptor || count < 1) return kSuccess;
  const auto* others = static_cast<const Descriptor* const*>(elements);
  switch (attribute) {
    case kMatmulLeft:
    case kAttentionQ:
    case kBackwardAttentionQ:
      to.first = *others;
      break;
    case kMatmulRight:
    case kAttentionK:
    case kBackwardAttentionK:
      to.second = *others;
      break;
    default:
      break;
  }
  if (to.kind == kGraph && attribute == kGraphOps) {
    read_graph(to, {others, static_cast<std::size_t>(count)});
  }
  return kSuccess;
}
Result finalize(void* descriptor) {
  auto& made = *static_cast<Descriptor*>(descriptor);
  if (made.kind == kGraph) latest_graph() = made;
  if (made.kind == kPlan) {
    made.attention = latest_graph().attention;
    made.has_attention = latest_graph().has_attention;
    made.backward = latest_graph().backward;
  }
  return kSuccess;
}

/// Of convolutions, for one, no rule of ours tells it.
std::int64_t workspace(const Descriptor& plan) {
  if (!plan.has_attention) return 0;
  const Locked machine;
  return static_cast<std::int64_t>(
      plan.backward
          ? cudnn_backward_engine_workspace(plan.attention)
          : cudnn_forward_workspace(plan.attention, machine->facts.attribute(kMultiprocessors)));
}
/// One engine, without knobs and notes.
Result get_attribute(void* descriptor, int attribute, int type, std::int64_t wanted,
                     std::int64_t* count, void* elements) {
  const bool one = attribute == kHeuristicResults || attribute == kConfigEngine;
  std::int64_t found = one ? 1 : 0;
  if (!one && elements && wanted > 0) {
    const std::size_t bytes = type == kInt64 ? 8 : type == kInt32 ? 4 : type == kBoolean ? 1 : 0;
    std::memset(elements, 0, bytes);
    if (attribute == kPlanWorkspace) {
      const std::int64_t asked = workspace(*static_cast<Descriptor*>(descriptor));
      std::memcpy(elements, &asked, sizeof asked);
    }
    found = bytes > 0 ? 1 : 0;
  } else if (attribute == kPlanWorkspace) {
    found = 1;
  }
  if (count) *count = found;
  return kSuccess;
}
Result execute(void** handle, const Descriptor* plan, void* /*variant*/) {
  const Locked machine;
  if (plan->has_attention) {
    load_attention(*machine, machine->active(), plan->backward);
    kernels().count(plan->backward ? "cudnn attention, backward" : "cudnn attention, forward");
  } else {
    count_unknown(kSoname, "cudnnBackendExecute but for attention", __builtin_return_address(0),
                  true);
  }
  machine->streams.work(machine->streams.of(*handle));
  return kSuccess;
}

/// What no rule of ours tells, a program is told not to be there.
Result not_supported() { return kNotSupportedByCudnn; }
Result refuse_recurrent() {
  if (count_unknown(kSoname, "cudnnRNNForward", __builtin_return_address(0))) {
    std::fputs(
        "vramfit: cuDNN's RNNs are not stood in for: torch.backends.cudnn.enabled = False "
        "runs PyTorch's own\n",
        stderr);
  }
  return kNotSupportedByCudnn;
}

}  // namespace

std::span<const Answer> cudnn_answers() {
  static const Answer answers[] = {
      answer("cudnnCreate", cudnn_create),
      answer("cudnnSetStream", cudnn_set_stream),
      answer("cudnnGetStream", cudnn_get_stream),
      answer("cudnnGetVersion", cudnn_get_version),
      answer("cudnnGetCudartVersion", cudnn_get_cudart_version),
      answer("cudnnGetProperty", cudnn_get_property),
      answer("cudnnGetErrorString", cudnn_get_error_string),
      answer("cudnnGetLastErrorString", cudnn_get_last_error_string),
      answer("cudnnBackendCreateDescriptor", create_descriptor),
      answer("cudnnBackendDestroyDescriptor", destroy_descriptor),
      answer("cudnnBackendSetAttribute", set_attribute),
      answer("cudnnBackendFinalize", finalize),
      answer("cudnnBackendGetAttribute", get_attribute),
      answer("cudnnBackendExecute", execute),
      answer("cudnnCreateTensorDescriptor", give_handle),
      answer("cudnnCreateFilterDescriptor", give_handle),
      answer("cudnnCreateConvolutionDescriptor", give_handle),
      answer("cudnnCreateDropoutDescriptor", give_handle),
      answer("cudnnCreateActivationDescriptor", give_handle),
      answer("cudnnCreatePoolingDescriptor", give_handle),
      answer("cudnnCreateRNNDescriptor", give_handle),
      answer("cudnnCreateRNNDataDescriptor", give_handle),
      answer("cudnnCreateCTCLossDescriptor", give_handle),
      answer("cudnnCreateSpatialTransformerDescriptor", give_handle),
      answer("cudnnGetRNNWeightSpaceSize", refuse_recurrent),
      answer("cudnnGetRNNTempSpaceSizes", refuse_recurrent),
      answer("cudnnGetConvolutionForwardAlgorithm_v7", not_supported),
      answer("cudnnGetConvolutionBackwardDataAlgorithm_v7", not_supported),
      answer("cudnnGetConvolutionBackwardFilterAlgorithm_v7", not_supported),
      answer("cudnnFindConvolutionForwardAlgorithmEx", not_supported),
  };
  return answers;
}

std::span<const std::string_view> cudnn_silent() {
  static constexpr std::string_view kNames[] = {
      "cudnnBatchNormalizationBackward",
      "cudnnBatchNormalizationBackwardEx",
      "cudnnBatchNormalizationForwardInference",
      "cudnnBatchNormalizationForwardTraining",
      "cudnnBatchNormalizationForwardTrainingEx",
      "cudnnCTCLoss",
      "cudnnCTCLoss_v8",
      "cudnnDestroy",
      "cudnnDestroyActivationDescriptor",
      "cudnnDestroyCTCLossDescriptor",
      "cudnnDestroyConvolutionDescriptor",
      "cudnnDestroyDropoutDescriptor",
      "cudnnDestroyFilterDescriptor",
      "cudnnDestroyRNNDataDescriptor",
      "cudnnDestroyRNNDescriptor",
      "cudnnDestroySpatialTransformerDescriptor",
      "cudnnDestroyTensorDescriptor",
      "cudnnSetActivationDescriptor",
      "cudnnSetCTCLossDescriptorEx",
      "cudnnSetCTCLossDescriptor_v8",
      "cudnnSetCTCLossDescriptor_v9",
      "cudnnSetConvolutionGroupCount",
      "cudnnSetConvolutionMathType",
      "cudnnSetConvolutionNdDescriptor",
      "cudnnSetDropoutDescriptor",
      "cudnnSetFilterNdDescriptor",
      "cudnnSetRNNDescriptor_v8",
      "cudnnSetSpatialTransformerNdDescriptor",
      "cudnnSetTensorNdDescriptor",
      "cudnnSpatialTfGridGeneratorBackward",
      "cudnnSpatialTfGridGeneratorForward",
      "cudnnSpatialTfSamplerBackward",
      "cudnnSpatialTfSamplerForward",
  };
  return kNames;
}

}  // namespace vramfit::standin
