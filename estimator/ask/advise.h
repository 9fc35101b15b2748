#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/estimate.h"
#include "runtimes/adjustments.h"

namespace vramfit {

/// Changes with which a run fits, and what it takes then.
struct Advice {
  std::vector<Choice> choices;
  Request request;
  Estimate estimate;
  /// Of each choice's steps, in their order; absent: nobody measured it.
  std::vector<std::optional<double>> slowdowns;

  std::vector<SettingChange> changes() const;
  double keeps() const;  ///< of what is run: batches and sequences may be cut
  /// Time for a token, as `Advised::timed` says, of what it is now: the product; absent where a
  /// step was not measured.
  std::optional<double> slowdown() const;
};

/// fit's flags that say what it advises: "--checkpoint full --lora 16".
std::string flags_text(const Advice& advice);
/// And those to be left out.
std::vector<std::string> without(const Advice& advice);

/// What to do about a run that does not fit.
struct Advised {
  /// What times are of: "training", "prefill", "decoding". Of prefill the file has none.
  std::string timed;
  /// Each makes it fit with as little change as it can: of a size the largest that surely does, of
  /// optimizers the one that keeps most. None has all the changes of another, and more, for the
  /// same verdict, unless less is cut. The cheapest first, those that nobody measured last.
  std::vector<Advice> list;
  /// The same on several GPUs of the card's kind, which are fewest of each strategy: as the run is,
  /// or where that never fits, with one more change. Times are of each of the GPUs.
  std::vector<Advice> on_several_gpus;
  std::optional<Advice> least;     ///< where none does: as much as can be changed
  std::vector<std::string> cards;  ///< smallest ones that it surely fits on as it is
};

/// `flags` are those of the request, its precision among them. Where `surely`, what is TIGHT does
/// not count as fitting. `told` hears meanwhile what is known so far: of its list nothing goes any
/// more, and cards are all there.
Advised advise(const Request& request, const Flags& flags, bool surely,
               const std::function<void(const Advised&)>& told = {});

}  // namespace vramfit
