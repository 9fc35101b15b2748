#include "standin/libraries/loads.h"

#include "standin/machine.h"

namespace vramfit::standin {
namespace {

void once(bool& done, Device& gpu, std::uint64_t bytes) {
  if (done) return;
  done = true;
  gpu.memory.load(bytes);
}

}  // namespace

void load_kernels(Machine& machine, Device& gpu) {
  once(gpu.kernels, gpu, machine.facts.loads.kernels);
}

void load_attention(Machine& machine, Device& gpu, bool backward) {
  const LoadSizes& loads = machine.facts.loads;
  if (backward) {
    once(gpu.backward_attention, gpu, loads.backward_attention);
  } else {
    once(gpu.attention, gpu, loads.attention);
  }
}

void load_blas(Machine& machine, Device& gpu) {
  const LoadSizes& loads = machine.facts.loads;
  gpu.memory.load(gpu.blas_handles++ == 0 ? loads.blas : loads.more_blas);
}

void load_communicator(Machine& machine, Device& gpu) {
  if (gpu.communicators++ == 0) gpu.memory.load(machine.facts.loads.process_group);
}

void load_collectives(Machine& machine, Device& gpu) {
  once(gpu.collectives, gpu, machine.facts.loads.collectives);
}

}  // namespace vramfit::standin
