#include <algorithm>
#include <cstring>
#include <string>

#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// cudaDeviceProp and what else CUDA 12 and 13 lay out each in its own way.
namespace vramfit::standin {
namespace {

/// A field that repeats an attribute: where it lies in CUDA 13's struct and in 12's, and how wide.
struct Field {
  int attribute;
  unsigned in13;
  unsigned in12;
  unsigned bytes;
};

constexpr unsigned kBytes13 = 1008;
constexpr unsigned kBytes12 = 1032;
constexpr unsigned kUuid = 256;
constexpr unsigned kTotalMemory = 288;

constexpr Field kFields[] = {
    {kSharedPerBlock, 296, 296, 8},
    {12, 304, 304, 4},  // registers a block
    {kWarpSize, 308, 308, 4},
    {11, 312, 312, 8},  // pitch
    {kMaxThreadsPerBlock, 320, 320, 4},
    {2, 324, 324, 4},  // block's x, y, z
    {3, 328, 328, 4},
    {4, 332, 332, 4},
    {5, 336, 336, 4},  // grid's x, y, z
    {6, 340, 340, 4},
    {7, 344, 344, 4},
    {9, 352, 352, 8},  // constant memory
    {kMajor, 360, 360, 4},
    {kMinor, 364, 364, 4},
    {14, 368, 368, 8},  // texture alignment
    {51, 376, 376, 8},  // texture pitch
    {kMultiprocessors, 384, 388, 4},
    {18, 388, 396, 4},  // integrated
    {19, 392, 400, 4},  // can map host memory
    {30, 552, 568, 8},  // surface alignment
    {31, 560, 576, 4},  // concurrent kernels
    {32, 564, 580, 4},  // ECC
    {kPciBus, 568, 584, 4},
    {kPciDevice, 572, 588, 4},
    {kPciDomain, 576, 592, 4},
    {40, 584, 600, 4},   // copy engines
    {41, 588, 604, 4},   // unified addressing
    {37, 592, 612, 4},   // memory bus
    {38, 596, 616, 4},   // L2
    {108, 600, 620, 4},  // of L2, what persists
    {kThreadsPerMultiprocessor, 604, 624, 4},
    {78, 608, 628, 4},  // stream priorities
    {79, 612, 632, 4},  // global L1
    {80, 616, 636, 4},  // local L1
    {kSharedPerMultiprocessor, 624, 640, 8},
    {kRegistersPerMultiprocessor, 632, 648, 4},
    {83, 636, 652, 4},  // managed memory
    {95, 668, 688, 4},  // cooperative launch
    {kSharedPerBlockOptIn, 672, 696, 8},
    {kBlocksPerMultiprocessor, 688, 712, 4},
    {109, 692, 716, 4},  // access policy window
    {kReservedSharedPerBlock, 696, 720, 8},
    {99, 704, 728, 4},  // host register
};

Result properties(std::byte* out, int device, unsigned Field::*offset, unsigned bytes) {
  const Locked machine;
  const Facts& facts = machine->facts;
  if (!machine->has(device)) return fail(kInvalidDevice);
  const int number = machine->gpu(device).number;
  std::memset(out, 0, bytes);
  std::memcpy(out, facts.title.data(), std::min<std::size_t>(facts.title.size(), kUuid - 1));
  out[kUuid] = static_cast<std::byte>(number + 1);
  std::memcpy(out + kTotalMemory, &facts.total, sizeof facts.total);
  for (const Field& field : kFields) {
    // Little-endian: the wide ones' upper halves stay 0.
    const int value =
        facts.attribute(field.attribute) + (field.attribute == kPciDevice ? number : 0);
    std::memcpy(out + field.*offset, &value, sizeof value);
  }
  return kSuccess;
}

Result properties13(std::byte* out, int device) {
  return properties(out, device, &Field::in13, kBytes13);
}
Result properties12(std::byte* out, int device) {
  return properties(out, device, &Field::in12, kBytes12);
}

Result version13(int* version) {
  *version = 13000;
  return kSuccess;
}
Result version12(int* version) {
  *version = 12080;
  return kSuccess;
}

}  // namespace

std::span<const Answer> runtime13_answers() {
  static const Answer answers[] = {
      answer("cudaGetDeviceProperties", properties13),
      answer("cudaRuntimeGetVersion", version13),
  };
  return answers;
}

std::span<const Answer> runtime12_answers() {
  static const Answer answers[] = {
      answer("cudaGetDeviceProperties_v2", properties12),
      answer("cudaGetDeviceProperties", properties12),
      answer("cudaRuntimeGetVersion", version12),
  };
  return answers;
}

}  // namespace vramfit::standin
