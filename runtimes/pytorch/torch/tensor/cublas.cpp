#include "runtimes/pytorch/torch/tensor/cublas.h"

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

/// aten/src/ATen/cuda/CublasHandlePool.cpp (parseChosenWorkspaceSize), PyTorch 2.11: ":4096:8" on
/// Hopper, ":4096:2:16:8" elsewhere, on Blackwell too.
std::int64_t workspace_bytes(Arch arch) {
  return arch.sm == 90 ? std::int64_t{4096} * 8 * 1024
                       : std::int64_t{4096} * 2 * 1024 + 16 * 8 * 1024;
}

constexpr std::int64_t kLtWorkspaceBytes = 1 << 20;

/// What the first layer makes that comes to it, which need not be the first that is walked.
Tensor empty_once(Context& context, std::int64_t bytes) {
  if (!context.tape.in_times())
    return empty(context, {bytes}, ScalarType::Byte, Category::Workspace);
  Tensor made = empty_meta(context, {bytes}, ScalarType::Byte);
  Storage& storage = *made.impl()->storage;
  storage.category = Category::Workspace;
  storage.bytes = static_cast<std::uint64_t>(bytes);
  storage.origin = context.tape.allocate_once(storage.category, storage.bytes);
  return made;
}

}  // namespace

void Cublas::use(Context& context) {
  if (context.elsewhere) return;  // each GPU has handles of its own
  Tensor& workspace = (context.backward_thread ? backward_ : main_).workspace;
  if (workspace.defined()) return;
  context.tape.need_each_layer();
  context.libraries.use_blas(context.backward_thread);
  workspace =
      empty(context, {workspace_bytes(context.arch)}, ScalarType::Byte, Category::Workspace);
}

void Cublas::use_lt(Context& context) {
  if (context.elsewhere) return;
  use(context);
  Tensor& workspace = (context.backward_thread ? backward_ : main_).lt_workspace;
  if (!workspace.defined()) {
    workspace = empty_once(context, kLtWorkspaceBytes);
  } else if (context.tape.in_times()) {
    context.tape.take_once(*workspace.impl()->storage->origin, Category::Workspace,
                           kLtWorkspaceBytes);
  }
}

}  // namespace vramfit::pytorch
