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

bool of_calls(const Context& context) {
  return context.release.rules.workspaces == Workspaces::OfCalls;
}

Tensor workspace_of(Context& context, std::int64_t bytes) {
  return empty(context, {bytes}, ScalarType::Byte, Category::Workspace);
}

std::int64_t workspace_bytes(const Context& context) {
  return cublas_workspace_bytes(context.arch, context.release.rules);
}

}  // namespace

void Cublas::use(Context& context) {
  if (context.elsewhere) return;  // each GPU has handles of its own
  if (of_calls(context)) {
    const Tensor workspace = workspace_of(context, workspace_bytes(context));
    context.libraries.use_blas(context.backward_thread);
    return;
  }
  Tensor& workspace = (context.backward_thread ? backward_ : main_).workspace;
  if (workspace.defined()) return;
  context.tape.need_each_layer();
  context.libraries.use_blas(context.backward_thread);
  workspace = workspace_of(context, workspace_bytes(context));
}

void Cublas::use_again(Context& context) {
  if (!of_calls(context)) use(context);
}

void Cublas::use_lt(Context& context) {
  if (context.elsewhere) return;
  if (of_calls(context)) {
    const Tensor workspace = workspace_of(context, kLtWorkspaceBytes);
    context.libraries.use_blas(context.backward_thread);
    return;
  }
  use(context);
  if (context.release.rules.workspaces == Workspaces::Shared) return;
  Tensor& workspace = (context.backward_thread ? backward_ : main_).lt_workspace;
  if (!workspace.defined()) {
    workspace = empty_once(context, kLtWorkspaceBytes);
  } else if (context.tape.in_times()) {
    context.tape.take_once(*workspace.impl()->storage->origin, Category::Workspace,
                           kLtWorkspaceBytes);
  }
}

}  // namespace vramfit::pytorch
