#include "runtimes/vllm/buffers.h"

#include <algorithm>

#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/elements.h"

namespace vramfit::vllm {
namespace {

/// gpu/sample/: tokens that a request may be allowed, biased or forbidden, its stop tokens, its
/// bad words, and tokens whose logprobs it may ask for.
constexpr std::int64_t kAllowed = 1024;
constexpr std::int64_t kBiased = 1024;
constexpr std::int64_t kBadTokens = 1024;
constexpr std::int64_t kStops = 128;
constexpr std::int64_t kBadWords = 128;
constexpr std::int64_t kLogprobs = 128;
/// Tokens of which a block table's rows are whole blocks.
constexpr std::int64_t kTableTokens = 128;

std::uint64_t sized(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace

std::vector<std::uint64_t> input_buffers(const Shape& shape, const Batch& batch, bool second) {
  const std::int64_t tokens = batch.tokens;
  const std::int64_t requests = batch.sequences;
  if (!second) {
    // Ids, positions, and embeddings of inputs, which multimodal and prompted ones come as.
    return {sized(tokens * kWord),         sized(tokens * kLong),
            sized(tokens * kLong),         sized(tokens * shape.hidden * 2),
            sized((requests + 1) * kWord), sized(requests * kWord)};
  }
  return {sized(tokens * kWord),         sized(tokens * kLong),   sized(tokens),
          sized((requests + 1) * kWord), sized(requests * kWord), sized(requests * kWord),
          sized(requests * kWord),       sized(requests * kWord), sized(requests * kLong),
          sized(requests * kWord)};
}

std::vector<std::uint64_t> draft_buffers(const Shape& shape, const Options& options,
                                         const Batch& batch, bool second) {
  if (shape.draft == nullptr || !shape.last) return {};
  const std::int64_t tokens = batch.tokens;
  const std::int64_t requests = batch.sequences;
  const std::uint64_t states = sized(tokens * shape.draft->shape.hidden * own_bytes(options));
  if (second) {
    std::vector<std::uint64_t> list = input_buffers(shape, batch, second);
    for (const std::int64_t bytes : {kWord, kWord, kLong, kLong, options.drafted * kLong}) {
      list.push_back(sized(requests * bytes));
    }
    list.push_back(states);
    return list;
  }
  std::vector<std::uint64_t> list = {states, states, sized(tokens * kWord),
                                     sized(requests * kWord)};
  for (int i = 0; i < 2; ++i) list.push_back(sized(tokens * kLong));
  list.push_back(sized(std::max(requests + 1, tokens) * kWord));
  if (options.drafts == Drafts::Model) list.insert(list.end(), 2, sized(tokens));
  return list;
}

std::vector<std::uint64_t> sampler_buffers(const Shape& shape, const Batch& batch,
                                           std::int64_t drafted) {
  const std::int64_t requests = batch.sequences;
  const std::int64_t mask = requests * ceil_div(shape.vocab, 32) * kWord;
  return {sized(mask),
          sized(requests * shape.vocab * kWord),
          sized(requests * kAllowed * kWord),
          sized(requests * kBiased * kWord),
          sized(requests * kBiased * kWord),
          sized(requests * kStops * kWord),
          sized(requests * kBadTokens * kWord),
          sized(requests * (kBadWords + 1) * kWord),
          sized(requests * kLogprobs * kWord),
          sized(requests * kWord),
          sized((1 + drafted) * mask)};
}

std::vector<std::uint64_t> table_buffers(const Cache& cache, const Batch& batch,
                                         std::int64_t length) {
  std::vector<std::uint64_t> list;
  for (const CacheGroup& group : cache.groups) {
    std::int64_t columns = ceil_div(length, group.block);
    if (group.block <= kTableTokens) {
      const std::int64_t unit = kTableTokens / group.block;
      columns = ceil_div(columns, unit) * unit;
    }
    list.push_back(sized(batch.sequences * columns * kWord));
    list.push_back(list.back());
  }
  const auto groups = static_cast<std::int64_t>(cache.groups.size());
  list.push_back(sized(groups * batch.tokens * kLong));
  return list;
}

}  // namespace vramfit::vllm
