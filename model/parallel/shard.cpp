#include "model/parallel/shard.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "model/checked.h"
#include "model/ops/quantized_layout.h"

namespace vramfit {
namespace {

/// Bytes that follow each other in a tensor of some elements.
struct Run {
  std::uint64_t offset;
  std::uint64_t bytes;
};

/// Of codes, of scales and of zero points; the latter two are empty in a plain format.
std::array<Run, 3> runs(Format format, std::int64_t elements) {
  const std::uint64_t all = format.bytes(elements);
  if (format.row().plain()) return {Run{0, all}, Run{all, 0}, Run{all, 0}};
  const BlockLayout layout(format, elements);
  const auto scales = static_cast<std::uint64_t>(layout.scales);
  const auto zeros = static_cast<std::uint64_t>(layout.zeros);
  return {Run{0, scales}, Run{scales, zeros - scales}, Run{zeros, all - zeros}};
}

Tensor bytes_of(const Tensor& tensor, std::uint64_t offset, std::uint64_t bytes) {
  const Shape shape = {static_cast<std::int64_t>(bytes)};
  return Tensor::view(tensor, offset, tensor.name(), tensor.category(), DType::Int8, shape, shape);
}

}  // namespace

std::int64_t row_elements(const Shape& shape) {
  std::int64_t product = 1;
  for (std::size_t i = 1; i < shape.rank(); ++i) product = checked_multiply(product, shape[i]);
  return product;
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  return shape.rank() == 1 ? Shape{rows} : Shape{rows, row_elements(shape)};
}

std::int64_t filled_rows(const Shape& shape, std::int64_t first, std::int64_t count) {
  return std::clamp<std::int64_t>(shape[0] - first, 0, count);
}

Shard shard_of(const Shape& stored, const Mesh& mesh) {
  const std::int64_t multiple = kShardElements / std::gcd(kShardElements, row_elements(stored));
  const std::int64_t rows = round_up((stored[0] + mesh.ranks - 1) / mesh.ranks, multiple);
  return {with_rows(stored, rows), with_rows(stored, checked_multiply(rows, mesh.ranks)),
          rows * mesh.rank};
}

Tensor own_part(const Tensor& tensor, const Shard& shard) {
  const bool whole = tensor.stored()[0] != shard.part[0];
  const std::uint64_t offset =
      whole ? tensor.format().bytes(shard.first * row_elements(shard.part)) : 0;
  return Tensor::view(tensor, offset, tensor.name(), tensor.category(), tensor.format(), shard.part,
                      shard.part);
}

std::vector<PartAndWhole> runs_of(const Tensor& part, const Tensor& room, std::int64_t elements,
                                  std::int64_t ranks) {
  const auto in_part = runs(part.format(), part.stored().elements());
  const auto in_whole = runs(part.format(), elements);
  std::vector<PartAndWhole> list;
  for (std::size_t i = 0; i < in_part.size() && in_part[i].bytes > 0; ++i) {
    list.push_back(
        {bytes_of(part, in_part[i].offset, in_part[i].bytes),
         bytes_of(room, in_whole[i].offset,
                  checked_multiply(in_part[i].bytes, static_cast<std::uint64_t>(ranks)))});
  }
  return list;
}

std::uint64_t room_bytes(Format format, const Shard& shard, std::int64_t elements) {
  const auto ranks = static_cast<std::uint64_t>(shard.whole[0] / shard.part[0]);
  const auto in_part = runs(format, shard.part.elements());
  const auto in_whole = runs(format, elements);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < in_part.size(); ++i) {
    most = std::max(most, in_whole[i].offset + checked_multiply(in_part[i].bytes, ranks));
  }
  return most;
}

}  // namespace vramfit
