#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit::bench {

/// This process as one of several that were started together, a GPU each.
struct Launched {
  std::int64_t ranks;
  std::int64_t rank;
  std::int64_t local_rank;  ///< among those of this machine: which of its GPUs is its own
  std::string address;      ///< "host:port" where rank 0 waits for the others
};

/// As torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), mpirun
/// (OMPI_COMM_WORLD_…) or srun (SLURM_PROCID, …) tell it; absent where none of them did. Ranks meet
/// at the port behind MASTER_PORT, which the launcher itself uses; without one at 127.0.0.1:29501.
/// Throws BadInput that names a variable which is wrong.
std::optional<Launched> launched();

/// What a rank on this machine is to be told, as torchrun would. All ranks are told one port.
std::vector<std::string> environment_of_rank(std::int64_t rank, std::int64_t ranks, int port);

/// A port that nobody has at the moment.
int free_port();

}  // namespace vramfit::bench
