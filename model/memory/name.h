#pragma once

#include <cstddef>
#include <cstring>
#include <string>

namespace vramfit {

/// A tensor's name: a string literal, the layer it belongs to, and what of it it is ("m", "v").
/// Made of literals so that a ledger can keep one per event without allocating.
class Name {
 public:
  constexpr Name() = default;

  template <std::size_t N>
  constexpr Name(const char (&base)[N], int layer = -1) : base_(base), layer_(layer) {}

  /// This name with `part` behind it: "layers.3.qkv.weight" → "layers.3.qkv.weight.m".
  template <std::size_t N>
  constexpr Name part(const char (&part)[N]) const {
    Name result = *this;
    result.part_ = part;
    return result;
  }

  /// This name in a block.
  constexpr Name of(int layer) const {
    Name result = *this;
    result.layer_ = layer;
    return result;
  }

  int layer() const { return layer_; }  ///< -1: of none

  /// Without layer and part: what the tensor is called in every layer.
  const char* base() const { return base_; }

  std::string text() const {
    std::string text = layer_ < 0 ? base_ : "layers." + std::to_string(layer_) + "." + base_;
    if (part_[0] != '\0') text.append(".").append(part_);
    return text;
  }

  friend bool operator==(const Name& a, const Name& b) {
    return a.layer_ == b.layer_ && std::strcmp(a.base_, b.base_) == 0 &&
           std::strcmp(a.part_, b.part_) == 0;
  }

 private:
  const char* base_ = "";
  const char* part_ = "";
  int layer_ = -1;
};

}  // namespace vramfit
