#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace vramfit {

/// Makes config files out of config files. The same seed and corpus yield the same ones.
class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::uint64_t seed)
      : corpus_(std::move(corpus)), random_(seed) {}

  std::string next();

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  void mutate(std::string& text);
  void replace_value(std::string& text);
  void add_key(std::string& text);
  void change_bytes(std::string& text);
  void move_range(std::string& text);

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

}  // namespace vramfit
