#include "runtimes/pytorch/tensor/context.h"

#include "runtimes/pytorch/tensor/checkpoint.h"

namespace vramfit::pytorch {

Context::Context(Ledger& ledger_, Libraries& libraries_, const Gpu& gpu)
    : ledger(ledger_),
      libraries(libraries_),
      arch(gpu.arch),
      multiprocessors(gpu.multiprocessors) {}

Context::~Context() = default;

}  // namespace vramfit::pytorch
