#pragma once

#include <string>
#include <vector>

#include "estimator/ask/environment.h"
#include "estimator/fit/picture.h"

namespace vramfit::fit {

/// This machine: its files and its GPU.
Environment this_machine();

/// What `fit` prints of the answers: a picture of one card, a table of several.
std::string answer_text(const Question& question, const std::vector<Answer>& answers,
                        const Style& style);

/// The command `fit`, its arguments without the program's name: prints, and returns the exit
/// status. `otherwise` follows what is said of a model that no step is written down for. Throws
/// nothing.
int run(const std::vector<std::string>& arguments, const std::string& otherwise = "");

}  // namespace vramfit::fit
