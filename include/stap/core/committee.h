#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stap/core/condition.h"
#include "stap/core/fixed_fields.h"
#include "stap/core/grid.h"
#include "stap/core/states.h"
#include "stap/core/stop.h"

namespace stap {

/// Stands for the mean model, (1/M) sum over members, where a member index is asked for.
inline constexpr int kMean = -1;

/// Dimensions that sketched features have (spec: LCMD): each feature goes to four of them, with a
/// sign.
inline constexpr std::size_t kSketchSize = 512;

/// A block of rows (float states) in the committee's own memory, host or device.
enum class RowsId : std::uint32_t {};

/// M surrogates that advance states: cheap, float, batched, states resident. Every result of a row
/// depends on nothing but that row and its member, bit for bit. Used by one thread at a time.
///
/// Index spans of one call have the same length n; entry r of each belongs together. Wrong
/// arguments are found here, whatever is behind: Error(data) for states of another size, else
/// Error(internal); nothing is changed then.
class Committee {
 public:
  virtual ~Committee() = default;

  virtual const Grid& grid() const = 0;
  virtual int members() const = 0;
  /// What the members are told of a row's condition.
  const ConditionInputs& told() const { return told_; }
  /// What all states have in common; null: nothing. Masked points count in no distance or spread.
  virtual const FixedFields* fixed() const { return nullptr; }
  /// Rows that are well advanced in one call: fewer would not be quicker by much.
  virtual std::size_t rows_at_once() const { return 32; }

  /// The same members once more, to be asked by another thread at the same time; null where a call
  /// keeps the whole machine busy. This committee must outlive it, rows are its own, and it has
  /// been told when to stop as this one has.
  std::unique_ptr<Committee> another();
  /// From now on advance() and sketch() ask, and throw Stopped when it says true; what they were to
  /// write is then anything.
  void stop_when(StopAsked asked) { stop_asked_ = std::move(asked); }

  /// From now on distances and spreads multiply what channels differ by with these factors, one per
  /// channel of the grid; before, and with none, each counts in its own unit. Throws
  /// Error(internal) for another number of them.
  void weigh_channels(std::vector<double> factors);

  /// Gives back memory that is kept only to make the next call quicker; rows stay.
  void trim() { do_trim(); }

  /// Makes n rows of zeros, also their conditions; `release` gives them back.
  RowsId rows(std::size_t n);
  void release(RowsId id);
  /// Blocks that were made and not given back.
  std::size_t blocks_in_use() const;
  /// Copies states with their conditions, which have the parameters that members are told, into
  /// rows first, first+1, ... and states out of them.
  void put(RowsId id, std::size_t first, StatesView<const float> states,
           ConditionsView conditions = {});
  void get(RowsId id, std::size_t first, StatesView<float> states) const;

  /// to[j[r]] = member[r] applied to from[i[r]], one step later and with its parameters. `member`
  /// may hold kMean. No j twice; `from` and `to` may be the same block where no row is both read
  /// and written by other rows.
  void advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member, RowsId to,
               std::span<const std::size_t> j);

  /// advance(), and adds the sketch of the last hidden activations of this step to
  /// features[r * kSketchSize ..], drawn for step `step` of the trajectory. Members only, no kMean.
  void sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
              std::size_t step, RowsId to, std::span<const std::size_t> j,
              std::span<double> features);

  /// out[r] = squared distance of x[i[r]] and y[j[r]] (weigh_channels()), summed in double in grid
  /// order.
  void distance2(RowsId x, std::span<const std::size_t> i, RowsId y, std::span<const std::size_t> j,
                 std::span<double> out) const;

  /// i holds n groups of M rows; out[g] = (1/M) sum over the group of the squared distance to the
  /// group's mean, in double.
  void spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const;

 protected:
  explicit Committee(ConditionInputs told = {}) : told_(std::move(told)) {}

  /// Asked before every call; a kind whose calls are long asks in between, and throws Stopped.
  bool stop_asked() const { return stop_asked_ && stop_asked_(); }
  double channel_factor(std::size_t channel) const {
    return channel_factors_.empty() ? 1.0 : channel_factors_[channel];
  }

 private:
  // What a kind of committee does. Arguments are right and no call is empty. Ids are small numbers,
  // given again after do_release(). `told`: what told() makes of the rows' conditions,
  // [rows][told().channels()].
  virtual std::unique_ptr<Committee> do_another() { return nullptr; }
  virtual void do_trim() {}
  virtual void do_weigh_channels() {}
  virtual void do_rows(RowsId id, std::size_t n) = 0;
  virtual void do_release(RowsId id) = 0;
  virtual void do_put(RowsId id, std::size_t first, StatesView<const float> states) = 0;
  virtual void do_get(RowsId id, std::size_t first, StatesView<float> states) const = 0;
  virtual void do_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                          std::span<const double> told, RowsId to,
                          std::span<const std::size_t> j) = 0;
  virtual void do_sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                         std::span<const double> told, std::size_t step, RowsId to,
                         std::span<const std::size_t> j, std::span<double> features) = 0;
  virtual void do_distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                            std::span<const std::size_t> j, std::span<double> out) const = 0;
  virtual void do_spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const = 0;

  struct Block {
    std::size_t count = 0;
    std::vector<std::uint32_t> steps{};    // of each row
    std::vector<double> parameters{};      // likewise, [row][told().parameters]
    std::vector<std::uint64_t> written{};  // by which call each row was, last
  };
  std::size_t count(RowsId id) const;
  void check_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                     RowsId to, std::span<const std::size_t> j);
  void take_conditions(RowsId from, std::span<const std::size_t> i);
  std::span<const double> tell_conditions();
  void put_conditions(RowsId to, std::span<const std::size_t> j);

  Block& block(RowsId id) { return *blocks_[static_cast<std::size_t>(id)]; }

  ConditionInputs told_;
  std::vector<std::optional<Block>> blocks_;
  Conditions conditions_;          // of the call under way
  std::vector<double> told_rows_;  // likewise
  std::uint64_t calls_ = 0;
  StopAsked stop_asked_;
  std::vector<double> channel_factors_;
};

}  // namespace stap
