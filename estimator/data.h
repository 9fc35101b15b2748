#pragma once

#include <string>
#include <vector>

namespace vramfit {

/// A file of data/, by its path there: "models/llama2-7b/config.json". As it was when this was
/// built, or from $VRAMFIT_DATA, a folder like it, where that is set. Throws BadInput.
std::string data_text(const std::string& file);
/// Whether all is as it was when this was built: $VRAMFIT_DATA is not set.
bool data_is_built_in();
/// Whether there is one.
bool has_data(const std::string& file);

/// The folders in a folder of data/, in order of their names.
std::vector<std::string> data_folders(const std::string& folder);

}  // namespace vramfit
