// arithmetic.hpp: logarithm and exponential from + - x / alone.
//
// Every rank decides by itself from equal numbers, so every rank has to compute equal results, also
// where nodes have different mathematical libraries. The results are good to about 1e-6, far more
// than a decision needs.
#pragma once

namespace choir::select {

inline constexpr double ln_2 = 0.6931471805599453;

/// The natural logarithm of a positive number.
constexpr double ln(double value) {
  double halvings = 0;
  while (value > 1.5) value /= 2, ++halvings;
  while (value < 0.75) value *= 2, --halvings;
  const double z = (value - 1) / (value + 1), square = z * z;
  return halvings * ln_2 + 2 * z * (1 + square * (1 / 3.0 + square * (1 / 5.0 + square / 7)));
}

/// e to a power; powers beyond 40 either way count as 40.
constexpr double exp(double power) {
  power = power > 40 ? 40 : power < -40 ? -40 : power;
  double small = power / 1024;
  double result = 1 + small * (1 + small / 2 * (1 + small / 3));
  for (int squared = 0; squared < 10; ++squared) result *= result;
  return result;
}

static_assert(ln(1) == 0 && ln(8) > 2.07944 && ln(8) < 2.07945 && ln(0.01) < -4.60516);
static_assert(exp(0) == 1 && exp(1) > 2.71827 && exp(1) < 2.71829 && exp(-2) < 0.13534);

}  // namespace choir::select
