#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/gpu.h"

namespace vramfit {

/// What people's messages tell that drivers, contexts and libraries take of cards on which nobody
/// measured it: data/overheads.json. Ranges, in bytes.
class ToldOverheads {
 public:
  /// Throws BadInput where the text is none; `source` names it in messages.
  static ToldOverheads parse(const std::string& json_text, const std::string& source);

  /// How far a card's overhead may lie from what is `assumed` of it. Reports of the card go before
  /// those of all cards; where `multiprocessors` are not known, they are as many as any has.
  OverheadDoubt doubt_of(std::string_view card, std::optional<int> multiprocessors,
                         const Overhead& assumed) const;

 private:
  struct Span {
    double least = 0;
    double most = 0;
    int reports = 0;
  };
  struct Own {
    std::string card;
    std::optional<Span> driver;
    std::optional<Span> beside;
  };
  friend struct ToldReader;

  Span measured_;  ///< beside the allocator, of the card whose overhead is assumed
  Span driver_;
  Span beside_;
  Span beside_a_multiprocessor_;
  std::vector<Own> cards_;
};

/// What is built in.
const ToldOverheads& told_overheads();

}  // namespace vramfit
