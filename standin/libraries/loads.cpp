#include "standin/libraries/loads.h"

#include <algorithm>

#include "standin/machine.h"

namespace vramfit::standin {
namespace {

void once(bool& done, Device& gpu, DriverCode code, std::uint64_t bytes) {
  if (done) return;
  done = true;
  gpu.memory.load(code, bytes);
}

}  // namespace

void load_kernels(Machine& machine, Device& gpu) {
  once(gpu.kernels, gpu, DriverCode::FirstKernel, machine.facts.loads.kernels);
}

void load_asserts(Device& gpu) { once(gpu.asserts, gpu, DriverCode::Asserts, 0); }

void load_attention(Machine& machine, Device& gpu, bool backward) {
  const LoadSizes& loads = machine.facts.loads;
  if (backward) {
    once(gpu.backward_attention, gpu, DriverCode::BackwardAttention, loads.backward_attention);
  } else {
    once(gpu.attention, gpu, DriverCode::Attention, loads.attention);
  }
}

void load_streams(Machine& machine, Device& gpu) {
  once(gpu.streams, gpu, DriverCode::Other, machine.facts.loads.streams);
}

void load_graph(Device& gpu, const GraphSize& graph) {
  if (const std::uint64_t more = gpu.graphs.add(graph)) gpu.memory.load(DriverCode::Other, more);
}

void load_blas(Machine& machine, Device& gpu) {
  const LoadSizes& loads = machine.facts.loads;
  if (gpu.blas_handles++ == 0) {
    gpu.memory.load(DriverCode::Blas, loads.blas);
  } else {
    gpu.memory.load(DriverCode::BlasHandle, loads.more_blas);
  }
}

/// NCCL runs a kernel as it makes one. What was measured of a process group has PyTorch's streams
/// in it, which PyTorch makes.
void load_communicator(Machine& machine, Device& gpu) {
  load_kernels(machine, gpu);
  const LoadSizes& loads = machine.facts.loads;
  const std::uint64_t first = loads.process_group - std::min(loads.streams, loads.process_group);
  gpu.memory.load(DriverCode::Other, gpu.communicators++ == 0 ? first : loads.more_communicators);
}

void load_collectives(Machine& machine, Device& gpu) {
  const LoadSizes& loads = machine.facts.loads;
  gpu.memory.load(DriverCode::Other, gpu.collectives ? loads.more_collectives : loads.collectives);
  gpu.collectives = true;
}

}  // namespace vramfit::standin
