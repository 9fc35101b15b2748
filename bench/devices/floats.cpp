#include "bench/devices/floats.h"

#include <algorithm>

#include "kernels/cpu/element.h"

namespace vramfit::bench {

std::vector<float> download_floats(Device& device, const Tensor& from) {
  std::vector<float> values(static_cast<std::size_t>(from.stored().elements()));
  with_element(from.format(), [&](auto e) {
    std::vector<decltype(e)> elements(values.size());
    device.download(elements.data(), from, from.bytes());
    std::transform(elements.begin(), elements.end(), values.begin(),
                   [](auto element) { return static_cast<float>(element); });
  });
  return values;
}

void upload_floats(Device& device, std::span<const float> values, const Tensor& to) {
  with_element(to.format(), [&](auto e) {
    using Element = decltype(e);
    std::vector<Element> elements(static_cast<std::size_t>(to.stored().elements()), Element{});
    std::transform(values.begin(), values.end(), elements.begin(),
                   [](float value) { return static_cast<Element>(value); });
    device.upload(to, elements.data(), to.bytes());
  });
}

}  // namespace vramfit::bench
