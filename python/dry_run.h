#pragma once

#include <cstddef>
#include <string>

namespace vramfit::python {

// Of a run as estimator/dry_run reads it. ValueError where it is none of its kind.

/// Its verdict, as keys of `vramfit run --json`.
std::string dry_run_verdict(const std::string& run);

/// What is printed of it, and `top` of the lines that held most at the peak.
std::string dry_run_text(const std::string& run, std::size_t top);

}  // namespace vramfit::python
