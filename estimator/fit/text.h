#pragma once

#include <cstdint>
#include <string>

#include "estimator/estimate.h"

// Pieces of text that both the picture and the table of cards use.
namespace vramfit::fit {

inline constexpr std::size_t kColumns = 100;

/// "6,738,415,616".
std::string grouped(std::int64_t number);

/// Bytes as GB (1e9), without the unit.
std::string gb(std::uint64_t bytes, int decimals = 2);

/// "25.76 GB (23.99 GiB)".
std::string both_units(std::uint64_t bytes);

/// The model's name, at most 40 characters of it.
std::string short_name(const ModelConfig& model);

/// "training in fp16 with adamw, batch 4 x 512 tokens, flash attention".
std::string workload_text(const Workload& workload);

/// `text` in lines of at most kColumns, those after the first indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent);

/// Which runtime the figures hold for, and how another differs.
std::string runtime_text(const Workload& workload);

}  // namespace vramfit::fit
