#pragma once

#include <cstdint>
#include <string_view>

// What names of tensors say.
namespace vramfit::llamacpp {

/// "blk.<layer>.…"; -1 where it is of none.
std::int64_t layer_of(std::string_view name);
/// Behind "blk.<layer>."; all of it where it is of none.
std::string_view within_layer(std::string_view name);
/// Of tokens: an input, of which rows are read.
bool is_embedding(std::string_view name);
bool ends_with(std::string_view name, std::string_view end);
bool contains(std::string_view name, std::string_view part);

}  // namespace vramfit::llamacpp
