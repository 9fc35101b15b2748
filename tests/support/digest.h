#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/memory/category.h"

namespace vramfit {

/// What a run did to memory, in 64 bits: FNV-1a over one canonical line for each event. Only what
/// an event means goes in (kind, stage, step, category, bytes, offset), so that fields added to
/// events later do not move it.
class EventDigest {
 public:
  /// `kind` is '+' where memory comes, '-' where it goes, '[' and ']' around a stage, '!' where
  /// there is none.
  void add(char kind, Stage stage, int step, Category category, std::uint64_t bytes,
           std::uint64_t offset);

  /// "5f3c…: 1234 events".
  std::string text() const;

 private:
  std::uint64_t hash_ = 14695981039346656037U;
  std::size_t events_ = 0;
};

/// Digests by the name of what they are of, against those in tests/fixtures/digests/`file`. With
/// VRAMFIT_WRITE_DIGESTS set they are written there instead: for a change that is meant to move
/// them.
void expect_digests(const std::string& file, const std::map<std::string, std::string>& digests);

}  // namespace vramfit
