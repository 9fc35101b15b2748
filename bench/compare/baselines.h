#pragma once

#include <filesystem>
#include <string>

#include "bench/compare/run_file.h"

namespace vramfit::bench::compare {

/// The file itself, or of a folder the newest run in it and below. Throws BadInput where there is
/// none.
RunFile run_at(const std::filesystem::path& path, const std::string& field);

/// Of data/runs the newest run before `now`: "newest", of its card; a card's name, of that; a
/// driver's version, of its card under that driver. Throws BadInput where there is none.
RunFile baseline(const std::string& against, const RunFile& now);

/// Keeps `now` beside `before` under its date and commit, without what names the host, and its
/// ledgers with it: where OLD lies in a folder of its card and driver, in one of NEW's. Never
/// replaces a file, and leaves nothing where it fails. Returns where it is; throws
/// std::runtime_error that names what cannot be written.
std::filesystem::path accept(const RunFile& before, const RunFile& now,
                             const std::filesystem::path& ledgers);

/// Where the ledgers of a run are kept: beside it, ".ledgers" for ".json".
std::filesystem::path ledgers_of(const std::filesystem::path& run);

}  // namespace vramfit::bench::compare
