#include "stap/eval/principal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

double dot(const double* a, const double* b, std::size_t n) {
  // Four sums side by side: one would wait for itself at every addition.
  double sum[4] = {};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (std::size_t j = 0; j < 4; ++j) sum[j] += a[k + j] * b[k + j];
  for (; k < n; ++k) sum[0] += a[k] * b[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// A symmetric matrix on its way to a diagonal one. Vectors are rows, so that every change of them
// runs along memory.
class Diagonaliser {
 public:
  Diagonaliser(std::span<const double> matrix, std::size_t n)
      : n_(n), a_(n * n), vectors_(n * n, 0.0), diagonal_(n), beside_(n, 0.0) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        a_[i * n + j] = a_[j * n + i] = matrix[i * n + j];
        if (!std::isfinite(matrix[i * n + j]))
          throw Error(ErrorKind::numerics,
                      "a matrix with values that are not finite has no "
                      "eigenvalues");
      }
  }

  SymmetricEigen run() {
    to_tridiagonal();
    to_diagonal();
    return sorted();
  }

 private:
  // A = Q T Q^T by reflections I - 2 v v^T; `vectors_` becomes Q^T.
  void to_tridiagonal() {
    std::vector<std::vector<double>> reflections;
    for (std::size_t k = 0; k + 2 < n_; ++k) {
      const std::size_t first = k + 1, m = n_ - first;
      std::vector<double> v(m);
      for (std::size_t i = 0; i < m; ++i) v[i] = a_[k * n_ + first + i];
      const double rest = dot(v.data() + 1, v.data() + 1, m - 1);
      double off = v[0];
      if (rest > 0.0) {
        off = -std::copysign(std::sqrt(v[0] * v[0] + rest), v[0]);
        v[0] -= off;
        const double length = std::sqrt(v[0] * v[0] + rest);
        for (double& x : v) x /= length;
        reflect(v, first);
      } else {
        v.clear();  // nothing to reflect
      }
      beside_[k] = off;
      reflections.push_back(std::move(v));
    }
    for (std::size_t i = 0; i < n_; ++i) {
      diagonal_[i] = a_[i * n_ + i];
      vectors_[i * n_ + i] = 1.0;
    }
    if (n_ >= 2) beside_[n_ - 2] = a_[(n_ - 1) * n_ + n_ - 2];
    // From the last to the first: what they have not touched yet is still the identity.
    for (std::size_t k = reflections.size(); k-- > 0;) {
      const std::vector<double>& v = reflections[k];
      if (v.empty()) continue;
      for (std::size_t i = k + 1; i < n_; ++i) {
        double* row = vectors_.data() + i * n_ + k + 1;
        const double twice = 2.0 * dot(row, v.data(), v.size());
        for (std::size_t j = 0; j < v.size(); ++j) row[j] -= twice * v[j];
      }
    }
  }

  // The lower right block from `first` on, reflected from both sides.
  void reflect(const std::vector<double>& v, std::size_t first) {
    const std::size_t m = v.size();
    std::vector<double> w(m);
    for (std::size_t i = 0; i < m; ++i)
      w[i] = dot(a_.data() + (first + i) * n_ + first, v.data(), m);
    const double along = dot(v.data(), w.data(), m);
    for (std::size_t i = 0; i < m; ++i) w[i] -= along * v[i];
    for (std::size_t i = 0; i < m; ++i) {
      double* row = a_.data() + (first + i) * n_ + first;
      const double vi = 2.0 * v[i], wi = 2.0 * w[i];
      for (std::size_t j = 0; j < m; ++j) row[j] -= vi * w[j] + wi * v[j];
    }
  }

  // Shifted QR steps on the tridiagonal matrix; its last row comes loose first.
  void to_diagonal() {
    std::size_t sweeps = 0;
    for (std::size_t high = n_; high-- > 1;) {
      for (;;) {
        std::size_t low = high;
        while (low > 0 && !negligible(low - 1)) --low;
        if (low == high) break;
        // Two or three a row are usual; a hundred means a bug.
        if (++sweeps > 100 * n_)
          throw Error(ErrorKind::internal, fmt::format("the eigenvalues of a {} x {} matrix do not "
                                                       "converge",
                                                       n_, n_));
        chase(low, high);
      }
    }
  }

  bool negligible(std::size_t i) {
    const double scale = std::abs(diagonal_[i]) + std::abs(diagonal_[i + 1]);
    if (std::abs(beside_[i]) > std::numeric_limits<double>::epsilon() * scale &&
        std::abs(beside_[i]) > std::numeric_limits<double>::min())
      return false;
    beside_[i] = 0.0;
    return true;
  }

  // One step on rows low .. high: the shift makes an entry beside the tridiagonal, and rotations of
  // neighbouring rows push it out at the lower end.
  void chase(std::size_t low, std::size_t high) {
    const double half = 0.5 * (diagonal_[high - 1] - diagonal_[high]), off = beside_[high - 1];
    const double shift =
        diagonal_[high] - off * off / (half + std::copysign(std::hypot(half, off), half));
    double keep = diagonal_[low] - shift, remove = beside_[low];
    for (std::size_t k = low; k < high; ++k) {
      const double length = std::hypot(keep, remove);
      const double c = length > 0.0 ? keep / length : 1.0, s = length > 0.0 ? remove / length : 0.0;
      if (k > low) beside_[k - 1] = length;
      const double a = diagonal_[k], b = beside_[k], g = diagonal_[k + 1];
      diagonal_[k] = c * c * a + 2.0 * c * s * b + s * s * g;
      diagonal_[k + 1] = s * s * a - 2.0 * c * s * b + c * c * g;
      beside_[k] = (c * c - s * s) * b + c * s * (g - a);
      if (k + 1 < high) {
        keep = beside_[k];
        remove = s * beside_[k + 1];
        beside_[k + 1] *= c;
      }
      double *upper = vectors_.data() + k * n_, *lower = upper + n_;
      for (std::size_t j = 0; j < n_; ++j) {
        const double u = upper[j], l = lower[j];
        upper[j] = c * u + s * l;
        lower[j] = c * l - s * u;
      }
    }
  }

  SymmetricEigen sorted() const {
    std::vector<std::size_t> order(n_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return diagonal_[a] > diagonal_[b]; });
    SymmetricEigen eigen;
    for (std::size_t k : order) {
      eigen.values.push_back(diagonal_[k]);
      const double* row = vectors_.data() + k * n_;
      const double* largest = std::max_element(
          row, row + n_, [](double a, double b) { return std::abs(a) < std::abs(b); });
      const double sign = *largest < 0.0 ? -1.0 : 1.0;
      for (std::size_t j = 0; j < n_; ++j) eigen.vectors.push_back(sign * row[j]);
    }
    return eigen;
  }

  std::size_t n_;
  std::vector<double> a_, vectors_;        // [n, n]
  std::vector<double> diagonal_, beside_;  // beside_[i] joins rows i and i + 1
};

std::vector<double> mean_point(std::span<const double> points, std::size_t d) {
  const std::size_t n = points.size() / d;
  std::vector<double> mean(d, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < d; ++k) mean[k] += points[i * d + k];
  for (double& m : mean) m /= static_cast<double>(n);
  return mean;
}

}  // namespace

SymmetricEigen symmetric_eigen(std::span<const double> matrix, std::size_t n) {
  if (matrix.size() != n * n)
    throw Error(ErrorKind::internal,
                fmt::format("{} values for a matrix of {} x {}", matrix.size(), n, n));
  return Diagonaliser(matrix, n).run();
}

std::vector<double> PrincipalComponents::coordinates(std::span<const double> points) const {
  const std::size_t d = centre.size(), n = points.size() / d;
  std::vector<double> result, from_centre(d);
  result.reserve(n * count());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < d; ++k) from_centre[k] = points[i * d + k] - centre[k];
    for (std::size_t c = 0; c < count(); ++c)
      result.push_back(dot(from_centre.data(), directions.data() + c * d, d));
  }
  return result;
}

PrincipalComponents principal_components(std::span<const double> points, std::size_t d,
                                         std::size_t most) {
  if (d == 0 || points.size() % d != 0)
    throw Error(ErrorKind::internal, fmt::format("{} values for points of {}", points.size(), d));
  const std::size_t n = points.size() / d;
  if (n < 2)
    throw Error(ErrorKind::numerics,
                fmt::format("{} points have no principal directions, expected at least 2", n));
  PrincipalComponents result;
  result.centre = mean_point(points, d);
  std::vector<double> covariance(d * d, 0.0), from_centre(d);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < d; ++k) from_centre[k] = points[i * d + k] - result.centre[k];
    for (std::size_t r = 0; r < d; ++r) {
      const double scale = from_centre[r] / static_cast<double>(n - 1);
      double* row = covariance.data() + r * d;
      for (std::size_t c = 0; c <= r; ++c) row[c] += scale * from_centre[c];
    }
  }
  const SymmetricEigen eigen = symmetric_eigen(covariance, d);
  for (std::size_t k = 0; k < d; ++k) result.total_variance += covariance[k * d + k];
  const std::size_t count = std::min({most, d, n - 1});
  result.variance.assign(eigen.values.begin(), eigen.values.begin() + static_cast<long>(count));
  // Rounding may leave a direction without any spread below 0.
  for (double& v : result.variance) v = std::max(v, 0.0);
  result.directions.assign(eigen.vectors.begin(),
                           eigen.vectors.begin() + static_cast<long>(count * d));
  return result;
}

double total_variance(std::span<const double> points, std::size_t d) {
  const std::size_t n = points.size() / d;
  if (n < 2) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> mean = mean_point(points, d);
  double sum = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double distance = points[i] - mean[i % d];
    sum += distance * distance;
  }
  return sum / static_cast<double>(n - 1);
}

}  // namespace stap
