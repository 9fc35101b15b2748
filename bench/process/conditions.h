#pragma once

#include <map>
#include <string>
#include <vector>

namespace vramfit::bench {

/// All that a row's figures depend on beside its name, which has its place in the sweep: GPU,
/// driver, libraries, commit, flags, and what the files hold that were read.
using Conditions = std::map<std::string, std::string>;

/// The same from a report's context and the flags that rows are run with. The files are those of
/// data/ that every row depends on; of what flags name, and of the row's model, see note_file().
Conditions conditions_of(Conditions context, const std::vector<std::string>& flags);

/// Adds what the file holds, as a digest.
void note_file(Conditions& conditions, const std::string& what, const std::string& path);
/// The same of a text.
void note_text(Conditions& conditions, const std::string& what, const std::string& text);

}  // namespace vramfit::bench
