#pragma once

#include <string>

#include "estimator/verdict.h"

namespace vramfit::fit {

/// Whether standard output shows colours: a terminal, where NO_COLOR (https://no-color.org) does
/// not forbid them.
bool shows_colours();

/// The verdict, in its colour where `colours`.
std::string verdict_word(Verdict verdict, bool colours);

}  // namespace vramfit::fit
