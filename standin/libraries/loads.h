#pragma once

#include <cstdint>

namespace vramfit::standin {

class Machine;
struct Device;
struct GraphSize;

// What a GPU's memory loses as code and handles are first used: constants of a card, a driver and a
// build of PyTorch, measured (data/gpus.json, `pytorch`).

void load_kernels(Machine& machine, Device& gpu);
/// Of kernels that may report a failed assertion: addresses alone.
void load_asserts(Device& gpu);
void load_attention(Machine& machine, Device& gpu, bool backward);
void load_streams(Machine& machine, Device& gpu);
void load_graph(Device& gpu, const GraphSize& graph);
void load_blas(Machine& machine, Device& gpu);
void load_communicator(Machine& machine, Device& gpu);
/// The first that a communicator runs.
void load_collectives(Machine& machine, Device& gpu);

}  // namespace vramfit::standin
