#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vramfit::vllm {

/// What rules of vLLM's differ by from one release to another.
struct Release {
  std::string_view name;   ///< as the setting spells it
  std::string_view vllm;   ///< that was read
  std::string_view torch;  ///< that it pins
  /// It counts all that the card lost, its runner's buffers among it; otherwise weights, and what
  /// is lost outside of PyTorch.
  bool counts_buffers = false;
  /// cuBLAS's handles, with its workspace and the first kernels, are there before it looks
  /// (gpu_worker.py: init_device); what its profile run makes to stay is no part of that's peak.
  bool handles_first = false;
  /// Models without experts run by its second runner; otherwise all do.
  bool two_runners = true;
  /// Its second runner puts weights on the host, too.
  bool second_offloads = false;
  bool second_estimates_graphs = false;
  /// From how many GiB on a server's steps are of 16,384 tokens; 0: on no card.
  int large_server = 0;
};

/// The oldest first, which is the default: it is the one that was measured.
std::span<const Release> releases();
const Release& release_named(const std::string& name);

}  // namespace vramfit::vllm
