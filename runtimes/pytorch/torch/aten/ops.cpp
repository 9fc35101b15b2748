#include "runtimes/pytorch/torch/aten/ops.h"

#include <algorithm>
#include <unordered_map>

namespace vramfit::pytorch::aten {

namespace {

const std::unordered_map<std::string_view, Op>& all_ops() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> all;
    for (const auto ops : {view_ops(), elementwise_ops(), reduction_ops(), matrix_ops(),
                           network_ops(), creation_ops(), indexing_ops()}) {
      for (const NamedOp& op : ops) all.emplace(op.name, op.run);
    }
    return all;
  }();
  return table;
}

}  // namespace

Op find_op(std::string_view name) {
  const auto found = all_ops().find(name);
  return found == all_ops().end() ? nullptr : found->second;
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, op] : all_ops()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace vramfit::pytorch::aten
