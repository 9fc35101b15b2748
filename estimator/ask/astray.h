#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/ask/options.h"

// Who changes a question, as a form does, asks which of its settings no longer belong to it.
namespace vramfit {

/// Settings that the rest of the question leaves without a meaning, and why: it is of another
/// "runtime", of the other "task", or lacks what it "needs", which whoever has needs counts for in
/// another runtime too.
std::map<std::string, std::string> astray(const OwnFlags& flags);

/// Flags without a value.
std::vector<std::string> switches();

}  // namespace vramfit
