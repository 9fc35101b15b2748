#include "runtimes/vllm/releases.h"

#include <algorithm>

#include "model/errors.h"

namespace vramfit::vllm {
namespace {

constexpr Release kReleases[] = {
    {.name = "0.26", .vllm = "0.26.0", .torch = "2.11"},
    {.name = "0.33",
     .vllm = "0.33.0",
     .torch = "2.14",
     .counts_buffers = true,
     .handles_first = true,
     .two_runners = false,
     .second_offloads = true,
     .second_estimates_graphs = true,
     .large_server = 160},
};

}  // namespace

std::span<const Release> releases() { return kReleases; }

const Release& release_named(const std::string& name) {
  const auto* found = std::find_if(std::begin(kReleases), std::end(kReleases),
                                   [&](const Release& one) { return one.name == name; });
  if (found != std::end(kReleases)) return *found;
  throw BadInput("release: unknown '" + name + "'; 0.26 or 0.33");
}

}  // namespace vramfit::vllm
