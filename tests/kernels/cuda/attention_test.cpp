#include "model/errors.h"
#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

std::string text(const AttentionShape& s) {
  return "attention " + std::to_string(s.batch) + " x " + std::to_string(s.seq) + ", heads " +
         std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " of " +
         std::to_string(s.head_dim);
}

/// Ratios 1, 2, 4 and 8; one token, odd lengths, one tile and several; heads as cuDNN takes them.
/// Few, as cuDNN compiles a kernel for each.
constexpr AttentionShape kShapes[] = {{1, 1, 1, 1, 8},     {2, 1, 4, 2, 16},  {2, 7, 4, 1, 16},
                                      {1, 64, 8, 1, 64},   {3, 33, 2, 2, 8},  {2, 129, 4, 2, 40},
                                      {1, 200, 4, 4, 128}, {1, 65, 3, 1, 256}};
/// Those that only fp32's own kernels and the Cublas form take.
constexpr AttentionShape kOddHeads[] = {{2, 3, 4, 2, 3}, {1, 70, 2, 1, 20}, {2, 9, 1, 1, 1}};

/// Sums of products of 16-bit numbers, one factor of which the GPU rounds before it multiplies.
const Bound kForward{5e-6, 1.5e-3, 1e-2};
/// The gradient of the scores is rounded as well, where it is small beside what it is a difference
/// of.
const Bound kBackward{2e-5, 4e-3, 3e-2};

/// One attention with all the tensors that its contract wants.
class Case {
 public:
  Case(DType dtype, AttentionForm form, const AttentionShape& shape)
      : lab_(dtype),
        form_(form),
        shape_(shape),
        qkv_(lab_.random({shape.tokens(), shape.qkv_width()})),
        dout_(lab_.random({shape.tokens(), shape.q_width()})),
        out_(lab_.empty({shape.tokens(), shape.q_width()})),
        dqkv_(lab_.empty({shape.tokens(), shape.qkv_width()})),
        gemm_workspace_(lab_.gemm_workspace()) {
    if (flash()) {
      log_sum_exp_ = lab_.floats({shape.batch, shape.heads, shape.seq});
    } else {
      probabilities_ = lab_.empty({shape.batch, shape.heads, shape.seq, shape.seq});
      dscores_ = lab_.empty({shape.batch, shape.heads, shape.seq, shape.seq});
    }
  }

  void forward(bool keep) {
    Twin workspace = lab_.bytes(attention_forward_workspace_bytes(form_, shape_, lab_.dtype()));
    lab_.run([&](Device& device, Side side) {
      device.run(AttentionForward{
          form_, shape_, side(qkv_), side(out_), flash() && keep ? side(&log_sum_exp_) : nullptr,
          flash() ? nullptr : side(&probabilities_), side(workspace), side(gemm_workspace_)});
    });
    lab_.expect_close(out_, kForward, what() + (keep ? "" : ", without statistics"));
    if (flash() && keep) lab_.expect_close(log_sum_exp_, {2e-5, 0, 0}, "statistics of " + what());
    if (!flash()) lab_.expect_close(probabilities_, kForward, "probabilities of " + what());
  }

  void backward() {
    for (Twin* twin : {&out_, flash() ? &log_sum_exp_ : &probabilities_}) lab_.equalize(*twin);
    Twin workspace = lab_.bytes(attention_backward_workspace_bytes(form_, shape_, lab_.dtype()));
    lab_.run([&](Device& device, Side side) {
      device.run(AttentionBackward{
          form_, shape_, side(qkv_), side(out_), flash() ? side(&log_sum_exp_) : nullptr,
          flash() ? nullptr : side(&probabilities_), side(dout_), side(dqkv_),
          flash() ? nullptr : side(&dscores_), side(workspace), side(gemm_workspace_)});
    });
    lab_.expect_close(dqkv_, kBackward, "backward of " + what());
    if (!flash()) lab_.expect_close(dscores_, kBackward, "dscores of " + what());
  }

 private:
  bool flash() const { return form_ == AttentionForm::Flash; }
  std::string what() const { return std::string(name(form_)) + " " + text(shape_); }

  Lab lab_;
  AttentionForm form_;
  AttentionShape shape_;
  Twin qkv_;
  Twin dout_;
  Twin out_;
  Twin dqkv_;
  Twin gemm_workspace_;
  Twin log_sum_exp_;
  Twin probabilities_;
  Twin dscores_;
};

class AttentionTest : public OpTest {
 protected:
  void check(AttentionForm form, const AttentionShape& shape) {
    Case attention(GetParam(), form, shape);
    attention.forward(false);
    attention.forward(true);
    attention.backward();
  }
};

TEST_P(AttentionTest, Flash) {
  if (is_16_bit(GetParam()) && gpu_info().cudnn == "none") GTEST_SKIP() << "skipped: no cuDNN";
  for (const AttentionShape& shape : kShapes) check(AttentionForm::Flash, shape);
  if (is_16_bit(GetParam())) return;
  for (const AttentionShape& shape : kOddHeads) check(AttentionForm::Flash, shape);
}

TEST_P(AttentionTest, Cublas) {
  for (const AttentionShape& shape : kShapes) check(AttentionForm::Cublas, shape);
  for (const AttentionShape& shape : kOddHeads) check(AttentionForm::Cublas, shape);
}

/// A cache on both sides. Blocks of sequences are mixed in it; 0: each has one of its own.
struct CacheTwin {
  CacheTwin(Lab& lab, Format format, const AttentionShape& shape, std::int64_t positions,
            std::int64_t block)
      : blocks(block == 0 ? 1 : (positions + block - 1) / block),
        size(block == 0 ? positions : block),
        keys(lab.stored(format, {shape.batch * blocks, size, shape.kv_heads, shape.head_dim})),
        values(lab.stored(format, keys.cpu.shape())),
        key_scales(lab.floats({shape.batch * blocks, size, shape.kv_heads})),
        value_scales(lab.floats(key_scales.cpu.shape())),
        table(lab.stored(DType::Int32, {shape.batch, blocks})),
        paged(block != 0) {
    for (std::int64_t i = 0; i < shape.batch * blocks; ++i) {
      // Each sequence's last first.
      const std::int64_t block_number = (blocks - 1 - i % blocks) * shape.batch + i / blocks;
      table.cpu.as<std::int32_t>()[i] = static_cast<std::int32_t>(block_number);
    }
    lab.equalize(table);
  }

  KvBlocks view(Side side) {
    const bool scaled = is_quantized(keys.cpu.format());
    return {side(keys), side(values), scaled ? side(&key_scales) : nullptr,
            scaled ? side(&value_scales) : nullptr, paged ? side(&table) : nullptr};
  }

  std::int64_t blocks;
  std::int64_t size;
  Twin keys;
  Twin values;
  Twin key_scales;
  Twin value_scales;
  Twin table;
  bool paged;
};

/// Prefill into a cache, then tokens one by one, against the whole of it. Prompts are of one length
/// or each a token longer than the one before.
void check_decoding(DType dtype, Format format, const AttentionShape& prompt, std::int64_t block,
                    bool unequal) {
  Lab lab(dtype);
  AttentionShape one = prompt;
  one.seq = 1;
  const std::int64_t positions = prompt.seq + 3;
  CacheTwin cache(lab, format, prompt, positions, block);
  const std::int64_t shortest =
      unequal ? std::max<std::int64_t>(prompt.seq - prompt.batch + 1, 1) : prompt.seq;
  const std::int32_t step = unequal && prompt.seq >= prompt.batch ? 1 : 0;
  Twin lengths = lab.integers(prompt.batch, static_cast<std::int32_t>(shortest), step);
  Twin qkv = lab.random({prompt.tokens(), prompt.qkv_width()});
  lab.run([&](Device& device, Side side) {
    device.run(KvCacheAppend{prompt, side(qkv), cache.view(side), nullptr, side(&lengths)});
  });
  const RopeFrequencies frequencies = rope_frequencies({}, prompt.head_dim);
  for (const bool rotated : {false, true}) {
    Twin next = lab.random({one.tokens(), one.qkv_width()});
    Twin out = lab.empty({one.tokens(), one.q_width()});
    Twin workspace = lab.bytes(attention_decode_workspace_bytes(one, dtype));
    lab.run([&](Device& device, Side side) {
      device.run(AttentionDecode{one, side(next), rotated ? &frequencies : nullptr,
                                 cache.view(side), side(lengths), side(out), side(workspace)});
      device.run(Advance{side(lengths), 1});
    });
    lab.expect_close(out, kForward,
                     std::string("decode from ") + format.name() + ", blocks of " +
                         std::to_string(block) + (rotated ? ", rotated, " : ", ") + text(prompt));
    lab.expect_close(next, kForward, "q, k and v of " + text(prompt));
  }
  lab.expect_equal(lengths, "lengths");
}

TEST_P(AttentionTest, Decode) {
  for (const AttentionShape& prompt : kShapes) {
    for (const std::int64_t block : {0, 4, 16}) {
      for (const bool unequal : {false, true}) {
        check_decoding(GetParam(), GetParam(), prompt, block, unequal);
      }
    }
  }
  // Caches of so few positions that a cluster decodes them: of a few, with and without a part for
  // all warps and blocks, of one tile a warp and of more.
  for (const std::int64_t seq : {1, 5, 30, 260, 400, 509, 700}) {
    check_decoding(GetParam(), GetParam(), {1, seq, 4, 2, 64}, 16, false);
    check_decoding(GetParam(), GetParam(), {2, seq, 2, 2, 128}, 0, true);
  }
  // Query heads of a key/value head: all that a tile has, and of another number.
  check_decoding(GetParam(), GetParam(), {1, 300, 8, 1, 128}, 0, false);
  check_decoding(GetParam(), GetParam(), {1, 700, 6, 2, 128}, 16, false);
  check_decoding(GetParam(), GetParam(), {1, 260, 7, 1, 64}, 0, false);
  check_decoding(GetParam(), GetParam(), {1, 400, 9, 1, 64}, 0, false);
  // More heads than an H200 decodes at once: caches are split to fill the last round.
  check_decoding(GetParam(), GetParam(), {27, 500, 40, 40, 32}, 16, true);
}

TEST_P(AttentionTest, DecodeFromEightBits) {
  if (!is_16_bit(GetParam())) GTEST_SKIP() << "skipped: 8 bits go with activations in 16";
  for (const DType format : {DType::Int8, DType::Fp8}) {
    for (const AttentionShape& prompt : kShapes) {
      for (const std::int64_t block : {0, 16}) {
        check_decoding(GetParam(), format, prompt, block, true);
      }
    }
  }
}

/// A cache long enough for every split to have something to do.
TEST_P(AttentionTest, DecodeOfALongCache) {
  for (const AttentionShape& one :
       {AttentionShape{1, 1, 8, 1, 64}, AttentionShape{2, 1, 4, 4, 128}}) {
    Lab lab(GetParam());
    const std::int64_t positions = 3001;
    const RopeFrequencies frequencies = rope_frequencies({}, one.head_dim);
    Twin keys = lab.random({one.batch, positions, one.kv_heads, one.head_dim});
    Twin values = lab.random({one.batch, positions, one.kv_heads, one.head_dim});
    Twin qkv = lab.random({one.tokens(), one.qkv_width()});
    for (const std::int64_t length :
         {std::int64_t{1}, std::int64_t{31}, std::int64_t{1025}, positions}) {
      Twin starts = lab.integers(one.batch, static_cast<std::int32_t>(length - 1));
      Twin out = lab.empty({one.tokens(), one.q_width()});
      Twin workspace = lab.bytes(attention_decode_workspace_bytes(one, GetParam()));
      lab.run([&](Device& device, Side side) {
        device.run(AttentionDecode{one,
                                   side(qkv),
                                   &frequencies,
                                   {side(keys), side(values)},
                                   side(starts),
                                   side(out),
                                   side(workspace)});
      });
      lab.expect_close(out, kForward, "decode at " + std::to_string(length) + ", " + text(one));
    }
  }
}

VRAMFIT_FOR_EACH_DTYPE(AttentionTest);

TEST(CudnnAttention, RefusesHeadsItDoesNotRun) {
  VRAMFIT_NEEDS_GPU();
  const AttentionShape shape = {1, 16, 2, 2, 12};
  EXPECT_THROW(Case(DType::Bf16, AttentionForm::Flash, shape).forward(true), BadInput);
}

}  // namespace
}  // namespace vramfit
