#pragma once

#include <filesystem>
#include <string>

namespace vramfit {

/// Where `relative`, a file or folder of data/, lies: in $VRAMFIT_DATA where that is set, otherwise
/// near the running program, otherwise in the source tree it was built from. Throws BadInput.
std::filesystem::path data_file(const std::string& relative);

/// A whole file; throws BadInput where it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace vramfit
