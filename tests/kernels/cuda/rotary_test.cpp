#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

struct Sizes {
  std::int64_t batch;
  std::int64_t seq;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;

  std::int64_t width() const { return (heads + 2 * kv_heads) * head_dim; }
  std::string text() const {
    return std::to_string(batch) + " x " + std::to_string(seq) + ", heads " +
           std::to_string(heads) + "/" + std::to_string(kv_heads) + " of " +
           std::to_string(head_dim);
  }
};

constexpr Sizes kSizes[] = {{1, 1, 1, 1, 2},    {2, 3, 4, 2, 4},   {1, 33, 3, 1, 6},
                            {3, 50, 8, 2, 128}, {1, 9, 5, 5, 256}, {2, 700, 4, 1, 64}};

class RotaryTest : public OpTest {};

TEST_P(RotaryTest, ThereAndBack) {
  Rope rope;
  for (const Rope::Scaling scaling : {Rope::Scaling::None, Rope::Scaling::Llama3}) {
    rope.scaling = scaling;
    rope.factor = 8;
    for (const Sizes& s : kSizes) {
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{8000}}) {
        Lab lab(GetParam());
        const RopeFrequencies frequencies = rope_frequencies(rope, s.head_dim);
        Twin qkv = lab.random({s.batch * s.seq, s.width()});
        Twin starts = lab.integers(s.batch, static_cast<std::int32_t>(first));
        for (const bool backward : {false, true}) {
          lab.run([&](Device& device, Side side) {
            device.run(RotaryEmbedding{side(qkv), s.seq, s.heads + s.kv_heads, s.head_dim,
                                       frequencies, first == 0 ? nullptr : side(&starts),
                                       backward});
          });
          // An angle of thousands of radians has some 1e-4 of its own in fp32.
          lab.expect_close(
              qkv, first == 0 ? Bound::once.times(10) : Bound{1e-3, 2e-3, 4e-3},
              "rotary " + s.text() + " from " + std::to_string(first) + (backward ? ", back" : ""));
          lab.equalize(qkv);
        }
      }
    }
  }
}

VRAMFIT_FOR_EACH_DTYPE(RotaryTest);

}  // namespace
}  // namespace vramfit
