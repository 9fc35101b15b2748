#pragma once

#include <cstdint>

namespace vramfit {

/// The sums over a matrix that Adafactor's step leaves between its passes, in fp32. A block takes a
/// group of rows and a tile of columns, and leaves its own sums, which the next pass adds up in a
/// fixed order: bits do not depend on which block is first. Kernels ask it as well.
struct FactorSums {
  static constexpr std::int64_t kTile = 1024;
  static constexpr std::int64_t kLeastRows = 32;
  static constexpr std::int64_t kMostGroups = 128;
  static constexpr std::int64_t kRowsABlock = 256;  ///< of the pass that ends rows' means

  std::int64_t rows;
  std::int64_t columns;

  constexpr std::int64_t groups() const {
    const std::int64_t most = (rows + kLeastRows - 1) / kLeastRows;
    return most < kMostGroups ? most : kMostGroups;
  }
  constexpr std::int64_t group_rows() const { return (rows + groups() - 1) / groups(); }
  constexpr std::int64_t tiles() const { return (columns + kTile - 1) / kTile; }
  constexpr std::int64_t blocks() const { return groups() * tiles(); }
  constexpr std::int64_t row_blocks() const { return (rows + kRowsABlock - 1) / kRowsABlock; }

  // Where they stand, one after the other.
  /// (groups, columns): of the gradient's squares
  constexpr std::int64_t of_columns() const { return 0; }
  /// (tiles, rows): likewise
  constexpr std::int64_t of_rows() const { return of_columns() + groups() * columns; }
  /// (row_blocks): of rows' means
  constexpr std::int64_t of_row_means() const { return of_rows() + tiles() * rows; }
  /// (blocks): of the parameter's squares
  constexpr std::int64_t of_weights() const { return of_row_means() + row_blocks(); }
  /// (blocks): of the update's squares, before it is clipped
  constexpr std::int64_t of_updates() const { return of_weights() + blocks(); }
  constexpr std::int64_t elements() const { return of_updates() + blocks(); }
};

}  // namespace vramfit
