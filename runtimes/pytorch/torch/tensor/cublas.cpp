#include "runtimes/pytorch/torch/tensor/cublas.h"

#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/cublas_workspace.h"

namespace vramfit::pytorch {
namespace {

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
      empty(context, {cublas_workspace_bytes(context.arch)}, ScalarType::Byte, Category::Workspace);
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
