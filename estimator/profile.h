#pragma once

#include <filesystem>
#include <string>

#include "estimator/cards.h"

namespace vramfit {

/// What one kind of GPU with one driver loses before a run: measured by `bench`'s family Overhead,
/// kept as data/README.md describes.
struct Profile {
  std::string gpu;  ///< as the driver spells it
  std::string driver;
  std::string cuda;
  Overhead overhead;
};

/// Throws BadInput where the file is none.
Profile read_profile(const std::filesystem::path& path);
Profile parse_profile(const std::string& json_text, const std::string& source);

/// What the card loses by the profile: marked as assumed where the card is of another kind.
/// What runtimes take is the card's own where the profile does not say.
Overhead overhead_of(const Card& card, const Profile& profile);

/// "nvidia-h200-580.159.04-13.0.json": the profile of such a GPU, in data/gpus.
std::string profile_name(const std::string& gpu, const std::string& driver,
                         const std::string& cuda);

}  // namespace vramfit
