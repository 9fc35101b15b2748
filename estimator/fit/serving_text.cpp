#include "estimator/fit/serving_text.h"

#include <fmt/format.h>

#include <cstdlib>

#include "estimator/fit/text.h"
#include "model/quantity.h"

namespace vramfit::fit {
namespace {

std::string row(const char* what, std::uint64_t bytes, const std::string& more = "") {
  return fmt::format("  {:<22}{:>9} GB{}\n", what, gb(bytes), more.empty() ? "" : "   " + more);
}

std::string signed_row(const char* what, std::int64_t bytes) {
  const std::string text = (bytes < 0 ? "-" : "") + gb(static_cast<std::uint64_t>(std::abs(bytes)));
  return fmt::format("  {:<22}{:>9} GB\n", what, text);
}

}  // namespace

std::string serving_text(const Serving& serving) {
  std::string text = fmt::format("The engine: steps of {} tokens and {} requests\n",
                                 grouped(serving.batched_tokens), grouped(serving.sequences));
  text += row("asks for", serving.requested);
  text += row("  weights", serving.weights);
  text += row("  activations", serving.activations);
  text += row("  outside of PyTorch", serving.outside);
  if (serving.graphs > 0) text += row("  graphs, estimated", serving.graphs);
  if (!serving.refusal.empty()) {
    text += signed_row("  left to its cache", serving.available);
    text += row("  needed of it", serving.needed);
    text += wrapped("  it would refuse: " + serving.refusal, 4);
  } else {
    text += row("  KV cache", static_cast<std::uint64_t>(serving.available),
                fmt::format("{} blocks of {}: {} tokens, {:.2f} x {}", grouped(serving.blocks),
                            serving.block_size, grouped(serving.tokens), serving.concurrency,
                            grouped(serving.length)));
    text += signed_row("beyond that, at rest", serving.beyond_at_rest);
    text += signed_row("beyond that, serving", serving.beyond_serving);
  }
  text += wrapped(fmt::format("  gpu-memory-utilization: {:.3f} has room for it; {:.3f} is the "
                              "most that leaves room for what is taken beyond",
                              serving.least_share, serving.most_share),
                  4);
  text += fmt::format("  longest request: {} tokens\n", grouped(serving.longest));
  return text + wrapped("  " + serving.command, 4) + "\n";
}

}  // namespace vramfit::fit
