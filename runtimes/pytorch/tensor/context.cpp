#include "runtimes/pytorch/tensor/context.h"

#include "runtimes/pytorch/tensor/checkpoint.h"

namespace vramfit::pytorch {

Context::Context(Memory& m, Libraries& l, const Release& r, Arch a, int sm_count)
    : memory(m), libraries(l), release(r), arch(a), multiprocessors(sm_count) {}

Context::~Context() = default;

}  // namespace vramfit::pytorch
