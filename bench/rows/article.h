#pragma once

#include <map>
#include <string>

namespace vramfit::bench {

/// What the article states for the row of that name, from data/article: counters' names and values,
/// GB turned into bytes. Mostly empty. Throws BadInput where the files are not as they should be.
const std::map<std::string, double>& article_figures(const std::string& row);

}  // namespace vramfit::bench
