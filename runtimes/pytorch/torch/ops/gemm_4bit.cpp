#include "runtimes/pytorch/torch/ops/gemm_4bit.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kBlockSize = 64;
constexpr std::int64_t kAlwaysFusedRows = 4;
constexpr std::int64_t kFusedRows = 1536;       ///< at most
constexpr std::int64_t kSmallWeight = 4 << 20;  ///< elements

/// The same in the terms of the thresholds.
class Heuristic {
 public:
  explicit Heuristic(const Gemm4Bit& gemm)
      : sm_(gemm.arch.sm),
        sms_(gemm.multiprocessors),
        m_(gemm.rows),
        n_(gemm.out),
        k_(gemm.in),
        blocks_((gemm.out + 63) / 64) {}

  bool fuses() const {
    if (sm_ == 87 || major() == 11) return false;
    if (major() == 10) return m_ <= data_centre_blackwell();
    if (n_ * k_ < kSmallWeight) return m_ <= small_weight();
    if (m_ > 512) return false;
    if (m_ < 8) return fuses_few_rows();
    return m_ <= large_weight();
  }

 private:
  int major() const { return sm_ / 10; }
  bool is_ampere() const { return sm_ == 80; }
  bool is_hopper() const { return major() == 9; }
  bool has_hbm() const { return is_ampere() || is_hopper(); }
  /// Blocks of 64 outputs fill at least this part of the multiprocessors.
  bool waves(std::int64_t part, std::int64_t whole = 1) const {
    return blocks_ * whole >= sms_ * part;
  }
  bool half_wave() const { return blocks_ >= sms_ / 2; }

  // Each gives the most rows that the fused kernel is taken for.
  std::int64_t data_centre_blackwell() const {
    if (waves(3)) return 32;
    return waves(1) && k_ < n_ ? 8 : 0;
  }

  std::int64_t small_weight() const {
    if (k_ * 2 < n_) return small_and_wide();
    const bool quarter_wave = blocks_ * 4 <= sms_;
    if (is_ampere() && quarter_wave) {
      if (k_ < n_) return 384;
      return blocks_ * 8 <= sms_ ? 32 : 128;
    }
    if (sm_ == 75 && !waves(1) && m_ > 8) return 64;
    if (quarter_wave) return k_ < n_ || has_hbm() ? 32 : 23;
    return blocks_ * 2 <= sms_ ? 16 : 0;
  }

  std::int64_t small_and_wide() const {
    const bool low_wave = !waves(1, 3);
    if (is_ampere()) return low_wave ? 1536 : 512;
    if (is_hopper()) return low_wave ? 512 : 320;
    if (sm_ == 75) {
      if (waves(3)) return 320;
      if (k_ >= 1024) return 64;
      return k_ >= 704 ? 96 : 320;
    }
    return !waves(1) && blocks_ * k_ > sms_ * 320 ? 192 : 320;
  }

  /// 5 to 7 of them.
  bool fuses_few_rows() const {
    if (!has_hbm() || m_ < 6 || blocks_ < (is_hopper() ? 36 : 48)) return true;
    const bool below_three_quarters = !waves(3, 4);
    const bool below_three_fifths = !waves(3, 5);
    if (k_ > n_ && below_three_quarters) return false;
    if (k_ != n_) return true;
    return is_ampere() ? !below_three_fifths : !below_three_quarters || below_three_fifths;
  }

  std::int64_t large_weight() const {
    if (sm_ == 75) return turing();
    if (is_ampere()) return ampere();
    if (sm_ == 86) return waves(1) ? 128 : half_wave() ? 64 : 16;
    if (is_hopper()) return hopper();
    if (sm_ == 121 && waves(1)) return 256;
    if (sm_ == 120) return blackwell();
    return ada();
  }

  std::int64_t turing() const {
    if (waves(3)) return k_ < n_ ? 128 : 64;
    return half_wave() ? 64 : 32;
  }

  std::int64_t ampere() const {
    if (waves(3)) return 128;
    if (waves(1)) return k_ < n_ ? 64 : 32;
    if (k_ >= n_ * 3 && blocks_ * 4 > sms_) return 0;
    if (k_ == n_ && blocks_ >= 48 && !waves(3, 5)) return 0;
    if (!waves(1, 2)) {
      if (k_ <= n_) return 128;
      if (waves(1, 3)) return 0;
    }
    return half_wave() && k_ < n_ ? 128 : 16;
  }

  std::int64_t hopper() const {
    if (waves(3)) return 64;
    if (waves(2)) return 48;
    if (waves(1)) return 32;
    if (!half_wave() || (k_ >= n_ && !waves(3, 4))) return 0;
    return 16;
  }

  std::int64_t blackwell() const {
    if (waves(3)) return 256;
    if (waves(2)) return 128;
    if (waves(4, 5)) return k_ >= n_ ? 96 : 64;
    if (half_wave()) return k_ * 2 >= n_ && blocks_ >= 128 ? 64 : 8;
    return k_ > n_ * 2 && blocks_ > 64 ? 16 : 8;
  }

  /// And whatever has no figures of its own.
  std::int64_t ada() const {
    const bool tall = k_ > n_ * 2;
    if (waves(3)) return 256;
    if (waves(2)) return 128;
    if (waves(4, 5)) {
      if (tall || blocks_ >= 200) return 128;
      if (k_ < n_) return 64;
      return sms_ >= 60 ? 128 : 32;
    }
    if (half_wave()) return tall ? 64 : blocks_ >= 64 ? 8 : 32;
    if (k_ > n_ && blocks_ <= 48) return k_ >= n_ * 3 ? 12 : 10;
    return tall || blocks_ < 48 ? 16 : 8;
  }

  int sm_;
  std::int64_t sms_, m_, n_, k_;
  std::int64_t blocks_;
};

}  // namespace

bool is_fused(const Gemm4Bit& gemm) {
  if (gemm.rows > kFusedRows || gemm.in % kBlockSize != 0) return false;
  if (gemm.rows <= kAlwaysFusedRows) return true;
  // Without tensor cores for the type there is a kernel for a few rows alone.
  const bool tensor_cores =
      gemm.type != ScalarType::Float &&
      (gemm.arch.sm >= 80 || (gemm.arch.sm == 75 && gemm.type == ScalarType::Half));
  if (!tensor_cores) return gemm.rows < 8;
  return Heuristic(gemm).fuses();
}

}  // namespace vramfit::pytorch
