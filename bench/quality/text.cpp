#include "bench/quality/text.h"

#include <algorithm>
#include <fstream>
#include <numeric>

#include "model/errors.h"
#include "model/ops/random.h"

namespace vramfit::bench {

Text::Text(const std::filesystem::path& path, std::int64_t vocab) : path_(path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  if (bytes <= 0 || bytes % 2 != 0) {
    throw BadInput(path.string() + ": is no file of 16-bit tokens; scripts/corpus writes them");
  }
  tokens_.resize(static_cast<std::size_t>(bytes) / sizeof(std::uint16_t));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(tokens_.data()), bytes);
  if (!file) throw BadInput(path.string() + ": cannot be read");
  const std::uint16_t largest = *std::max_element(tokens_.begin(), tokens_.end());
  if (largest < vocab) return;
  throw BadInput(path.string() + ": has token " + std::to_string(largest) +
                 ", and the model's vocabulary " + std::to_string(vocab));
}

std::int64_t Text::windows(std::int64_t seq) const {
  const auto count = static_cast<std::int64_t>(tokens_.size());
  if (count > seq) return (count - 1) / seq;
  throw BadInput(path_.string() + ": has " + std::to_string(count) + " tokens, fewer than the " +
                 std::to_string(seq + 1) + " of a sequence");
}

std::span<const std::uint16_t> Text::window(std::int64_t number, std::int64_t seq) const {
  return std::span(tokens_).subspan(static_cast<std::size_t>(number * seq),
                                    static_cast<std::size_t>(seq) + 1);
}

std::int64_t ReadingOrder::operator()(std::int64_t number) {
  const std::int64_t epoch = number / windows_;
  if (epoch != epoch_) {
    epoch_ = epoch;
    order_.resize(static_cast<std::size_t>(windows_));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    const std::uint64_t seed = random_bits(seed_, static_cast<std::uint64_t>(epoch));
    std::sort(order_.begin(), order_.end(), [seed](std::int64_t a, std::int64_t b) {
      return random_bits(seed, static_cast<std::uint64_t>(a)) <
             random_bits(seed, static_cast<std::uint64_t>(b));
    });
  }
  return order_[static_cast<std::size_t>(number % windows_)];
}

void Windows::add(std::span<const std::uint16_t> window) {
  tokens.insert(tokens.end(), window.begin(), window.end() - 1);
  following.insert(following.end(), window.begin() + 1, window.end());
}

void Windows::upload(Device& device, const Tensor& to_tokens, const Tensor& to_following) const {
  device.upload(to_tokens, tokens.data(), tokens.size() * sizeof(std::int32_t));
  device.upload(to_following, following.data(), following.size() * sizeof(std::int32_t));
}

}  // namespace vramfit::bench
