#include "runtimes/llamacpp/base/model.h"

#include <algorithm>

namespace vramfit::llamacpp {

const ModelTensor* Model::find(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&name](const ModelTensor& each) { return each.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace vramfit::llamacpp
