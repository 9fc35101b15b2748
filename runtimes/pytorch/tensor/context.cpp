#include "runtimes/pytorch/tensor/context.h"

#include "runtimes/pytorch/tensor/checkpoint.h"

namespace vramfit::pytorch {

Context::Context(Memory& m, Libraries& l, Arch a, int sm_count)
    : memory(m), libraries(l), arch(a), multiprocessors(sm_count) {}

Context::~Context() = default;

}  // namespace vramfit::pytorch
