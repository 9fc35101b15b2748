#include "standin/libraries/cudnn.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <span>

#include "model/ops/cudnn_attention.h"
#include "standin/calls/unanswered.h"
#include "standin/kernels/kernels.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/cudnn_convolution.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// cuDNN's graph interface, as attention and convolutions meet it: one engine, whose workspace is
// that of model/ops/cudnn_attention.h, beside which the frontend places dQ in fp32 and sums of
// rows, or of cudnn_convolution.h. Heuristics' fallback for a convolution, which PyTorch tries
// where memory runs out, works in nothing.
namespace vramfit::standin {
namespace {

constexpr const char* kSoname = "libcudnn.so.9";
constexpr Result kNotSupportedByCudnn = 3000;

// Kinds of descriptors that we tell apart.
constexpr int kHeuristics = 4;
constexpr int kPlan = 5;
constexpr int kForwardConvolution = 10;
constexpr int kBackwardWeightConvolution = 11;
constexpr int kBackwardInputConvolution = 12;
constexpr int kGraph = 15;
constexpr int kTensor = 17;
constexpr int kMatmul = 19;
constexpr int kBackwardAttention = 43;

// Attributes.
constexpr int kHeuristicMode = 200;
constexpr int kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kPlanConfig = 401;
constexpr int kPlanWorkspace = 402;
constexpr int kForwardW = 703;
constexpr int kForwardX = 704;
constexpr int kForwardY = 705;
constexpr int kBackwardInputW = 709;
constexpr int kBackwardInputX = 710;
constexpr int kBackwardInputY = 711;
constexpr int kBackwardWeightW = 715;
constexpr int kBackwardWeightX = 716;
constexpr int kBackwardWeightY = 717;
constexpr int kGraphOps = 801;
constexpr int kElementType = 901;
constexpr int kDimensions = 902;
constexpr int kStrides = 903;
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

constexpr int kModeFallback = 2;

/// A graph's, and a plan's that is made of it.
struct Work {
  enum class Kind { Unknown, Attention, Convolution };
  Kind kind = Kind::Unknown;
  CudnnAttention attention{};
  bool backward = false;
  std::array<CudnnTensor, 3> convolved{};
};

struct Descriptor {
  int kind;
  CudnnTensor tensor{};  ///< of attention: batch, heads, rows, columns
  /// Of a product, or of an attention: Q and K; of a convolution: x, w and y.
  std::array<const Descriptor*, 3> tensors{};
  Work work{};
  bool fallback = false;  ///< of heuristics, of what they choose, and of its plan
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
std::atomic<std::size_t> cudnn_version = 91900;

std::size_t cudnn_get_version() { return cudnn_version; }
std::size_t cudnn_get_cudart_version() { return 13000; }
/// Major, minor, patch.
Result cudnn_get_property(int which, int* value) {
  const auto version = static_cast<int>(cudnn_version);
  *value = which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
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
bool is_convolution(int kind) {
  return kind == kForwardConvolution || kind == kBackwardWeightConvolution ||
         kind == kBackwardInputConvolution;
}
/// Attention is one op, or many of which two multiply matrices, and of backward five; the first
/// multiplies Q with keys, transposed. A convolution is one op.
Work read_graph(std::span<const Descriptor* const> ops) {
  Work work;
  int products = 0;
  for (const Descriptor* op : ops) {
    const auto& [first, second, third] = op->tensors;
    if (!first || !second || (op->kind == kMatmul && ++products > 1)) continue;
    if (is_convolution(op->kind)) {
      if (!third) continue;
      work.kind = Work::Kind::Convolution;
      work.convolved = {first->tensor, second->tensor, third->tensor};
      continue;
    }
    const auto& q = first->tensor.sizes;
    const auto& k = second->tensor.sizes;
    work.kind = Work::Kind::Attention;
    work.attention = {q[0], q[1], k[1], q[2], k[op->kind == kMatmul ? 3 : 2], q[3], 2};
    work.backward = op->kind == kBackwardAttention;
  }
  work.backward = work.backward || products > 2;
  return work;
}

/// Sizes or strides.
void set_numbers(CudnnTensor& tensor, std::array<std::int64_t, CudnnTensor::kMostSizes>& numbers,
                 std::int64_t count, const void* elements) {
  tensor.rank = static_cast<int>(std::min<std::int64_t>(count, CudnnTensor::kMostSizes));
  std::memcpy(numbers.data(), elements, static_cast<std::size_t>(tensor.rank) * sizeof numbers[0]);
}
int number(const void* elements) {
  int found = 0;
  std::memcpy(&found, elements, sizeof found);
  return found;
}

Result set_attribute(void* descriptor, int attribute, int type, std::int64_t count,
                     const void* elements) {
  auto& to = *static_cast<Descriptor*>(descriptor);
  if (count < 1) return kSuccess;
  if (to.kind == kTensor) {
    if (attribute == kDimensions) set_numbers(to.tensor, to.tensor.sizes, count, elements);
    if (attribute == kStrides) set_numbers(to.tensor, to.tensor.strides, count, elements);
    if (attribute == kElementType) to.tensor.type = number(elements);
  }
  if (to.kind == kHeuristics && attribute == kHeuristicMode) {
    to.fallback = number(elements) == kModeFallback;
  }
  if (type != kDescriptor) return kSuccess;
  const auto* others = static_cast<const Descriptor* const*>(elements);
  switch (attribute) {
    case kMatmulLeft:
    case kAttentionQ:
    case kBackwardAttentionQ:
    case kForwardX:
    case kBackwardInputX:
    case kBackwardWeightX:
      to.tensors[0] = *others;
      break;
    case kMatmulRight:
    case kAttentionK:
    case kBackwardAttentionK:
    case kForwardW:
    case kBackwardInputW:
    case kBackwardWeightW:
      to.tensors[1] = *others;
      break;
    case kForwardY:
    case kBackwardInputY:
    case kBackwardWeightY:
      to.tensors[2] = *others;
      break;
    case kGraphOps:
      to.work = read_graph({others, static_cast<std::size_t>(count)});
      break;
    case kPlanConfig:
      to.fallback = (*others)->fallback;
      break;
    default:
      break;
  }
  return kSuccess;
}
Result finalize(void* descriptor) {
  auto& made = *static_cast<Descriptor*>(descriptor);
  if (made.kind == kGraph) latest_graph() = made;
  if (made.kind == kPlan) made.work = latest_graph().work;
  return kSuccess;
}

std::int64_t workspace(const Descriptor& plan) {
  const Locked machine;
  switch (plan.work.kind) {
    case Work::Kind::Attention:
      return static_cast<std::int64_t>(
          plan.work.backward ? cudnn_backward_engine_workspace(plan.work.attention)
                             : cudnn_forward_workspace(plan.work.attention,
                                                       machine->facts.attribute(kMultiprocessors)));
    case Work::Kind::Convolution:
      return plan.fallback ? 0 : convolution_workspace(plan.work.convolved, machine->facts.sm());
    case Work::Kind::Unknown:
      break;
  }
  return 0;
}
/// One engine, without knobs and notes.
Result get_attribute(void* descriptor, int attribute, int type, std::int64_t wanted,
                     std::int64_t* count, void* elements) {
  const auto& from = *static_cast<const Descriptor*>(descriptor);
  const bool one = attribute == kHeuristicResults || attribute == kConfigEngine;
  std::int64_t found = one ? 1 : 0;
  if (attribute == kHeuristicResults && elements && wanted > 0) {
    (*static_cast<Descriptor* const*>(elements))->fallback = from.fallback;
  }
  if (!one && elements && wanted > 0) {
    const std::size_t bytes = type == kInt64 ? 8 : type == kInt32 ? 4 : type == kBoolean ? 1 : 0;
    std::memset(elements, 0, bytes);
    if (attribute == kPlanWorkspace) {
      const std::int64_t asked = workspace(from);
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
  switch (plan->work.kind) {
    case Work::Kind::Attention:
      load_attention(*machine, machine->active(), plan->work.backward);
      kernels().count(plan->work.backward ? "cudnn attention, backward"
                                          : "cudnn attention, forward");
      break;
    case Work::Kind::Convolution:
      kernels().count("cudnn convolution");
      break;
    case Work::Kind::Unknown:
      count_unknown(kSoname, "cudnnBackendExecute but for attention and convolutions",
                    __builtin_return_address(0), true);
      break;
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

void tell_cudnn_version(std::size_t version) { cudnn_version = version; }

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
