#include "estimator/ask/lengths.h"

#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {

FitOptions of_longest_sample(FitOptions options, const Environment& environment) {
  const auto file = typed(options.flags, "lengths");
  // Else how prompts of our own step differ in length.
  if (!file || *file == "equal" || *file == "spread") return options;
  if (!environment.sample_lengths) {
    throw BadInput("lengths: '" + *file + "' is a path, and no files are read here; --seq");
  }
  const SampleLengths lengths = environment.sample_lengths(*file);
  options.flags.erase("lengths");
  std::string note = "the longest of " + grouped(lengths.samples) + " samples of --lengths has " +
                     grouped(lengths.longest) + " tokens";
  const auto seq = typed(options.flags, "seq");
  if (seq && parse_whole("seq", *seq) < lengths.longest) {
    note += ", cut to --seq";
  } else {
    options.flags["seq"] = std::to_string(lengths.longest);
  }
  options.notes.push_back(std::move(note));
  return options;
}

}  // namespace vramfit
