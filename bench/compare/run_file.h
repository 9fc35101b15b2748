#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vramfit::bench::compare {

/// The values of one counter: one, or one of each repetition.
using Values = std::vector<double>;

/// A row of a report, its repetitions together.
struct ReportRow {
  std::string name;
  bool measured = false;
  std::string card;   ///< what its figures are of: "NVIDIA H200", "virtual:h200"
  std::string error;  ///< why it has no figures; "" otherwise
  std::map<std::string, Values> counters;
};

/// A report of bench, read.
struct RunFile {
  std::filesystem::path path;
  std::map<std::string, std::string> context;     ///< what of it is text
  std::map<std::string, std::uint64_t> overhead;  ///< of the profile, by part: "context", "cudnn"
  std::vector<ReportRow> rows;

  const ReportRow* find(const std::string& name) const;
  /// Of the context; "none" where it does not say.
  std::string fact(const std::string& key) const;
  /// As the driver calls it: that it ran on, or that it was predicted for.
  std::string card() const;
  /// Seconds since 1970 at which it began; nothing where it does not say.
  std::optional<std::int64_t> instant() const;
};

/// Throws BadInput where the file is no report of bench of a schema that is known: damaged, cut
/// short, or another program's. `field` names it in messages: "OLD". Texts are printable.
RunFile read_run(const std::filesystem::path& path, const std::string& field);

}  // namespace vramfit::bench::compare
