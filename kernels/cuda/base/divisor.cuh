#pragma once

namespace vramfit::gpu {

/// x / divisor, correctly rounded (Markstein 1990) where x is 0 or at least 2^-102, in three
/// instructions: a division is dozens, and code that no kernel before has run comes from memory.
/// The divisor is at least 2^-126; of an infinite one the quotient is NaN.
class Divisor {
 public:
  __device__ explicit Divisor(float divisor) : divisor_(divisor), inverse_(1.0F / divisor) {}
  __device__ float divide(float x) const {
    const float near = x * inverse_;
    return fmaf(fmaf(-near, divisor_, x), inverse_, near);
  }

 private:
  float divisor_;
  float inverse_;
};

}  // namespace vramfit::gpu
