#include "runtimes/pytorch/torch/aten/ops.h"

#include <unordered_map>

namespace vramfit::pytorch::aten {

Op find_op(std::string_view name) {
  static const auto kAll = [] {
    std::unordered_map<std::string_view, Op> all;
    for (const auto ops : {view_ops(), elementwise_ops(), reduction_ops(), matrix_ops(),
                           network_ops(), creation_ops(), indexing_ops()}) {
      for (const NamedOp& op : ops) all.emplace(op.name, op.run);
    }
    return all;
  }();
  const auto found = kAll.find(name);
  return found == kAll.end() ? nullptr : found->second;
}

}  // namespace vramfit::pytorch::aten
