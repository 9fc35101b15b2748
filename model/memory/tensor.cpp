#include "model/memory/tensor.h"

#include <stdexcept>
#include <utility>

#include "model/checked.h"

namespace vramfit {

Shape::Shape(std::initializer_list<std::int64_t> sizes) : rank_(sizes.size()) {
  if (rank_ > kMaxRank) throw std::logic_error("a shape has more than four dimensions");
  std::size_t i = 0;
  for (const std::int64_t size : sizes) sizes_[i++] = size;
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < rank_; ++i) product = checked_multiply(product, sizes_[i]);
  return product;
}

Tensor::Tensor(Ledger& ledger, const Name& name, Category category, Format format,
               const Shape& shape, const Shape& stored)
    : bytes_(format.bytes(stored.elements())),
      name_(name),
      shape_(shape),
      stored_(stored),
      category_(category),
      format_(format) {
  block_ = ledger.allocate(name, category, bytes_);
  ledger_ = &ledger;
  holds_ = true;
}

Tensor Tensor::view(const Tensor& whole, std::uint64_t offset, const Name& name, Category category,
                    Format format, const Shape& shape, const Shape& stored) {
  Tensor part;
  part.bytes_ = format.bytes(stored.elements());
  if (!whole || offset + part.bytes_ > whole.bytes_) {
    throw std::logic_error(name.text() + ": a view of more than " + whole.name_.text() + " holds");
  }
  part.block_ = whole.block_;
  part.block_.offset += offset;
  part.block_.bytes = part.bytes_;
  if (part.block_.data != nullptr) part.block_.data += offset;
  part.name_ = name;
  part.shape_ = shape;
  part.stored_ = stored;
  part.category_ = category;
  part.format_ = format;
  part.holds_ = true;
  return part;
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this != &other) {
    release();
    *this = std::as_const(other);
    other.forget();
  }
  return *this;
}

void Tensor::release() noexcept {
  if (ledger_ != nullptr) ledger_->free(name_, category_, bytes_, block_);
  forget();
}

}  // namespace vramfit
