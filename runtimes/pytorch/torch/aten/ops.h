#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtimes/pytorch/torch/aten/value.h"

// ATen's ops as a model's code calls them, above autograd and autocast: what each allocates, and
// what its gradient does. A file a kind of op; a row an overload.
namespace vramfit::pytorch::aten {

/// Null where it is not known.
Op find_op(std::string_view name);
std::vector<std::string_view> op_names();

std::span<const NamedOp> view_ops();
std::span<const NamedOp> elementwise_ops();
std::span<const NamedOp> reduction_ops();
std::span<const NamedOp> matrix_ops();
std::span<const NamedOp> network_ops();
std::span<const NamedOp> creation_ops();
std::span<const NamedOp> indexing_ops();

}  // namespace vramfit::pytorch::aten
