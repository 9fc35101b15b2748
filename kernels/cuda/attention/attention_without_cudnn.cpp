#include "kernels/cuda/attention/attention_cudnn.h"
#include "model/errors.h"

// Replaces attention_cudnn.cpp in builds without cuDNN.

namespace vramfit {
namespace {

[[noreturn]] void refuse() {
  throw BadInput("attention: flash in 16 bits needs cuDNN, which this was built without; cublas");
}

}  // namespace

struct CudnnAttention::Impl {};

CudnnAttention::CudnnAttention(void*) {}
CudnnAttention::~CudnnAttention() = default;
void CudnnAttention::run(const AttentionForward&) { refuse(); }
void CudnnAttention::run(const AttentionBackward&) { refuse(); }

std::string cudnn_version() { return "none"; }
CudnnWorkspace cudnn_workspace(const AttentionShape&, Format, const std::string&) { refuse(); }
std::string cudnn_device_properties() { refuse(); }

}  // namespace vramfit
