#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/adjustments.h"

// How much longer a run takes with one setting than with another, as it was measured.
namespace vramfit {

/// Runs that are alike but for one setting, and the tokens a second of each.
struct SpeedComparison {
  std::string runtime;
  std::string mode;    ///< what was timed: "training", "decoding"
  std::string kind;    ///< of the setting: SettingChange::kind
  std::string beside;  ///< another change that all of the runs have; empty: none
  std::string run;     ///< what they are, in words: "llama2-7b, bf16, 4 x 2048 tokens"
  std::map<std::string, double> speeds;  ///< by setting
};

struct Slowdowns {
  std::string gpu;  ///< on which all was measured: "NVIDIA H200"
  std::vector<SpeedComparison> comparisons;

  /// Time for a token after the change, of that before it: above 1 it is slower. The median over
  /// all comparisons that have both settings beside what is named; absent where none has.
  std::optional<double> of(const std::string& runtime, const std::string& mode,
                           const SettingChange& change, const std::string& beside) const;
};

/// data/slowdowns.json. Throws BadInput.
const Slowdowns& slowdowns();

/// The same from a text. Every key is required; `source` names the text in messages.
Slowdowns parse_slowdowns(const std::string& json_text, const std::string& source);

}  // namespace vramfit
