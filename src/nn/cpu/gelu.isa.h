// GELU in its erf form, x Phi(x), and its slope Phi(x) + x phi(x), for one register.
//
// With a = |x|:  gelu(x) = max(x, 0) - a q(a),  q(a) = 1 - Phi(a) = exp(-a^2/2) R(a).
// R is smooth and falls from 1/2 to 1/15 on [0, 6], so a polynomial of degree 10 serves: its
// weighted error exp(-a^2/2) max(1, a) |dR| is 1.2e-7 (least squares, reweighted towards minimax).
// Beyond 6, a q(a) is below 6e-9 and a is held at 6. exp comes from 2^n 2^r, |r| <= 1/2, with a
// polynomial of degree 5 (relative error 7.6e-8). No division, no branch. NaN stays NaN.
#pragma once

#include "core/simd.h"

namespace stap::STAP_ISA {

struct Gelu {
  Vec<float> value;
  Vec<float> slope;
};

template <bool WithSlope>
inline Gelu gelu(Vec<float> x) {
  using V = Vec<float>;
  using I = VecOf<float>::mask;
  const I sign_bit = I{} + INT32_MIN;
  const I sign = (I)x & sign_bit;
  V a = (V)((I)x & ~sign_bit);
  a = broadcast(6.0f) < a ? broadcast(6.0f) : a;

  // exp(-a^2/2) = 2^y; adding 1.5 * 2^23 rounds y to an integer held in the low mantissa bits.
  const V y = a * a * broadcast(-0.72134752044f);
  const V shifted = y + broadcast(12582912.0f);
  const V r = y - (shifted - broadcast(12582912.0f));
  V e = broadcast(0.0013276408426463604f);
  e = fma(e, r, broadcast(0.009675540961325169f));
  e = fma(e, r, broadcast(0.05550713464617729f));
  e = fma(e, r, broadcast(0.24022120237350464f));
  e = fma(e, r, broadcast(0.6931469440460205f));
  e = fma(e, r, broadcast(1.0000001192092896f));
  e = (V)((I)e + ((I)shifted << 23));

  V q = broadcast(1.2714087915810524e-06f);
  q = fma(q, a, broadcast(-2.8997110348427668e-05f));
  q = fma(q, a, broadcast(0.00029518044902943075f));
  q = fma(q, a, broadcast(-0.0018014759989455342f));
  q = fma(q, a, broadcast(0.007542031351476908f));
  q = fma(q, a, broadcast(-0.023763136938214302f));
  q = fma(q, a, broadcast(0.06070199981331825f));
  q = fma(q, a, broadcast(-0.13230572640895844f));
  q = fma(q, a, broadcast(0.24986961483955383f));
  q = fma(q, a, broadcast(-0.39893248677253723f));
  q = fma(q, a, broadcast(0.49999988079071045f));
  q = q * e;

  Gelu result;
  // max written so that NaN takes the second branch and stays.
  result.value = fnma(a, q, x < V{} ? V{} : x);
  if constexpr (WithSlope) {
    const V half = (V)((I)(broadcast(0.5f) - q) ^ sign);
    result.slope = fma(x * broadcast(0.3989422804f), e, broadcast(0.5f) + half);
  }
  return result;
}

}  // namespace stap::STAP_ISA
