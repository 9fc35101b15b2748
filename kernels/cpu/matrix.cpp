#include "kernels/cpu/matrix.h"

namespace vramfit {

void require(const Tensor& tensor, Format format, std::int64_t elements) {
  if (tensor.format() == format && tensor.stored().elements() == elements &&
      tensor.data() != nullptr) {
    return;
  }
  std::string message = tensor.name().text() + ": an op wants " + std::to_string(elements) +
                        " elements of " + format.name() + ", the tensor has " +
                        std::to_string(tensor.stored().elements()) + " of " +
                        tensor.format().name();
  if (tensor.data() == nullptr) message += " and no memory";
  throw std::logic_error(message);
}

void require_workspace(const Tensor& workspace, std::uint64_t bytes) {
  if (workspace.bytes() >= bytes) return;
  throw std::logic_error(workspace.name().text() + ": an op needs " + std::to_string(bytes) +
                         " bytes of workspace, is given " + std::to_string(workspace.bytes()));
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace vramfit
