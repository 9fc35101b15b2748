#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vramfit::standin {

/// What a GPU's memory loses to driver and libraries as each is first used. Bytes.
struct LoadSizes {
  std::uint64_t context = 0;    ///< a bare context
  std::uint64_t kernels = 0;    ///< with the first kernel
  std::uint64_t blas = 0;       ///< the first cuBLAS handle
  std::uint64_t more_blas = 0;  ///< each other one
  std::uint64_t attention = 0;  ///< the first fused attention
  std::uint64_t backward_attention = 0;
  std::uint64_t streams = 0;  ///< the first stream beside the default one, as PyTorch makes it
  std::uint64_t process_group = 0;       ///< the first communicator of NCCL's, and those streams
  std::uint64_t collectives = 0;         ///< with its first collective
  std::uint64_t more_communicators = 0;  ///< each other one
  std::uint64_t more_collectives = 0;    ///< with its first collective
};

/// What a run is told of the GPUs that it shall see. Made by `vramfit run` from data/gpus.json.
struct Facts {
  std::string title;               ///< as the driver spells it
  int devices = 1;                 ///< of one kind
  std::uint64_t total = 0;         ///< bytes, as cudaMemGetInfo tells them
  std::uint64_t listed_total = 0;  ///< bytes, as nvidia-smi lists them: with what the driver keeps
  std::uint64_t taken = 0;         ///< of `total`: held by others, or to be left free
  std::map<int, int> attributes;   ///< cuDeviceGetAttribute's, by number
  LoadSizes loads;
  int driver_version = 13000;  ///< as cudaDriverGetVersion tells it
  std::string driver_name = "580.159.04";
  bool late_events = false;  ///< an event is done at the next synchronisation, not at once
  bool strict = false;       ///< the first call that nobody knows ends the process

  int attribute(int number) const;
  int major() const { return attribute(75); }
  int minor() const { return attribute(76); }
  int sm() const { return 10 * major() + minor(); }
};

/// From `vramfit run`'s JSON. Throws nlohmann::json::exception where it is none of its kind.
Facts read_facts(const std::string& json);

}  // namespace vramfit::standin
