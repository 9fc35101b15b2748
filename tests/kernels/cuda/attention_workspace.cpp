// attention_workspace [PROPERTIES.json] < shapes
// Prints what cuDNN's attention plans want of workspace beside what the contract gives, for lines
// of "batch seq heads kv_heads head_dim". With a file: of the GPU it describes, which need not be
// there; without one and without input: the present GPU's description.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "kernels/cuda/attention/attention_cudnn.h"
#include "model/ops/workspaces.h"

namespace {

using vramfit::AttentionForm;
using vramfit::AttentionShape;
using vramfit::DType;

void print(const AttentionShape& s, DType dtype, const std::string& properties) {
  const vramfit::CudnnWorkspace wants = vramfit::cudnn_workspace(s, dtype, properties);
  const auto gives_forward = attention_forward_workspace_bytes(AttentionForm::Flash, s, dtype);
  const auto gives_backward = attention_backward_workspace_bytes(AttentionForm::Flash, s, dtype);
  std::cout << "batch " << s.batch << " seq " << s.seq << " heads " << s.heads << '/' << s.kv_heads
            << " head_dim " << s.head_dim << ' ' << name(dtype) << ": forward " << wants.forward
            << " (contract " << gives_forward << "), backward " << wants.backward << " (contract "
            << gives_backward << ")\n"
            << std::flush;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    std::string properties;
    if (count > 1) {
      std::ifstream file(arguments[1]);
      properties.assign(std::istreambuf_iterator<char>(file), {});
    }
    std::cout << "cuDNN " << vramfit::cudnn_version() << '\n';
    AttentionShape shape{};
    bool any = false;
    while (std::cin >> shape.batch >> shape.seq >> shape.heads >> shape.kv_heads >>
           shape.head_dim) {
      any = true;
      for (const DType dtype : {DType::Bf16, DType::Fp16}) print(shape, dtype, properties);
    }
    if (!any) std::cout << vramfit::cudnn_device_properties() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
