#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stap {

/// Eigenvalues of a symmetric matrix, largest first, and their unit vectors: row k of `vectors`
/// [n, n] belongs to values[k]. The largest entry of a vector (the first of equal ones) is
/// positive.
struct SymmetricEigen {
  std::vector<double> values, vectors;
};
/// `matrix` [n, n]; only its lower half is read. Errors are of the order of rounding times the
/// largest |value|. Throws Error(internal) for another size, and Error(numerics) if a value is not
/// finite.
SymmetricEigen symmetric_eigen(std::span<const double> matrix, std::size_t n);

/// The directions along which points vary most.
struct PrincipalComponents {
  std::vector<double> centre;      ///< [d]: the points' mean
  std::vector<double> directions;  ///< [K, d]: unit vectors, the widest first
  std::vector<double> variance;    ///< [K]: along each of them (divided by n - 1)
  double total_variance = 0.0;     ///< over all d directions

  std::size_t count() const { return variance.size(); }
  /// Of points [n, d] along the directions, from the centre: [n, K].
  std::vector<double> coordinates(std::span<const double> points) const;
};
/// Of points [n, d], K = min(most, d, n - 1). Throws Error(internal) if the values are not whole
/// points, and Error(numerics) if there are fewer than two or one is not finite.
PrincipalComponents principal_components(std::span<const double> points, std::size_t d,
                                         std::size_t most);

/// Mean squared distance of points [n, d] to their mean, divided by n - 1 (NaN for n < 2): the sum
/// of their variances.
double total_variance(std::span<const double> points, std::size_t d);

}  // namespace stap
