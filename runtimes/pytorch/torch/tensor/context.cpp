#include "runtimes/pytorch/torch/tensor/context.h"

#include "runtimes/pytorch/torch/tensor/checkpoint.h"

namespace vramfit::pytorch {

Context::Context(Tape& tape_, const Release& release_, const Gpu& gpu, std::uint64_t capacity_)
    : tape(tape_),
      libraries(library_sizes(gpu.overhead, release_.name), tape_),
      release(release_),
      arch(gpu.arch),
      multiprocessors(gpu.multiprocessors),
      capacity(capacity_) {}

Context::Context(Tape& tape_, const Release& release_)
    : tape(tape_), libraries({}, tape_), release(release_), meta(true) {}

Context::~Context() = default;

}  // namespace vramfit::pytorch
