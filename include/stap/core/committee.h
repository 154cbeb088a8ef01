#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "stap/core/grid.h"
#include "stap/core/states.h"

namespace stap {

/// Stands for the mean model, (1/M) sum over members, where a member index is asked for.
inline constexpr int kMean = -1;

/// Dimensions that sketched features have (spec: LCMD).
inline constexpr std::size_t kSketchSize = 512;

/// How features become kSketchSize coordinates. sparse: each goes to four of them, with a sign.
/// gaussian: each goes to all, with normal weights; the slow twin of sparse, for small sizes.
enum class SketchKind { sparse, gaussian };

/// A block of rows (float states) in the committee's own memory, host or device.
enum class RowsId : std::uint32_t {};

/// M surrogates that advance states: cheap, float, batched, states resident. Every result of a row
/// depends on nothing but that row and its member, bit for bit.
/// Index spans of one call have the same length n; entry r of each belongs together.
class Committee {
 public:
  virtual ~Committee() = default;

  virtual const Grid& grid() const = 0;
  virtual int members() const = 0;
  /// Rows that are well advanced in one call: fewer would not be quicker by much.
  virtual std::size_t rows_at_once() const { return 32; }
  /// The same members once more, to be asked by another thread at the same time; null where a call
  /// keeps the whole machine busy. This committee must outlive it, and rows are its own.
  virtual std::unique_ptr<Committee> another() { return nullptr; }

  /// Makes n rows of zeros; `release` gives them back.
  virtual RowsId rows(std::size_t n) = 0;
  virtual void release(RowsId id) = 0;
  /// Copies states into rows first, first+1, ... and out of them.
  virtual void put(RowsId id, std::size_t first, StatesView<const float> states) = 0;
  virtual void get(RowsId id, std::size_t first, StatesView<float> states) const = 0;

  /// to[j[r]] = member[r] applied to from[i[r]] at time[r]. `member` may hold kMean; `time` is in
  /// [0,1] over the trajectory and may be empty for networks without a time input. No j twice;
  /// `from` and `to` may be the same block where no row is both read and written by other rows.
  virtual void advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                       std::span<const double> time, RowsId to, std::span<const std::size_t> j) = 0;

  /// advance(), and adds the sketch of the last hidden activations of this step to
  /// features[r * kSketchSize ..]. `step` is the step being made, 1-based. Members only, no kMean.
  /// Throws Error(unavailable) for a kind that the device does not have.
  virtual void sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                      std::span<const double> time, std::size_t step, SketchKind kind, RowsId to,
                      std::span<const std::size_t> j, std::span<double> features) = 0;

  /// out[r] = squared distance of x[i[r]] and y[j[r]], summed in double in grid order.
  virtual void distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                         std::span<const std::size_t> j, std::span<double> out) const = 0;

  /// i holds n groups of M rows; out[g] = (1/M) sum over the group of the squared distance to the
  /// group's mean, in double.
  virtual void spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const = 0;
};

}  // namespace stap
