#pragma once

#include <string>
#include <vector>

#include "runtimes/pytorch/torch/tensor/release.h"

namespace vramfit {

/// The releases of data/releases.json, oldest first. Throws BadInput.
const std::vector<pytorch::Release>& releases();

/// By its name, "2.11". Throws BadInput that lists those there are.
const pytorch::Release& release_named(const std::string& name);

/// What figures hold for where nobody names one: the newest that was measured.
const pytorch::Release& current_release();

/// The same from a text. Every key is required; `source` names the text in messages.
std::vector<pytorch::Release> parse_releases(const std::string& json_text,
                                             const std::string& source);

}  // namespace vramfit
