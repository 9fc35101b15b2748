#pragma once

namespace vramfit::standin {

class Machine;
struct Kernel;

/// PyTorch's nonzero, and with it indexing by a mask, counts in a kernel of CUB's, reads the count
/// and allocates as many rows. If the kernel is that one, counts on the host, and has the next read
/// of a number give the count, unless it was told already. A mask of which nothing is known takes
/// all rows.
///
/// aten/src/ATen/native/cuda/Nonzero.cu (NonZeroOp); cub/device/dispatch/kernels/kernel_reduce.cuh
/// (DeviceReduceKernel, DeviceReduceSingleTileKernel: input, output, number of items, …).
void count_for(Machine& machine, const Kernel& kernel, void** arguments);

}  // namespace vramfit::standin
