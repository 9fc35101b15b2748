#pragma once

#include <cstdint>
#include <string_view>

// LLM.int8() leaves columns in 16 bits that hold an outlier, an element of 6 or more. That is up to
// the weights, which nobody reads: assumed are those that transformers initialises a model with,
// normal with a deviation of 0.02.
namespace vramfit {

/// How likely an element is one, normal with this deviation: of the residual stream behind a norm,
/// 1.
double outlier_chance(double deviation);

/// Of an MLP's hidden elements, activation(g), or activation(g) · u where it is `gated`: g and u
/// are sums over `hidden` elements of a stream with this deviation.
double hidden_outlier_chance(std::string_view activation, bool gated, std::int64_t hidden,
                             double stream);

/// Columns of `rows` by `columns` elements that hold at least one. No two linears have as many,
/// and what one left free need not do for the next: `quantile`, in (0, 1), says whereabouts in the
/// binomial distribution this one is.
std::int64_t outlier_columns(double chance, std::int64_t rows, std::int64_t columns,
                             double quantile);

}  // namespace vramfit
