// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

/// @file
/// Functions of one or two elements that HLO does not have, by formulas that hold where the obvious ones
/// overflow or cancel. Real functions are computed as eager computes them: halves and integers in float32.

namespace fxpass {

namespace detail {

inline constexpr double ln_2 = 0.69314718055994530942;
inline constexpr double pi = 3.14159265358979323846;

/// (1 - x)(1 + x): x * x would lose what is left near 1.
constexpr auto one_minus_square(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value one = c.full_like(x, 1.0);
  return b.multiply(b.subtract(one, x), b.add(one, x));
}

// Formulas: of a value of a real type, in that type. --------------------------------------------------------
struct Asin {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value root = b.sqrt(one_minus_square(c, x));
    return b.multiply(c.full_like(x, 2.0), b.atan2(x, b.add(c.full_like(x, 1.0), root)));
  }
};
struct Acos {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0);
    const hlo::Value half = b.atan2(b.sqrt(one_minus_square(c, x)), b.add(one, x));
    // At -1 both are 0, and the angle is not.
    const hlo::Value is_end = b.compare(x, c.full_like(x, -1.0), hlo::Direction::eq);
    return b.select(is_end, c.full_like(x, pi), b.multiply(c.full_like(x, 2.0), half));
  }
};
struct Atan {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return c.builder().atan2(x, c.full_like(x, 1.0));
  }
};
struct Sinh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0), ln2 = c.full_like(x, ln_2);
    const hlo::Value large =
        b.subtract(b.exponential(b.subtract(x, ln2)), b.exponential(b.negate(b.add(x, ln2))));
    const hlo::Value e = b.exponential_minus_one(x);
    const hlo::Value small = b.multiply(c.full_like(x, 0.5), b.add(e, b.divide(e, b.add(e, one))));
    return b.select(b.compare(b.abs(x), one, hlo::Direction::lt), small, large);
  }
};
struct Cosh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value ln2 = c.full_like(x, ln_2);
    return b.add(b.exponential(b.subtract(x, ln2)), b.exponential(b.negate(b.add(x, ln2))));
  }
};
struct Asinh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0), a = b.abs(x);
    const hlo::Value square = b.multiply(a, a);
    const hlo::Value root = b.sqrt(b.add(square, one));
    const hlo::Value small = b.log_plus_one(b.add(a, b.divide(square, b.add(one, root))));
    const hlo::Value large = b.add(b.log(a), c.full_like(x, ln_2));
    const hlo::Value is_large = b.compare(a, c.full_like(x, 1e8), hlo::Direction::gt);
    const hlo::Value result = b.select(is_large, large, small);
    return b.select(b.compare(x, c.full_like(x, 0.0), hlo::Direction::lt), b.negate(result), result);
  }
};
struct Acosh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value t = b.subtract(x, c.full_like(x, 1.0));
    const hlo::Value root = b.sqrt(b.multiply(t, b.add(t, c.full_like(x, 2.0))));
    const hlo::Value large = b.add(b.log(x), c.full_like(x, ln_2));
    const hlo::Value is_large = b.compare(x, c.full_like(x, 1e8), hlo::Direction::gt);
    const hlo::Value result = b.select(is_large, large, b.log_plus_one(b.add(t, root)));
    // Far below 1 rounding would make 0 of what is no number.
    const hlo::Value is_outside = b.compare(t, c.full_like(x, 0.0), hlo::Direction::lt);
    return b.select(is_outside, c.full_like(x, std::numeric_limits<double>::quiet_NaN()), result);
  }
};
struct Atanh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value difference = b.subtract(b.log_plus_one(x), b.log_plus_one(b.negate(x)));
    return b.multiply(c.full_like(x, 0.5), difference);
  }
};
struct DegreesToRadians {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return c.builder().multiply(x, c.full_like(x, pi / 180));
  }
};
struct RadiansToDegrees {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return c.builder().multiply(x, c.full_like(x, 180 / pi));
  }
};
struct Softsign {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    return b.divide(x, b.add(b.abs(x), c.full_like(x, 1.0)));
  }
};
struct Tanhshrink {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    return b.subtract(x, b.tanh(x));
  }
};

/// A sum of Chebyshev polynomials at `t`, which lies in [-1, 1], by Clenshaw's recurrence. Of the coefficients, which fall
/// off, float32 needs the first `short_count` alone.
template <std::size_t N>
constexpr auto chebyshev(auto& c, hlo::Value t, const std::array<double, N>& coefficients, std::size_t short_count)
    -> hlo::Value {
  auto& b = c.builder();
  const std::size_t count = b.dtype(t) == DType::f64 ? N : short_count;
  const hlo::Value twice = b.add(t, t);
  hlo::Value last = c.full_like(t, 0.0), before = last;
  for (std::size_t k = count - 1; k > 0; --k) {
    const hlo::Value next = b.add(b.subtract(b.multiply(twice, last), before), c.full_like(t, coefficients[k]));
    before = last;
    last = next;
  }
  return b.add(b.subtract(b.multiply(t, last), before), c.full_like(t, coefficients[0]));
}
/// `value` where `condition` holds for a number that is compared with each element of `x`.
constexpr auto where(auto& c, hlo::Value x, hlo::Direction how, double number, hlo::Value value, hlo::Value otherwise)
    -> hlo::Value {
  auto& b = c.builder();
  return b.select(b.compare(x, c.full_like(x, number), how), value, otherwise);
}
constexpr auto times(auto& c, hlo::Value x, double number) -> hlo::Value {
  return c.builder().multiply(x, c.full_like(x, number));
}
constexpr auto plus(auto& c, hlo::Value x, double number) -> hlo::Value {
  return c.builder().add(x, c.full_like(x, number));
}

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// e^(x^2) erfc(x) for x >= 0: (1 + 2x) times it is smooth in (x - 15/4) / (x + 15/4). Its own fit, by the values at the
/// zeros of a Chebyshev polynomial in 40 digits.
constexpr auto scaled_erfc(auto& c, hlo::Value x) -> hlo::Value {
  constexpr std::array<double, 25> fit{
      1.17757893456740175,     -0.00459005458064647733, -0.0842491333665179156,  0.0592099399981918905,
      -0.0266586684353057523,  0.00907499767070526509,  -0.00241316354041760819, 0.000490775836525808632,
      -0.0000691697330250120637, 4.13902798607301017e-6, 7.74038306619849067e-7, -2.18864010492343957e-7,
      1.07649994656709104e-8,  4.5219598112182869e-9,   -7.75440020883135111e-10, -6.31808834088668449e-11,
      2.8687950109306699e-11,  1.94558685457773472e-13, -9.65469674843343891e-13, 3.25254814814873984e-14,
      3.34781194828680539e-14, -1.8645628804193131e-15, -1.25079505306886471e-15, 7.41823525662404346e-17,
      5.06814890479611132e-17};
  auto& b = c.builder();
  const hlo::Value t = b.subtract(c.full_like(x, 1.0), b.divide(c.full_like(x, 7.5), plus(c, x, 3.75)));
  return b.divide(chebyshev(c, t, fit, 14), plus(c, times(c, x, 2.0), 1.0));
}

struct Erfc {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value a = b.abs(x);
    const hlo::Value tail = b.multiply(b.exponential(b.negate(b.multiply(a, a))), scaled_erfc(c, a));
    const hlo::Value small = b.subtract(c.full_like(x, 1.0), b.erf(x));
    const hlo::Value large = where(c, a, hlo::Direction::gt, 26.7, c.full_like(x, 0.0), tail);
    return where(c, x, hlo::Direction::gt, 0.5, large, small);
  }
};
/// e^(x^2) erfc(x)
struct ScaledErfc {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value a = b.abs(x), tail = scaled_erfc(c, a);
    const hlo::Value left = b.subtract(times(c, b.exponential(b.multiply(a, a)), 2.0), tail);
    const hlo::Value end = where(c, x, hlo::Direction::eq, infinite, c.full_like(x, 0.0), tail);
    return where(c, x, hlo::Direction::lt, 0.0, left, end);
  }
};

/// The x of which erf(x) is given, when w = -log(1 - erf(x)^2): by the two polynomials of M. Giles, "Approximating the
/// erfinv function" (GPU Computing Gems, 2011), and for float64 by two of Newton's steps.
constexpr auto inverse_erf(auto& c, hlo::Value y, hlo::Value w) -> hlo::Value {
  auto& b = c.builder();
  constexpr std::array<double, 9> central{2.81022636e-08,  3.43273939e-07,  -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                          -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr std::array<double, 9> tail{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                       -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const auto polynomial = [&](hlo::Value at, const std::array<double, 9>& p) {
    hlo::Value sum = c.full_like(at, p[0]);
    for (std::size_t k = 1; k < p.size(); ++k) sum = plus(c, b.multiply(sum, at), p[k]);
    return sum;
  };
  const hlo::Value near = polynomial(plus(c, w, -2.5), central), far = polynomial(plus(c, b.sqrt(w), -3.0), tail);
  hlo::Value x = b.multiply(where(c, w, hlo::Direction::lt, 5.0, near, far), y);
  if (b.dtype(x) == DType::f64) {
    for (int step = 0; step < 2; ++step) {
      const hlo::Value error = b.subtract(b.erf(x), y);
      const hlo::Value slope = times(c, b.exponential(b.negate(b.multiply(x, x))), 1.12837916709551257390);
      x = b.subtract(x, b.divide(error, slope));
    }
  }
  const hlo::Value end = b.multiply(y, c.full_like(y, infinite));
  return where(c, b.abs(y), hlo::Direction::eq, 1.0, end, x);
}
struct Erfinv {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    return inverse_erf(c, x, b.negate(b.log(one_minus_square(c, x))));
  }
};
/// The normal distribution: the probability of less than x, its logarithm, and the x of a probability.
struct Ndtr {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return times(c, Erfc::of(c, times(c, x, -half_root)), 0.5);
  }
  static constexpr double half_root = 0.70710678118654752440;
};
struct LogNdtr {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value t = times(c, x, Ndtr::half_root), a = b.negate(b.minimum(t, c.full_like(t, 0.0)));
    const hlo::Value far = b.subtract(b.log(times(c, scaled_erfc(c, a), 0.5)), b.multiply(t, t));
    const hlo::Value near = b.log_plus_one(times(c, Erfc::of(c, t), -0.5));
    return where(c, x, hlo::Direction::lt, -1.0, far, near);
  }
};
struct Ndtri {
  static constexpr auto of(auto& c, hlo::Value p) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value y = plus(c, times(c, p, 2.0), -1.0);
    const hlo::Value product = b.multiply(p, b.subtract(c.full_like(p, 1.0), p));
    return times(c, inverse_erf(c, y, b.negate(b.log(times(c, product, 4.0)))), 1.41421356237309504880);
  }
};

/// log|gamma(x)| by Lanczos' sum (g = 7, 9 terms), and by reflection below 1/2.
struct LogGamma {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value is_left = b.compare(x, c.full_like(x, 0.5), hlo::Direction::lt);
    const hlo::Value z = plus(c, b.select(is_left, b.subtract(c.full_like(x, 1.0), x), x), -1.0);
    constexpr std::array<double, 8> terms{676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                                          -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                                          9.9843695780195716e-6, 1.5056327351493116e-7};
    hlo::Value sum = c.full_like(x, 0.99999999999980993);
    for (std::size_t k = 0; k < terms.size(); ++k)
      sum = b.add(sum, b.divide(c.full_like(x, terms[k]), plus(c, z, static_cast<double>(k + 1))));
    // log(z + 7.5), so that nothing is lost where z is small.
    const hlo::Value log_t = plus(c, b.log_plus_one(times(c, z, 1.0 / 7.5)), 2.01490302054226472);
    const hlo::Value t = plus(c, z, 7.5);
    const hlo::Value power = b.multiply(b.subtract(plus(c, z, 0.5), b.divide(t, log_t)), log_t);
    const hlo::Value right = b.add(plus(c, power, 0.91893853320467274178), b.log(sum));
    // log(pi / |sin(pi x)|) - log gamma(1 - x); the sine of the part behind the point is exact at whole numbers.
    const hlo::Value a = b.abs(x), part = b.subtract(a, b.floor(a));
    const hlo::Value near = where(c, part, hlo::Direction::gt, 0.5, b.subtract(c.full_like(x, 1.0), part), part);
    const hlo::Value sine = b.log(b.sine(times(c, near, pi)));
    const hlo::Value left = b.subtract(plus(c, b.negate(sine), 1.14472988584940017414), right);
    const hlo::Value result = b.select(is_left, left, right);
    const hlo::Value is_infinite = b.compare(a, c.full_like(a, infinite), hlo::Direction::eq);
    return b.select(is_infinite, a, result);
  }
};

/// The sum of 1 / (x + k)^2, or of another term, for k below 10, added to what a series for large x gives at x + 10.
struct Digamma {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0);
    const hlo::Value is_left = b.compare(x, c.full_like(x, 0.0), hlo::Direction::le);
    const hlo::Value z = b.select(is_left, b.subtract(one, x), x);
    hlo::Value below = c.full_like(x, 0.0), y = z;
    for (int k = 0; k < 10; ++k) {
      const hlo::Value is_small = b.compare(y, c.full_like(x, 10.0), hlo::Direction::lt);
      below = b.select(is_small, b.add(below, b.divide(one, y)), below);
      y = b.select(is_small, b.add(y, one), y);
    }
    constexpr std::array<double, 6> series{1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760};
    const hlo::Value square = b.divide(one, b.multiply(y, y));
    hlo::Value tail = c.full_like(x, series.back());
    for (std::size_t k = series.size() - 1; k-- > 0;) tail = plus(c, b.multiply(tail, square), series[k]);
    const hlo::Value half = b.divide(c.full_like(x, 0.5), y);
    const hlo::Value right =
        b.subtract(b.subtract(b.subtract(b.log(y), half), b.multiply(tail, square)), below);
    // psi(1 - x) - pi / tan(pi x); a pole at each whole number, of either sign at both zeros, as eager has it.
    const hlo::Value part = b.subtract(x, b.round_nearest_even(x));  // the tangent's, which is worst far from 0
    const hlo::Value left = b.subtract(right, b.divide(c.full_like(x, pi), b.tan(times(c, part, pi))));
    const hlo::Value poles = where(c, part, hlo::Direction::eq, 0.0, c.full_like(x, not_a_number), left);
    const hlo::Value at_zero = where(c, x, hlo::Direction::eq, 0.0, b.negate(b.divide(one, x)), poles);
    const hlo::Value result = b.select(is_left, at_zero, right);
    return where(c, x, hlo::Direction::eq, infinite, x, result);
  }
};

/// The sum of (q + k)^-s over all k, by the sum formula of Euler and Maclaurin from where q + k is above 9, and 10 terms are
/// summed at least.
constexpr auto hurwitz_zeta(auto& c, hlo::Value s, hlo::Value q) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value minus_s = b.negate(s), finite_q = b.select(b.is_finite(q), q, c.full_like(q, 1.0));
  const hlo::Value init = b.tuple({b.constant(DType::i32, 0), finite_q, c.full_like(q, 0.0), minus_s});
  if (!init.valid()) return init;
  const hlo::ShapeId shape = b.shape_id(init);
  const auto is_open = [&](hlo::Value k, hlo::Value at) {
    const hlo::Value is_early = b.compare(k, b.constant(DType::i32, 10), hlo::Direction::lt);
    return b.or_(b.broadcast(is_early, b.dims(at)), b.compare(at, c.full_like(at, 9.0), hlo::Direction::le));
  };
  const hlo::ComputationId condition = b.computation("has_terms_left", [&] {
    const hlo::Value state = b.parameter(shape), at = b.get_tuple_element(state, 1);
    return b.reduce(is_open(b.get_tuple_element(state, 0), at), b.constant(DType::boolean, false), hlo::iota_dims(b.rank(at)),
                    b.scalar_computation(hlo::Opcode::or_, DType::boolean));
  });
  const hlo::ComputationId body = b.computation("add_term", [&] {
    const hlo::Value state = b.parameter(shape), k = b.get_tuple_element(state, 0), at = b.get_tuple_element(state, 1);
    const hlo::Value total = b.get_tuple_element(state, 2), power = b.get_tuple_element(state, 3), open = is_open(k, at);
    return b.tuple({b.add(k, b.constant(DType::i32, 1)), b.select(open, plus(c, at, 1.0), at),
                    b.select(open, b.add(total, b.power(at, power)), total), power});
  });
  const hlo::Value last = b.while_loop(init, condition, body);
  const hlo::Value a = b.get_tuple_element(last, 1), power = b.power(a, minus_s);
  hlo::Value sum = b.add(b.get_tuple_element(last, 2), b.divide(b.multiply(power, a), plus(c, s, -1.0)));
  sum = b.add(sum, times(c, power, 0.5));
  // B(2j) / (2j)!
  constexpr std::array<double, 7> numbers{1.0 / 12,      -1.0 / 720,        1.0 / 30240,           -1.0 / 1209600,
                                          1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0};
  hlo::Value factor = b.divide(b.multiply(power, s), a);
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    sum = b.add(sum, times(c, factor, numbers[j]));
    const double n = 2.0 * static_cast<double>(j);
    factor = b.divide(b.multiply(factor, b.multiply(plus(c, s, n + 1), plus(c, s, n + 2))), b.multiply(a, a));
  }
  const hlo::Value infinity = c.full_like(s, infinite), nan = c.full_like(s, not_a_number);
  // Poles at whole q below 1; other negative q have real terms for whole s alone.
  const hlo::Value is_whole = b.compare(q, b.floor(q), hlo::Direction::eq);
  const hlo::Value left = b.select(is_whole, infinity,
                                   b.select(b.compare(s, b.floor(s), hlo::Direction::ne), nan, sum));
  hlo::Value result = where(c, q, hlo::Direction::le, 0.0, left, sum);
  result = where(c, s, hlo::Direction::lt, 1.0, nan, result);
  result = where(c, q, hlo::Direction::eq, infinite, c.full_like(q, 0.0), result);
  // To the power of minus infinity the first term is all there is, if it is not below 1.
  const hlo::Value first = where(c, q, hlo::Direction::eq, 1.0, c.full_like(q, 1.0), infinity);
  const hlo::Value is_all = b.and_(b.compare(s, infinity, hlo::Direction::eq), b.compare(q, c.full_like(q, 1.0), hlo::Direction::le));
  result = b.select(is_all, first, result);
  result = b.select(b.compare(q, q, hlo::Direction::ne), q, result);
  return where(c, s, hlo::Direction::eq, 1.0, infinity, result);
}

/// e^-|x| times the modified Bessel functions of order 0, and 1: fits of their own below and above 8, as of `scaled_erfc`.
struct ScaledBessel0 {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    constexpr std::array<double, 29> small{
        0.338397637204738042,    -0.304682672343198399,   0.171620901522208775,    -0.0949010970480476444,
        0.0493052842396707085,   -0.0237374148058994688,  0.0105464603945949983,   -0.00432430999505057594,
        0.0016394756169413358,   -0.000576375574538582366, 0.000188502885095841656, -0.000057541950100821037,
        0.0000164484480707288971, -4.41673835845875056e-6, 1.11738753912010372e-6,  -2.67079385394061173e-7,
        6.04699502254191895e-8,  -1.30002500998624804e-8, 2.65982372468238665e-9,  -5.18979560163526291e-10,
        9.67580903537323691e-11, -1.72682629144155571e-11, 2.95505266312963983e-12, -4.85644678311192946e-13,
        7.67618549860493562e-14, -1.16853328779934517e-14, 1.71539128555513303e-15, -2.43127984654795469e-16,
        3.3307945188222381e-17};
    constexpr std::array<double, 23> large{
        0.402245205507054416,    0.00336911647825569409,   0.0000688975834691682398, 2.89137052083475648e-6,
        2.04891858946906374e-7,  2.26666899049817806e-8,   3.39623202570838635e-9,   4.94060238822496958e-10,
        1.18891471078464395e-11, -3.14991652796324148e-11, -1.32158118404477121e-11, -1.79417853150680685e-12,
        7.18012445138366981e-13, 3.85277838274214333e-13,  1.54008621752136244e-14,  -4.15056934728713994e-14,
        -9.55484669882936665e-15, 3.8116806693537775e-15,  1.77256013305542922e-15,  -3.42548561966828638e-16,
        -2.82762398052229254e-16, 3.46122286771478969e-17, 4.46562142032139877e-17};
    return of_fits(c, c.builder().abs(x), small, 19, large, 7);
  }
  template <std::size_t N, std::size_t M>
  static constexpr auto of_fits(auto& c, hlo::Value a, const std::array<double, N>& small, std::size_t short_small,
                                const std::array<double, M>& large, std::size_t short_large) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value near = chebyshev(c, plus(c, times(c, a, 0.25), -1.0), small, short_small);
    const hlo::Value inverse = b.divide(c.full_like(a, 16.0), a);
    const hlo::Value far = b.divide(chebyshev(c, plus(c, inverse, -1.0), large, short_large), b.sqrt(a));
    return where(c, a, hlo::Direction::le, 8.0, near, far);
  }
};
struct ScaledBessel1 {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    constexpr std::array<double, 28> small{
        0.126293593221816827,    -0.176416518357834055,   0.102643658689847095,     -0.0529459812080949914,
        0.0247264490306265168,   -0.0105640848946261982,  0.00415642294431288816,   -0.00151357245063125315,
        0.000512285956168575773, -0.000161760815825896746, 0.0000478156510755005423, -0.0000132731636560394358,
        3.47025130813767848e-6,  -8.56872026469545474e-7, 2.00329475355213526e-7,   -4.44505912879632808e-8,
        9.38153738649577178e-9,  -1.88724975172282929e-9, 3.62559028155211704e-10,  -6.66348972350202774e-11,
        1.17361862988909016e-11, -1.98397439776494372e-12, 3.22379336594557471e-13, -5.04218550472791169e-14,
        7.60068429473540693e-15, -1.10559694773538631e-15, 1.55363195773620047e-16, -2.11142121435816608e-17};
    constexpr std::array<double, 23> large{
        0.38928811750914006,      -0.00976109749136146841, -0.000110588938762623716, -3.88256480887769039e-6,
        -2.51223623787020893e-7,  -2.63146884688951951e-8, -3.83538038596423702e-9,  -5.5897434621965838e-10,
        -1.89749581235054136e-11, 3.25260358301548836e-11, 1.41258074366137802e-11,  2.0356285441470903e-12,
        -7.1985517762459124e-13,  -4.083551111092198e-13,  -2.10154184277261281e-14, 4.27244001671186208e-14,
        1.04202769841299537e-14,  -3.81440307243826312e-15, -1.88035477550959008e-15, 3.30820231091122035e-16,
        2.96262899765215462e-16,  -3.20952592201225644e-17, -4.65030536851613504e-17};
    auto& b = c.builder();
    const hlo::Value a = b.abs(x);
    // The fit below 8 is of the function divided by |x|: it is 0 at 0.
    const hlo::Value fits = ScaledBessel0::of_fits(c, a, small, 17, large, 7);
    const hlo::Value size = where(c, a, hlo::Direction::le, 8.0, b.multiply(fits, a), fits);
    return where(c, x, hlo::Direction::lt, 0.0, b.negate(size), size);
  }
};
template <class Scaled>
struct Bessel {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value half = b.exponential(times(c, b.abs(x), 0.5));  // of which the square alone may overflow
    return b.multiply(b.multiply(Scaled::of(c, x), half), half);
  }
};

struct Sinc {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value angle = times(c, x, pi);
    return where(c, x, hlo::Direction::eq, 0.0, c.full_like(x, 1.0), b.divide(b.sine(angle), angle));
  }
};
/// -x log(x); 0 at 0, and no more than minus infinity below.
struct Entropy {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value inside = b.negate(b.multiply(x, b.log(x)));
    const hlo::Value right = where(c, x, hlo::Direction::eq, 0.0, c.full_like(x, 0.0), inside);
    return where(c, x, hlo::Direction::lt, 0.0, c.full_like(x, -infinite), right);
  }
};
/// The angle of a real number: 0, or pi below zero.
struct RealAngle {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value angle = where(c, x, hlo::Direction::lt, 0.0, c.full_like(x, pi), c.full_like(x, 0.0));
    return b.select(b.compare(x, x, hlo::Direction::ne), x, angle);
  }
};

constexpr auto is_nan(auto& c, hlo::Value x) -> hlo::Value {
  return c.builder().compare(x, x, hlo::Direction::ne);
}
/// Whether the sign bit is set, which minus zero and some NaN have too. Needs a valid value.
constexpr auto has_sign_bit(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  const DType type = b.dtype(x);
  if (!is_floating(type) && !dtype_info(type).is_signed) return c.full({DType::boolean, b.dims(x)}, 0);
  if (is_floating(type)) x = b.bitcast_convert(x, integer_of_same_size(type));
  return b.compare(x, c.full_like(x, 0), hlo::Direction::lt);
}

}  // namespace detail

/// A real function by its formula.
template <class Formula, TextConstant... Names>
struct LowerFormula {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return x.valid() ? c.to_result(call, Formula::of(c, x)) : x;
  }
};

/// A function that Python has and ATen has not.
template <class Formula, TextConstant Name>
struct LowerPythonFormula {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto input = c.python_argument(call, 0, "input");
    const hlo::Value x =
        input ? c.accurate(c.tensor(call, *input, "input")) : c.unsupported(call, "without input");
    return x.valid() ? c.to_result(call, Formula::of(c, x)) : x;
  }
};

struct LowerSignBit {
  static constexpr std::array<std::string_view, 2> op{"aten.signbit", "prims.signbit"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return x.valid() ? detail::has_sign_bit(c, x) : x;
  }
};

struct LowerFrac {
  static constexpr std::string_view op = "aten.frac";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Value is_negative = b.compare(x, c.full_like(x, 0), hlo::Direction::lt);
    return b.subtract(x, b.select(is_negative, b.ceil(x), b.floor(x)));
  }
};

/// Infinity of one sign.
template <TextConstant Name, hlo::Direction Side>
struct LowerIsInfinityOfSign {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    if (!is_floating(b.dtype(x))) return c.full({DType::boolean, b.dims(x)}, 0);
    const hlo::Value is_infinite =
        b.compare(b.abs(x), b.broadcast(b.highest(b.dtype(x)), b.dims(x)), hlo::Direction::eq);
    return b.and_(is_infinite, b.compare(x, c.full_like(x, 0), Side));
  }
};

/// NaN and infinities as numbers: 0 and the largest finite ones unless the call says otherwise.
struct LowerNanToNum {
  static constexpr std::string_view op = "aten.nan_to_num";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid() || !is_floating(b.dtype(x))) return x;
    const DType type = b.dtype(x);
    const double largest = type == DType::f64    ? 1.7976931348623157e308
                           : type == DType::f16  ? 65504.0
                           : type == DType::bf16 ? 3.3895313892515355e38
                                                 : 3.4028234663852886e38;
    const auto number = [&](std::string_view name, double otherwise) {
      return c.full_like(x, call.has(name) ? c.real(call, name) : otherwise);
    };
    const hlo::Value infinity = b.broadcast(b.highest(type), b.dims(x));
    const auto is = [&](hlo::Value what) { return b.compare(x, what, hlo::Direction::eq); };
    hlo::Value result = b.select(is(infinity), number("posinf", largest), x);
    result = b.select(is(b.negate(infinity)), number("neginf", -largest), result);
    return b.select(detail::is_nan(c, x), number("nan", 0.0), result);
  }
};

/// fmax and fmin: the operand that is a number, where one is NaN.
template <hlo::Opcode Code, TextConstant... Names>
struct LowerNumberExtreme {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    hlo::Value result = b.binary(Code, x, y);
    if (is_floating(b.dtype(x)))
      result = b.select(detail::is_nan(c, x), y, b.select(detail::is_nan(c, y), x, result));
    return c.to_result(call, result);
  }
};

struct LowerCopysign {
  static constexpr std::string_view op = "aten.copysign";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, sign] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !sign.valid()) return {};
    const hlo::Value size = b.abs(x);
    return c.to_result(call, b.select(detail::has_sign_bit(c, sign), b.negate(size), size));
  }
};

/// The root of the sum of squares, scaled by the larger one so that neither square overflows.
struct LowerHypot {
  static constexpr std::array<std::string_view, 2> op{"aten.hypot", "prims.hypot"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value a = b.abs(x), d = b.abs(y), large = b.maximum(a, d), small = b.minimum(a, d);
    const hlo::Value ratio = b.divide(small, large);
    const hlo::Value root = b.sqrt(b.add(c.full_like(x, 1.0), b.multiply(ratio, ratio)));
    // 0 / 0 and inf / inf are NaN; the larger one is the answer then.
    const hlo::Value infinity = b.broadcast(b.highest(b.dtype(x)), b.dims(x));
    const hlo::Value is_plain =
        b.or_(b.compare(large, c.full_like(x, 0.0), hlo::Direction::eq),
              b.or_(b.compare(a, infinity, hlo::Direction::eq), b.compare(d, infinity, hlo::Direction::eq)));
    const hlo::Value is_infinite =
        b.or_(b.compare(a, infinity, hlo::Direction::eq), b.compare(d, infinity, hlo::Direction::eq));
    return c.to_result(call,
                       b.select(is_plain, b.select(is_infinite, infinity, large), b.multiply(large, root)));
  }
};

/// log(e^x + e^y), and the same for powers of two.
template <TextConstant Name, bool IsBase2>
struct LowerLogAddExp {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value large = b.maximum(x, y);
    hlo::Value difference = b.negate(b.abs(b.subtract(x, y)));
    if (IsBase2) difference = b.multiply(difference, c.full_like(x, detail::ln_2));
    hlo::Value rest = b.log_plus_one(b.exponential(difference));
    if (IsBase2) rest = b.divide(rest, c.full_like(x, detail::ln_2));
    // Equal infinities have no difference.
    const hlo::Value is_same = b.compare(x, y, hlo::Direction::eq);
    const hlo::Value ends = b.not_(b.is_finite(x));
    return c.to_result(call, b.select(b.and_(is_same, ends), x, b.add(large, rest)));
  }
};

/// x * log(y), and 0 where x is 0 whatever y is, unless it is NaN.
struct LowerXlogy {
  static constexpr std::array<std::string_view, 2> op{"aten.xlogy", "aten.special_xlogy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value is_zero = b.compare(x, c.full_like(x, 0.0), hlo::Direction::eq);
    const hlo::Value product = b.select(is_zero, c.full_like(x, 0.0), b.multiply(x, b.log(y)));
    return c.to_result(call, b.select(detail::is_nan(c, y), y, product));
  }
};

struct LowerHeaviside {
  static constexpr std::string_view op = "aten.heaviside";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, at_zero] = c.operands(call, Meeting::common, "self", "values");
    if (!x.valid() || !at_zero.valid()) return {};
    const hlo::Value zero = c.full_like(x, 0);
    const hlo::Value is_zero = b.compare(x, zero, hlo::Direction::eq);
    const hlo::Value step = b.select(b.compare(x, zero, hlo::Direction::lt), zero, c.full_like(x, 1));
    const hlo::Value result = b.select(is_zero, at_zero, step);
    return c.to_result(call, is_floating(b.dtype(x)) ? b.select(detail::is_nan(c, x), zero, result) : result);
  }
};

/// `value` where an element is not above the threshold.
struct LowerThreshold {
  static constexpr std::string_view op = "aten.threshold";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Value is_low = b.compare(x, c.full_like(x, c.number(call, "threshold")), hlo::Direction::le);
    return b.select(is_low, c.full_like(x, c.number(call, "value")), x);
  }
};

/// Elements within `lambd` of 0 become 0; the others stay, or come nearer by `lambd`.
template <TextConstant Name, bool IsSoft>
struct LowerShrink {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    const hlo::Value lambda = c.full_like(x, c.number(call, "lambd"));
    const hlo::Value is_high = b.compare(x, lambda, hlo::Direction::gt);
    const hlo::Value is_low = b.compare(x, b.negate(lambda), hlo::Direction::lt);
    const hlo::Value high = IsSoft ? b.subtract(x, lambda) : x, low = IsSoft ? b.add(x, lambda) : x;
    const hlo::Value inside = b.select(detail::is_nan(c, x), x, c.full_like(x, 0));
    return b.select(is_high, high, b.select(is_low, low, inside));
  }
};

/// x * log(1 + y), and 0 where x is 0 whatever y is, unless it is NaN.
struct LowerXlog1py {
  static constexpr std::string_view op = "aten.special_xlog1py";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value product = detail::where(c, x, hlo::Direction::eq, 0.0, c.full_like(x, 0.0),
                                             b.multiply(x, b.log_plus_one(y)));
    return c.to_result(call, b.select(detail::is_nan(c, y), y, product));
  }
};

/// log(x / (1 - x)), of x held between eps and 1 - eps if eps is given.
struct LowerLogit {
  static constexpr std::array<std::string_view, 2> op{"aten.logit", "aten.special_logit"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.accurate(c.tensor(call, "self"));
    if (!x.valid()) return x;
    if (call.has("eps")) {
      const double eps = c.real(call, "eps");
      if (eps >= 0) x = b.minimum(b.maximum(x, c.full_like(x, eps)), c.full_like(x, 1 - eps));
    }
    return c.to_result(call, b.log(b.divide(x, b.subtract(c.full_like(x, 1.0), x))));
  }
};

struct LowerZeta {
  static constexpr std::array<std::string_view, 2> op{"aten.special_zeta", "prims.zeta"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [s, q] = c.operands(call, Meeting::floating, "self", "other");
    if (!s.valid() || !q.valid()) return {};
    return c.to_result(call, detail::hurwitz_zeta(c, s, q));
  }
};

/// The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
struct LowerPolygamma {
  static constexpr std::array<std::string_view, 2> op{"aten.polygamma", "aten.special_polygamma"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const std::int64_t n = c.integer(call, "n");
    if (!x.valid()) return x;
    if (n < 0) return c.fail(call, DiagnosticCode::eager_would_raise, "there is no derivative of negative order");
    if (n == 0) return c.to_result(call, detail::Digamma::of(c, x));
    if (n == 1) return c.to_result(call, trigamma(c, x));
    // Far too large for float64 above this order.
    double factorial = n % 2 == 0 ? -1.0 : 1.0;
    for (std::int64_t k = 2; k <= n && k < 200; ++k) factorial *= static_cast<double>(k);
    const hlo::Value zeta = detail::hurwitz_zeta(c, c.full_like(x, static_cast<double>(n + 1)), x);
    return c.to_result(call, b.multiply(c.full_like(x, factorial), zeta));
  }

 private:
  /// By reflection below 1/2, where the terms of the sum are no powers of positive numbers.
  static constexpr auto trigamma(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value is_left = b.compare(x, c.full_like(x, 0.5), hlo::Direction::lt);
    const hlo::Value right = b.select(is_left, b.subtract(c.full_like(x, 1.0), x), x);
    const hlo::Value value = detail::hurwitz_zeta(c, c.full_like(x, 2.0), right);
    // The sine of what x is in the type, as eager takes it: near a pole there is nothing better in it.
    const hlo::Value ratio = b.divide(c.full_like(x, detail::pi), b.sine(detail::times(c, x, detail::pi)));
    return b.select(is_left, b.subtract(b.multiply(ratio, ratio), value), value);
  }
};

/// log of the multivariate gamma function of dimension p.
struct LowerMvlgamma {
  static constexpr std::array<std::string_view, 2> op{"aten.mvlgamma", "aten.special_multigammaln"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const std::int64_t p = c.integer(call, "p");
    if (!x.valid()) return x;
    constexpr double log_pi = 1.14472988584940017414;
    hlo::Value sum = c.full_like(x, log_pi * static_cast<double>(p * (p - 1)) / 4.0);
    for (std::int64_t k = 0; k < p; ++k)
      sum = c.builder().add(sum, detail::LogGamma::of(c, detail::plus(c, x, -0.5 * static_cast<double>(k))));
    return c.to_result(call, sum);
  }
};

/// x * 2^y
struct LowerLdexp {
  static constexpr std::string_view op = "aten.ldexp";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    return c.to_result(call, b.multiply(x, b.power(c.full_like(y, 2.0), y)));
  }
};

namespace detail {

/// The integer type of a float's bits, and where its exponent is.
struct FloatBits {
  DType type = DType::i32;
  std::int64_t mantissa_bits = 23;
  std::int64_t exponent_mask = 0xff;
  std::int64_t bias = 127;
};
[[nodiscard]] constexpr auto float_bits_of(DType dtype) -> FloatBits {
  switch (dtype) {
    case DType::f64: return {DType::i64, 52, 0x7ff, 1023};
    case DType::f16: return {DType::i16, 10, 0x1f, 15};
    case DType::bf16: return {DType::i16, 7, 0xff, 127};
    default: return {};
  }
}

}  // namespace detail

/// A mantissa in [0.5, 1) and a power of 2 that make each element; 0, infinities and NaN are their own.
struct LowerFrexp {
  static constexpr std::array<std::string_view, 2> op{"aten.frexp", "prims.frexp"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return {};
    const detail::FloatBits bits = detail::float_bits_of(b.dtype(x));
    const hlo::Value n = b.bitcast_convert(x, bits.type);
    const auto number = [&](std::int64_t value) { return c.full_like(n, value); };
    const std::int64_t width = byte_size(bits.type) * 8, ones = (std::int64_t{1} << bits.mantissa_bits) - 1;
    const hlo::Value mantissa = b.and_(n, number(ones));
    const hlo::Value exponent =
        b.and_(b.shift_right_logical(n, number(bits.mantissa_bits)), number(bits.exponent_mask));
    // Numbers below the normal ones have no leading one of their own: the first that there is becomes it. Done with
    // integers, since a backend may take such numbers for 0.
    const hlo::Value is_small = b.compare(exponent, number(0), hlo::Direction::eq);
    const hlo::Value leading = b.subtract(b.count_leading_zeros(mantissa), number(width - bits.mantissa_bits - 1));
    const hlo::Value shift = b.select(is_small, leading, number(0));
    const hlo::Value shifted = b.and_(b.shift_left(mantissa, shift), number(ones));
    const hlo::Value power = b.select(is_small, b.subtract(number(1), shift), exponent);
    const hlo::Value sign = b.and_(n, b.shift_left(number(1), number(width - 1)));
    const hlo::Value half = b.or_(b.or_(sign, shifted), number((bits.bias - 1) << bits.mantissa_bits));
    const hlo::Value is_zero = b.and_(is_small, b.compare(mantissa, number(0), hlo::Direction::eq));
    const hlo::Value is_own = b.or_(is_zero, b.compare(exponent, number(bits.exponent_mask), hlo::Direction::eq));
    return c.members(call, {b.select(is_own, x, b.bitcast_convert(half, b.dtype(x))),
                            b.select(is_own, number(0), b.subtract(power, number(bits.bias - 1)))});
  }
};

/// The next number from `self` towards `other`.
struct LowerNextAfter {
  static constexpr std::array<std::string_view, 2> op{"aten.nextafter", "prims.nextafter"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const DType type = b.dtype(x);
    const detail::FloatBits bits = detail::float_bits_of(type);
    const hlo::Value n = b.bitcast_convert(x, bits.type), one = c.full_like(n, 1);
    // The bits of numbers of one sign are in the order of their sizes.
    const hlo::Value is_larger = b.xor_(b.compare(x, y, hlo::Direction::lt),
                                        b.compare(x, c.full_like(x, 0.0), hlo::Direction::lt));
    const hlo::Value stepped = b.select(is_larger, b.add(n, one), b.subtract(n, one));
    const hlo::Value tiny = b.bitcast_convert(one, type);
    const hlo::Value from_zero = detail::where(c, y, hlo::Direction::lt, 0.0, b.negate(tiny), tiny);
    const hlo::Value moved =
        detail::where(c, x, hlo::Direction::eq, 0.0, from_zero, b.bitcast_convert(stepped, type));
    const hlo::Value result = b.select(b.compare(x, y, hlo::Direction::eq), y, moved);
    return b.select(detail::is_nan(c, x), x, b.select(detail::is_nan(c, y), y, result));
  }
};

/// Powers in float64, whatever the operands are.
struct LowerFloatPower {
  static constexpr std::string_view op = "aten.float_power";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = c.operands(call, Meeting::common, "self", "exponent");
    const DType type = c.result_shape(call).dtype;
    auto& b = c.builder();
    return b.power(b.convert(x, type), b.convert(y, type));
  }
};

/// Complex numbers of real and imaginary parts, or of sizes and angles.
struct LowerComplex {
  static constexpr std::string_view op = "aten.complex";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = c.operands(call, Meeting::common, "real", "imag");
    return c.to_result(call, c.builder().complex(x, y));
  }
};
struct LowerPolar {
  static constexpr std::string_view op = "aten.polar";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [size, angle] = c.operands(call, Meeting::common, "abs", "angle");
    return c.to_result(call, b.complex(b.multiply(size, b.cosine(angle)), b.multiply(size, b.sine(angle))));
  }
};
struct LowerAngle {
  static constexpr std::string_view op = "aten.angle";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    if (is_complex(b.dtype(x))) return b.atan2(b.imag(x), b.real(x));
    return c.to_result(call, detail::RealAngle::of(c, c.accurate(x)));
  }
};
/// Whether the imaginary part is 0.
struct LowerIsReal {
  static constexpr std::string_view op = "aten.isreal";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    if (!is_complex(b.dtype(x))) return b.full({DType::boolean, b.dims(x)}, true);
    const hlo::Value imaginary = b.imag(x);
    return b.compare(imaginary, c.full_like(imaginary, 0), hlo::Direction::eq);
  }
};

/// Greatest common divisor by Euclid's remainders, all elements at once, and the least common multiple.
struct LowerGcd {
  static constexpr std::array<std::string_view, 3> op{"aten.gcd", "aten.lcm", "prims.gcd"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [given_x, given_y] = c.operands(call, Meeting::common, "self", "other");
    if (!given_x.valid() || !given_y.valid()) return {};
    const bool is_signed = dtype_info(b.dtype(given_x)).is_signed;
    const hlo::Value x = is_signed ? b.abs(given_x) : given_x, y = is_signed ? b.abs(given_y) : given_y;
    const hlo::Value init = b.tuple({x, y});
    const hlo::ShapeId shape = b.shape_id(init);
    const hlo::ComputationId condition = b.computation("has_remainder", [&] {
      const hlo::Value rest = b.get_tuple_element(b.parameter(shape), 1);
      const hlo::Value differs = b.compare(rest, c.full_like(rest, 0), hlo::Direction::ne);
      return b.reduce(differs, b.constant(DType::boolean, false), hlo::iota_dims(b.rank(rest)),
                      b.scalar_computation(hlo::Opcode::or_, DType::boolean));
    });
    const hlo::ComputationId body = b.computation("divide_on", [&] {
      const hlo::Value state = b.parameter(shape);
      const hlo::Value large = b.get_tuple_element(state, 0), small = b.get_tuple_element(state, 1);
      const hlo::Value is_done = b.compare(small, c.full_like(small, 0), hlo::Direction::eq);
      const hlo::Value rest = b.remainder(large, b.select(is_done, c.full_like(small, 1), small));
      return b.tuple({b.select(is_done, large, small), rest});
    });
    const hlo::Value divisor = b.get_tuple_element(b.while_loop(init, condition, body), 0);
    if (call.schema().base() != "aten.lcm") return c.to_result(call, divisor);
    const hlo::Value zero = c.full_like(divisor, 0);
    const hlo::Value is_zero = b.compare(divisor, zero, hlo::Direction::eq);
    const hlo::Value part = b.divide(x, b.select(is_zero, c.full_like(divisor, 1), divisor));
    return c.to_result(call, b.select(is_zero, zero, b.multiply(part, y)));
  }
};

/// Whether elements are equal, or as near as `atol + |rtol * other|`.
struct LowerIsClose {
  static constexpr std::string_view op = "aten.isclose";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    hlo::Value result = b.compare(x, y, hlo::Direction::eq);
    const bool is_float = is_floating(b.dtype(x));
    if (is_complex(b.dtype(x))) return c.unsupported(call, "of complex numbers");
    if (is_float && c.boolean(call, "equal_nan"))
      result = b.or_(result, b.and_(detail::is_nan(c, x), detail::is_nan(c, y)));
    const double rtol = c.real(call, "rtol"), atol = c.real(call, "atol");
    if (rtol == 0 && atol == 0) return result;
    const DType type = is_float ? b.dtype(x) : DType::f32;
    const hlo::Value a = b.convert(x, type), d = b.convert(y, type);
    const hlo::Value allowed = b.add(c.full_like(a, atol), b.abs(b.multiply(c.full_like(d, rtol), d)));
    const hlo::Value distance = b.abs(b.subtract(a, d));
    return b.or_(result, b.and_(b.is_finite(distance), b.compare(distance, allowed, hlo::Direction::le)));
  }
};

/// The lowerings of this file.
using SpecialFunctionLowerings =
    lowerings<LowerFormula<detail::Asin, "aten.asin", "aten.arcsin", "prims.asin">,
              LowerFormula<detail::Acos, "aten.acos", "aten.arccos", "prims.acos">,
              LowerFormula<detail::Atan, "aten.atan", "aten.arctan", "prims.atan">, LowerFormula<detail::Sinh, "aten.sinh", "prims.sinh">,
              LowerFormula<detail::Cosh, "aten.cosh", "prims.cosh">,
              LowerFormula<detail::Asinh, "aten.asinh", "aten.arcsinh", "prims.asinh">,
              LowerFormula<detail::Acosh, "aten.acosh", "aten.arccosh", "prims.acosh">,
              LowerFormula<detail::Atanh, "aten.atanh", "aten.arctanh", "prims.atanh">,
              LowerFormula<detail::DegreesToRadians, "aten.deg2rad">,
              LowerFormula<detail::RadiansToDegrees, "aten.rad2deg">,
              LowerPythonFormula<detail::Softsign, "torch.nn.functional.softsign">,
              LowerPythonFormula<detail::Tanhshrink, "torch.nn.functional.tanhshrink">, LowerSignBit,
              LowerFrac, LowerIsInfinityOfSign<"aten.isposinf", hlo::Direction::gt>,
              LowerIsInfinityOfSign<"aten.isneginf", hlo::Direction::lt>, LowerNanToNum,
              LowerNumberExtreme<hlo::Opcode::maximum, "aten.fmax", "prims.fmax">,
              LowerNumberExtreme<hlo::Opcode::minimum, "aten.fmin", "prims.fmin">, LowerCopysign, LowerHypot,
              LowerLogAddExp<"aten.logaddexp", false>, LowerLogAddExp<"aten.logaddexp2", true>, LowerXlogy,
              LowerHeaviside, LowerThreshold, LowerShrink<"aten.softshrink", true>,
              LowerShrink<"aten.hardshrink", false>, LowerFormula<detail::Erfc, "aten.erfc", "aten.special_erfc", "prims.erfc">,
              LowerFormula<detail::ScaledErfc, "aten.special_erfcx", "prims.erfcx">,
              LowerFormula<detail::Erfinv, "aten.erfinv", "aten.special_erfinv", "prims.erf_inv">,
              LowerFormula<detail::Ndtr, "aten.special_ndtr">, LowerFormula<detail::LogNdtr, "aten.special_log_ndtr">,
              LowerFormula<detail::Ndtri, "aten.special_ndtri", "prims.ndtri">,
              LowerFormula<detail::LogGamma, "aten.lgamma", "aten.special_gammaln", "prims.lgamma">,
              LowerFormula<detail::Digamma, "aten.digamma", "aten.special_digamma", "aten.special_psi", "prims.digamma">,
              LowerFormula<detail::Bessel<detail::ScaledBessel0>, "aten.i0", "aten.special_i0", "prims.bessel_i0">,
              LowerFormula<detail::ScaledBessel0, "aten.special_i0e", "prims.bessel_i0e">,
              LowerFormula<detail::Bessel<detail::ScaledBessel1>, "aten.special_i1", "prims.bessel_i1">,
              LowerFormula<detail::ScaledBessel1, "aten.special_i1e", "prims.bessel_i1e">,
              LowerFormula<detail::Sinc, "aten.sinc", "aten.special_sinc">,
              LowerFormula<detail::Entropy, "aten.special_entr">, LowerXlog1py, LowerLogit, LowerZeta, LowerPolygamma,
              LowerMvlgamma, LowerLdexp, LowerFrexp, LowerNextAfter, LowerFloatPower, LowerComplex, LowerPolar, LowerAngle,
              LowerIsReal, LowerGcd, LowerIsClose>;

}  // namespace fxpass
