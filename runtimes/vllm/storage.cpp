#include "runtimes/vllm/storage.h"

#include "model/errors.h"

namespace vramfit::vllm {
namespace {

Storage of_linears(const std::string& quantization, const Shape& shape) {
  if (quantization.empty()) return Storage::Plain;
  if (quantization == "compressed-tensors") {
    if (shape.packed && !shape.floats && (shape.bits == 4 || shape.bits == 8)) {
      return Storage::Packed;
    }
    if (!shape.packed && shape.bits == 8) return Storage::Fp8;
    throw BadInput(
        "quant: of compressed-tensors weights of 8 bits, or packed in 4 or 8, are predicted; "
        "vramfit run -- vllm serve runs the others");
  }
  if (quantization == "fp8") return Storage::Fp8;
  if (quantization == "awq" || quantization == "awq_marlin" || quantization == "gptq" ||
      quantization == "gptq_marlin") {
    return Storage::Packed;
  }
  if (quantization == "bitsandbytes") return Storage::Nf4;
  if (quantization == "mxfp4" || quantization == "gpt_oss_mxfp4") return Storage::Mxfp4;
  throw BadInput(
      "quant: what " + quantization +
      " keeps is not predicted; fp8, awq, gptq, mxfp4, bitsandbytes, compressed-tensors, or none");
}

}  // namespace

std::string quantization_of(const Shape& shape, const Options& options) {
  const std::string& named =
      options.quantization.empty() ? shape.quantization : options.quantization;
  const Storage storage = of_linears(named, shape);
  const bool is_stored =
      storage == Storage::Packed || storage == Storage::Mxfp4 || named == "compressed-tensors";
  if (shape.quantization.empty() && is_stored) {
    throw BadInput("quant: " + named +
                   " is how a checkpoint is stored, and this one is not; fp8, bitsandbytes, or a "
                   "model that is");
  }
  return named;
}

bool in_bytes(const Shape& shape, const Options& options) {
  return of_linears(quantization_of(shape, options), shape) == Storage::Fp8;
}

Storage storage_of(const Weight& weight, const Shape& shape, const Options& options) {
  if (weight.kind == WeightKind::Whole) return Storage::Plain;
  const Storage storage = of_linears(quantization_of(shape, options), shape);
  if (storage == Storage::Mxfp4 && weight.kind != WeightKind::Experts) return Storage::Plain;
  return storage;
}

bool quantizes_inputs(const Shape& shape, const Options& options) {
  const std::string quantization = quantization_of(shape, options);
  return quantization == "fp8" || (quantization == "compressed-tensors" && shape.byte_inputs);
}

bool is_quantized_as_it_loads(const Weight& weight, const Shape& shape, const Options& options) {
  return shape.quantization.empty() && storage_of(weight, shape, options) == Storage::Fp8;
}

}  // namespace vramfit::vllm
