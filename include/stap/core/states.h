#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "stap/core/grid.h"

namespace stap {

/// B states one after the other, not owned: row b is values[b * row_size .. + row_size).
/// T is double on the solver's side, float on the network's; const T for read-only views.
template <class T>
struct StatesView {
  T* values = nullptr;
  std::size_t count = 0;     ///< B
  std::size_t row_size = 0;  ///< C x points

  std::span<T> row(std::size_t b) const { return {values + b * row_size, row_size}; }
  StatesView rows(std::size_t first, std::size_t n) const {
    return {values + first * row_size, n, row_size};
  }
  operator StatesView<const T>() const requires(!std::is_const_v<T>) {
    return {values, count, row_size};
  }
};

/// B states [B, C, X...] that own their memory.
template <class T>
class States {
 public:
  States() = default;
  States(Grid grid, std::size_t count)
      : grid_(std::move(grid)), count_(count), values_(count * grid_.values()) {}

  const Grid& grid() const { return grid_; }
  std::size_t count() const { return count_; }
  std::span<T> row(std::size_t b) { return view().row(b); }
  std::span<const T> row(std::size_t b) const { return view().row(b); }
  std::span<T> values() { return values_; }
  std::span<const T> values() const { return values_; }
  StatesView<T> view() { return {values_.data(), count_, grid_.values()}; }
  StatesView<const T> view() const { return {values_.data(), count_, grid_.values()}; }

 private:
  Grid grid_;
  std::size_t count_ = 0;
  std::vector<T> values_;
};

/// The one place where double becomes float and back (round to nearest). Sizes must agree.
void convert(std::span<const double> from, std::span<float> to);
void convert(std::span<const float> from, std::span<double> to);

}  // namespace stap
