#pragma once

#include <string_view>
#include <tuple>
#include <vector>

namespace vramfit::pytorch {

/// What a tensor's name is sorted by as a checkpoint is read: dot_natural_key of transformers'
/// core_model_loading.py, 5.17. Part by part between dots, numbers as numbers, and what ends in
/// digits by what stands before them first.
class CheckpointKey {
 public:
  /// `name` must outlive it.
  explicit CheckpointKey(std::string_view name);

  friend bool operator<(const CheckpointKey& a, const CheckpointKey& b) {
    return a.parts_ < b.parts_;
  }

 private:
  /// Whether it is text, the text, and the number behind it or -1.
  using Part = std::tuple<bool, std::string_view, long>;
  static Part part_of(std::string_view text);

  std::vector<Part> parts_;
};

}  // namespace vramfit::pytorch
