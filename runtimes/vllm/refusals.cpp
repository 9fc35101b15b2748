#include "runtimes/vllm/refusals.h"

#include <cmath>
#include <sstream>

namespace vramfit::vllm::refusals {
namespace {

/// As Python prints a float that was rounded to two places: "11.0", "119.29".
std::string two_places(double value) {
  std::ostringstream text;
  const double rounded = std::round(value * 100) / 100;
  text << rounded;
  return text.str().find('.') == std::string::npos ? text.str() + ".0" : text.str();
}

std::string gib(std::uint64_t bytes) {
  return two_places(static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << 30));
}

}  // namespace

std::string too_little_free(const Start& start, const Options& options) {
  std::ostringstream share;
  share << options.utilization;
  return "Free memory on device cuda:0 (" + gib(start.free) + "/" + gib(start.total) +
         " GiB) on startup is less than desired GPU memory utilization (" + share.str() + ", " +
         gib(start.requested) +
         " GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.";
}

std::string no_memory() {
  return "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
         "initializing the engine";
}

std::string out_of_memory() { return "CUDA out of memory."; }

std::string too_little_shared() {
  return "out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block "
         "sizes or `num_stages` may help.";
}

std::string no_length() {
  return "Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single "
         "token. Try increasing `gpu_memory_utilization`.";
}

std::string too_long(const Start& start) {
  const std::uint64_t needed =
      start.cache.block_bytes * static_cast<std::uint64_t>(start.cache.blocks_of(start.length));
  std::string text =
      "To serve at least one request with the model's max seq len (" +
      std::to_string(start.length) + "), (" + gib(needed) +
      " GiB KV cache is needed, which is larger than the available KV cache memory (" +
      gib(static_cast<std::uint64_t>(start.available)) + " GiB).";
  if (start.longest > 0) {
    text += " Based on the available memory, the estimated maximum model length is " +
            std::to_string(start.longest) + ".";
  }
  return text;
}

}  // namespace vramfit::vllm::refusals
