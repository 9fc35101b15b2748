#include "bench/devices/launch.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "model/errors.h"
#include "model/parallel/mesh.h"
#include "model/quantity.h"

namespace vramfit::bench {
namespace {

constexpr int kUsualPort = 29500;  // torchrun's
constexpr int kMostPort = 65535;

/// What a launcher calls them.
struct Variables {
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

constexpr std::array kLaunchers = {
    Variables{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Variables{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::int64_t whole(const char* name, std::int64_t least, std::int64_t most) {
  const std::optional<std::string> text = variable(name);
  if (!text) throw BadInput(std::string(name) + ": is not set, though its launcher's others are");
  return parse_whole(name, *text, least, most);
}

std::string address() {
  const std::string host = variable("MASTER_ADDR").value_or("127.0.0.1");
  const std::int64_t port =
      variable("MASTER_PORT") ? whole("MASTER_PORT", 1, kMostPort - 1) : kUsualPort;
  return host + ":" + std::to_string(port + 1);
}

[[noreturn]] void fail(const char* call) {
  throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
}

}  // namespace

std::optional<Launched> launched() {
  for (const Variables& launcher : kLaunchers) {
    if (!variable(launcher.rank) || !variable(launcher.ranks)) continue;
    const std::int64_t ranks = whole(launcher.ranks, 1, kMaxRanks);
    if (ranks == 1) continue;  // a job of one, such as an interactive shell of srun's
    return Launched{ranks, whole(launcher.rank, 0, ranks - 1),
                    whole(launcher.local_rank, 0, ranks - 1), address()};
  }
  return std::nullopt;
}

std::vector<std::string> environment_of_rank(std::int64_t rank, std::int64_t ranks, int port) {
  return {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(ranks),
          "LOCAL_RANK=" + std::to_string(rank), "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + std::to_string(port - 1)};
}

int free_port() {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  if (listening < 0) fail("socket");
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* generic = reinterpret_cast<sockaddr*>(&name);
  const bool bound =
      bind(listening, generic, size) == 0 && getsockname(listening, generic, &size) == 0;
  close(listening);
  if (!bound) fail("bind");
  return ntohs(name.sin_port);
}

}  // namespace vramfit::bench
