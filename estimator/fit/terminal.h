#pragma once

#include <cstddef>
#include <string>

#include "estimator/verdict.h"

namespace vramfit::fit {

/// Columns that a line may have: the terminal's, from 60 to 160; 100 where the answer goes
/// elsewhere.
std::size_t columns();

/// Whether standard output shows colours: a terminal, where NO_COLOR (https://no-color.org) does
/// not forbid them.
bool shows_colours();

/// The verdict, in its colour where `colours`.
std::string verdict_word(Verdict verdict, bool colours);

}  // namespace vramfit::fit
