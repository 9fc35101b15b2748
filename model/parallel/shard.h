#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/memory/tensor.h"
#include "model/parallel/mesh.h"

namespace vramfit {

/// A part is a multiple of so many elements: a whole number of any format's and any optimizer's
/// blocks, and aligned for every kernel.
inline constexpr std::int64_t kShardElements = 256;

/// How a tensor is cut on dimension 0: every rank's part has as many rows, with padding behind the
/// last ones'.
struct Shard {
  Shape part;          ///< one rank's rows
  Shape whole;         ///< all ranks', padding included
  std::int64_t first;  ///< row of the whole that this rank's part starts with
};

Shard shard_of(const Shape& stored, const Mesh& mesh);

/// Elements of one row.
std::int64_t row_elements(const Shape& shape);

/// `shape` with so many rows.
Shape with_rows(const Shape& shape, std::int64_t rows);

/// What of `whole` rows are not padding, of the `count` from `first` on.
std::int64_t filled_rows(const Shape& shape, std::int64_t first, std::int64_t count);

/// This rank's part of a tensor that holds the whole, or of one that holds the part alone.
Tensor own_part(const Tensor& tensor, const Shard& shard);

/// A part and the whole that ranks' parts make up.
struct PartAndWhole {
  Tensor part;
  Tensor whole;
};

/// The same of bytes: of one run of them where elements are all there is, of codes, scales and zero
/// points each where blocks have them, since these stand behind each other in the whole. Padding of
/// one run lies in the next one's place: they are gathered in this order. `room` holds the whole
/// with its padding, `elements` of which are none.
std::vector<PartAndWhole> runs_of(const Tensor& part, const Tensor& room, std::int64_t elements,
                                  std::int64_t ranks);

/// Bytes that a whole takes while it is gathered so.
std::uint64_t room_bytes(Format format, const Shard& shard, std::int64_t elements);

}  // namespace vramfit
