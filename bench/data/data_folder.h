#pragma once

#include <filesystem>
#include <string>

namespace vramfit::bench {

/// A folder of data/ that bench fills as it measures: "runs", "gpus". In $VRAMFIT_DATA where that
/// is set, otherwise in the checkout that the program is of, otherwise in share/vramfit of the
/// prefix it is installed in. Need not be there.
std::filesystem::path data_folder(const std::string& name);

/// A whole file; throws BadInput where it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace vramfit::bench
