#include "estimator/fit/verify_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/ask/titles.h"
#include "estimator/fit/text.h"
#include "model/quantity.h"

namespace vramfit::fit {
namespace {

/// Lines of a list that are shown.
constexpr std::size_t kShown = 10;

std::string size_text(std::uint64_t bytes) {
  return grouped(static_cast<std::int64_t>(bytes)) + " bytes";
}

std::string who(const std::string& what) { return what.empty() ? "no line of Python" : what; }

std::string parting_text(const Parting& parting) {
  std::string text = fmt::format("DIFFER: {}, after {} allocations of the recording, ",
                                 moment(parting.moment.stage, parting.moment.step),
                                 grouped(static_cast<std::int64_t>(parting.recorded)));
  if (parting.frees) {
    if (parting.run_bytes) {
      return text + fmt::format("the run frees {} ({})", size_text(*parting.run_bytes),
                                who(parting.run_what));
    }
    if (!parting.predicted_bytes) return text + "what is allocated is freed otherwise";
    return text + fmt::format("the prediction frees {} ({}), the run later",
                              size_text(*parting.predicted_bytes), parting.predicted_what);
  }
  if (parting.run_bytes) {
    text += fmt::format("the run asks for {} ({})", size_text(*parting.run_bytes),
                        who(parting.run_what));
  }
  if (parting.predicted_bytes) {
    text += fmt::format("{}the prediction for {} ({})", parting.run_bytes ? ", " : "",
                        size_text(*parting.predicted_bytes), parting.predicted_what);
  }
  return text + (parting.run_bytes && parting.predicted_bytes ? ""
                 : parting.run_bytes                          ? "; the prediction does not"
                                                              : "; the run does not");
}

std::string ending_text(const Verification& v, const std::string& card) {
  return v.ending == Ending::RunRanOut
             ? "the recording ran out of memory; the prediction fits on " + card
             : "the recording goes on where the prediction runs out of memory on " + card;
}

/// Where they part first, or by what, and how they end.
std::string verdict_text(const Verification& v, const std::string& card) {
  if (v.first) return parting_text(*v.first);
  if (v.ending != Ending::Alike) return "DIFFER: " + ending_text(v, card);
  if (v.reserved_differs) {
    return fmt::format("DIFFER: the run reserves {}, the prediction {}; allocations agree",
                       size_text(v.run_reserved), size_text(v.predicted_reserved));
  }
  return fmt::format("AGREE: all {} allocations that are compared were predicted, in this order",
                     grouped(static_cast<std::int64_t>(v.recorded)));
}

std::string list_text(const std::string& title, const std::vector<Alike>& list) {
  if (list.empty()) return "";
  std::int64_t total = 0;
  for (const Alike& alike : list) total += alike.total();
  std::string text = fmt::format("\n  {}: {} bytes\n", title, grouped(total));
  for (std::size_t i = 0; i < std::min(kShown, list.size()); ++i) {
    const Alike& alike = list[i];
    text += fmt::format("  {:>8} x {:>18}   {}\n", grouped(alike.count),
                        grouped(static_cast<std::int64_t>(alike.bytes)), who(alike.what));
  }
  if (list.size() > kShown) {
    text += fmt::format("  {:>8} more kinds: --json\n", list.size() - kShown);
  }
  return text;
}

std::string level_text(const char* name, std::uint64_t run, std::uint64_t predicted) {
  const auto difference = static_cast<std::int64_t>(run) - static_cast<std::int64_t>(predicted);
  return fmt::format("  {:<22}{:>19}{:>19}{:>19}\n", name, grouped(static_cast<std::int64_t>(run)),
                     grouped(static_cast<std::int64_t>(predicted)), grouped(difference));
}

std::string peak_text(const Verification& v) {
  return fmt::format("\n  {:<22}{:>19}{:>19}{:>19}\n", "at most, bytes", "the run", "predicted",
                     "difference") +
         level_text("asked for by tensors", v.run_peak, v.predicted_peak) +
         level_text("reserved", v.run_reserved, v.predicted_reserved) +
         fmt::format("  predicted to be most {}\n",
                     moment(v.peak_moment.stage, v.peak_moment.step));
}

std::string notes_text(const Verification& v, const std::string& card) {
  std::string text;
  const auto note = [&text](const std::string& line) { text += wrapped("note: " + line, 2); };
  if (v.late) {
    note(fmt::format(
        "the recording begins {}, with {} in use, where {} are predicted; what comes before is not "
        "compared",
        moment(v.late->moment.stage, v.late->moment.step), size_text(v.late->run_bytes),
        size_text(v.late->predicted_bytes)));
  }
  if (v.overflowed) note("older entries of the recording were overwritten: raise max_entries");
  if (v.ends) {
    note(fmt::format("the recording ends {}{}; what is predicted beyond is not compared",
                     moment(v.ends->stage, v.ends->step),
                     v.out_of_memory ? ", having run out of memory" : ""));
  }
  if (v.freed_elsewhere > 0) {
    note(fmt::format("{} blocks that both have are freed at another point",
                     grouped(static_cast<std::int64_t>(v.freed_elsewhere))));
  }
  if (v.first && v.ending != Ending::Alike) note(ending_text(v, card));
  for (const std::string& line : v.notes) note(line);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string verification_text(const Verification& v, const Question& question) {
  const Request& request = question.requests.front();
  const std::string& card = request.budget.title;
  std::string text = short_name(request.model) + ", recorded and predicted\n";
  text += wrapped("  " + workload_text(request, nullptr), 2);
  text += "\n" + wrapped("  " + verdict_text(v, card), 4);
  text += list_text("the run has, the prediction has not", v.extra);
  text += list_text("the prediction has, the run has not", v.missing);
  text += peak_text(v);
  text += list_text("the peaks differ by", v.at_peak);
  return text + notes_text(v, card);
}

}  // namespace vramfit::fit
