#include "runtimes/pytorch/torch/aten/value.h"

#include "model/errors.h"

namespace vramfit::pytorch::aten {

std::optional<ScalarType> type_named(std::string_view name) {
  static constexpr std::pair<std::string_view, ScalarType> kTypes[] = {
      {"float32", ScalarType::Float},
      {"float16", ScalarType::Half},
      {"bfloat16", ScalarType::BFloat16},
      {"int64", ScalarType::Long},
      {"int32", ScalarType::Int},
      {"bool", ScalarType::Bool},
      {"uint8", ScalarType::Byte},
      {"int8", ScalarType::Char},
      {"complex64", ScalarType::ComplexFloat},
  };
  for (const auto& [own, type] : kTypes) {
    if (own == name) return type;
  }
  return std::nullopt;
}

namespace {

std::int64_t integer_of(const Value& value) {
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  throw BadInput("a list of whole numbers that has something else");
}

}  // namespace

std::vector<Tensor> Call::tensors(std::size_t i) const {
  std::vector<Tensor> all;
  const auto* list = get<std::vector<Value>>(i);
  if (list == nullptr) return all;
  for (const Value& each : *list) {
    const Tensor* tensor = each.as<Tensor>();
    all.push_back(tensor != nullptr ? *tensor : Tensor());
  }
  return all;
}

std::int64_t Call::integer(std::size_t i, std::int64_t otherwise) const {
  if (const auto* integer = get<std::int64_t>(i)) return *integer;
  if (const auto* real = get<double>(i)) return static_cast<std::int64_t>(*real);
  return otherwise;
}

std::vector<std::int64_t> Call::integers(std::size_t i) const {
  std::vector<std::int64_t> all;
  const auto* list = get<std::vector<Value>>(i);
  if (list == nullptr) return all;
  for (const Value& each : *list) all.push_back(integer_of(each));
  return all;
}

double Call::real(std::size_t i, double otherwise) const {
  if (const auto* real = get<double>(i)) return *real;
  if (const auto* integer = get<std::int64_t>(i)) return static_cast<double>(*integer);
  return otherwise;
}

bool Call::flag(std::size_t i, bool otherwise) const {
  const auto* flag = get<bool>(i);
  return flag != nullptr ? *flag : otherwise;
}

std::string Call::text(std::size_t i) const {
  const auto* text = get<std::string>(i);
  return text != nullptr ? *text : std::string();
}

std::optional<ScalarType> Call::type(std::size_t i) const {
  const auto* type = get<ScalarType>(i);
  return type != nullptr ? std::optional(*type) : std::nullopt;
}

Dims Call::dims(std::size_t i) const {
  if (const auto* one = get<std::int64_t>(i)) return {*one};
  Dims dims;
  if (const auto* list = get<std::vector<Value>>(i)) {
    for (const Value& each : *list) dims.push_back(integer_of(each));
  }
  return dims;
}

int Call::dim(std::size_t i, int rank, std::int64_t otherwise) const {
  const std::int64_t dim = integer(i, otherwise);
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

}  // namespace vramfit::pytorch::aten
