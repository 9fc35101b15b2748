#include "runtimes/pytorch/tensor/context.h"

#include "runtimes/pytorch/tensor/checkpoint.h"

namespace vramfit::pytorch {

Context::Context(Tape& tape_, const Release& release_, const Gpu& gpu)
    : tape(tape_),
      libraries(gpu.overhead.pytorch.value(), tape_),
      release(release_),
      arch(gpu.arch),
      multiprocessors(gpu.multiprocessors) {}

Context::~Context() = default;

}  // namespace vramfit::pytorch
