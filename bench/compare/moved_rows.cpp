#include "bench/compare/moved_rows.h"

#include <optional>
#include <system_error>

#include "bench/data/data_folder.h"
#include "bench/ledgers/ledger_file.h"

namespace vramfit::bench::compare {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Equal ledgers are equal files.
std::optional<Moved> moved_between(const fs::path& before, const fs::path& after) {
  if (read_text(before) == read_text(after)) return std::nullopt;
  return moved(read_ledger(before).ledger, read_ledger(after).ledger);
}

}  // namespace

std::map<std::string, Moved> note_moved(Comparison& comparison, const fs::path& before,
                                        const fs::path& after) {
  std::map<std::string, Moved> all;
  for (RowChange& row : comparison.rows) {
    const fs::path old_file = ledger_path(before, row.row);
    const fs::path new_file = ledger_path(after, row.row);
    if (row.changes.empty() || !is_there(old_file) || !is_there(new_file)) continue;
    auto difference = moved_between(old_file, new_file);
    if (!difference) continue;
    if (row.status == Status::Same) {
      row.status = difference->bytes() < 0 ? Status::Less : Status::More;
      row.why = "its ledger differs";
    }
    all.emplace(row.row, *std::move(difference));
  }
  return all;
}

}  // namespace vramfit::bench::compare
