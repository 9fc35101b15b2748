#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "standin/card/facts.h"
#include "standin/memory/device_memory.h"
#include "standin/memory/host_memory.h"
#include "standin/stream/graph_memory.h"
#include "standin/stream/streams.h"

namespace vramfit::standin {

/// One GPU, and what of its driver's state a process has.
struct Device {
  Device(const Facts& facts, int which) : number(which), memory(facts.total, facts.taken) {}

  int number;  ///< in the machine
  DeviceMemory memory;
  bool context = false;  ///< made with whatever first needs one
  bool kernels = false;
  bool asserts = false;
  bool attention = false;
  bool backward_attention = false;
  bool streams = false;
  int blas_handles = 0;
  int communicators = 0;
  bool collectives = false;
  GraphMemory graphs;
};

/// The machine that a process finds: its GPUs, its page-locked memory, its streams. One a process;
/// whoever answers a call locks it.
class Machine {
 public:
  explicit Machine(Facts facts);

  std::recursive_mutex mutex;
  Facts facts;
  std::deque<Device> devices;  ///< all that there are
  HostMemory host;
  Streams streams;

  /// The GPUs that CUDA gives numbers to: those that CUDA_VISIBLE_DEVICES leaves, as it is when
  /// this is first asked.
  const std::vector<Device*>& visible();
  bool has(int device) { return device >= 0 && device < static_cast<int>(visible().size()); }
  /// The calling thread's current GPU.
  static int& current();
  Device& device() { return gpu(current()); }
  /// By CUDA's number. Where none is visible, the one that no program gets to see.
  Device& gpu(int device) {
    return has(device) ? *visible()[static_cast<std::size_t>(device)] : devices[0];
  }
  /// The GPU whose memory an address is in; null for the host's.
  Device* owner(std::uint64_t address);
  /// The current GPU, its context made if it was not.
  Device& active();

 private:
  std::optional<std::vector<Device*>> visible_;
};

/// The process's machine. There is one from start() on; started again, it is another, which a
/// forked process may do before it uses it.
Machine& machine();
bool started();
void start(Facts facts);

/// The machine, locked for as long as a call is answered.
class Locked {
 public:
  Locked() : lock_(machine().mutex) {}
  Machine* operator->() const { return &machine(); }
  Machine& operator*() const { return machine(); }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace vramfit::standin
