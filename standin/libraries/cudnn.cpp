#include <algorithm>
#include <cstring>
#include <vector>

#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// cuDNN's graph interface, as attention meets it: one engine, which needs no workspace beyond what
// the frontend places itself (sums of softmax, dQ in fp32, gradients of shared heads). cuDNN 9.19
// of an H200 was seen to ask for no more: runtimes/pytorch/ops/attention_kernels.cpp.
namespace vramfit::standin {
namespace {

constexpr int kVersion = 91900;
constexpr std::int64_t kWorkspace = 256;
constexpr Result kNotSupportedByCudnn = 3000;

/// Kinds of descriptors that we tell apart.
enum Kind : int { kPlan = 5, kGraph = 15, kMatmul = 19, kBackwardAttention = 43 };
/// Attributes.
enum : int { kPlanWorkspace = 402, kHeuristicResults = 202, kConfigEngine = 300, kGraphOps = 801 };
/// Types of attributes.
enum : int { kBoolean = 2, kInt64 = 3, kInt32 = 23, kDescriptor = 15 };

struct Descriptor {
  int kind;
  bool backward = false;  ///< of a graph, and of a plan made of it
};

bool& graph_is_backward() {
  thread_local bool backward = false;
  return backward;
}

Result cudnn_create(void** handle) {
  *handle = new void*(nullptr);
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
/// Attention forward multiplies two pairs of matrices, backward five.
Result set_attribute(void* descriptor, int attribute, int type, std::int64_t count,
                     const void* elements) {
  auto& to = *static_cast<Descriptor*>(descriptor);
  if (to.kind != kGraph || attribute != kGraphOps || type != kDescriptor) return kSuccess;
  const auto* first = static_cast<const Descriptor* const*>(elements);
  const auto products =
      std::count_if(first, first + count, [](const Descriptor* op) { return op->kind == kMatmul; });
  to.backward = products > 2 || std::any_of(first, first + count, [](const Descriptor* op) {
                  return op->kind == kBackwardAttention;
                });
  return kSuccess;
}
Result finalize(void* descriptor) {
  auto& made = *static_cast<Descriptor*>(descriptor);
  if (made.kind == kGraph) graph_is_backward() = made.backward;
  if (made.kind == kPlan) made.backward = graph_is_backward();
  return kSuccess;
}
/// One engine, without knobs and notes.
Result get_attribute(void* /*descriptor*/, int attribute, int type, std::int64_t wanted,
                     std::int64_t* count, void* elements) {
  const bool one = attribute == kHeuristicResults || attribute == kConfigEngine;
  std::int64_t found = one ? 1 : 0;
  if (!one && elements && wanted > 0) {
    const std::size_t bytes = type == kInt64 ? 8 : type == kInt32 ? 4 : type == kBoolean ? 1 : 0;
    std::memset(elements, 0, bytes);
    if (attribute == kPlanWorkspace) std::memcpy(elements, &kWorkspace, sizeof kWorkspace);
    found = bytes > 0 ? 1 : 0;
  } else if (attribute == kPlanWorkspace) {
    found = 1;
  }
  if (count) *count = found;
  return kSuccess;
}
Result execute(void** handle, void* plan, void* /*variant*/) {
  const Locked machine;
  load_attention(*machine, machine->active(), static_cast<Descriptor*>(plan)->backward);
  machine->streams.work(machine->streams.of(*handle));
  return kSuccess;
}

/// Descriptors of the older interface, and sizes that are asked for by address.
Result give_handle(void** handle) {
  *handle = new char[8];
  return kSuccess;
}
/// What no rule of ours tells, a program is told not to be there.
Result not_supported() { return kNotSupportedByCudnn; }

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
      answer("cudnnGetRNNWeightSpaceSize", not_supported),
      answer("cudnnGetRNNTempSpaceSizes", not_supported),
      answer("cudnnGetConvolutionForwardAlgorithm_v7", not_supported),
      answer("cudnnGetConvolutionBackwardDataAlgorithm_v7", not_supported),
      answer("cudnnGetConvolutionBackwardFilterAlgorithm_v7", not_supported),
      answer("cudnnFindConvolutionForwardAlgorithmEx", not_supported),
  };
  return answers;
}

std::span<const std::string_view> cudnn_silent() {
  static constexpr std::string_view kNames[] = {
      "cudnnDestroy",
      "cudnnDestroyConvolutionDescriptor",
      "cudnnDestroyDropoutDescriptor",
      "cudnnDestroyFilterDescriptor",
      "cudnnDestroyTensorDescriptor",
      "cudnnSetConvolutionGroupCount",
      "cudnnSetConvolutionMathType",
      "cudnnSetConvolutionNdDescriptor",
      "cudnnSetFilterNdDescriptor",
      "cudnnSetTensorNdDescriptor",
  };
  return kNames;
}

}  // namespace vramfit::standin
