#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "stap/core/committee.h"

namespace stap::test {

/// A committee whose members are plain functions (value, time) -> value, applied at every point: a
/// stand-in for networks where a test must know every number.
class FunctionCommittee : public Committee {
 public:
  using Function = std::function<float(float value, double time)>;

  /// `horizon`: steps that `time` runs over; 0: members are always told 0.
  FunctionCommittee(Grid grid, std::vector<Function> members, std::size_t horizon = 0)
      : Committee({horizon > 0, horizon}), grid_(std::move(grid)), members_(std::move(members)) {}

  const Grid& grid() const override { return grid_; }
  int members() const override { return static_cast<int>(members_.size()); }

 private:
  void do_rows(RowsId id, std::size_t n) override {
    const auto index = static_cast<std::size_t>(id);
    blocks_.resize(std::max(blocks_.size(), index + 1));
    blocks_[index] = States<float>(grid_, n);
  }
  void do_release(RowsId id) override { at(id) = {}; }
  void do_put(RowsId id, std::size_t first, StatesView<const float> states) override {
    for (std::size_t r = 0; r < states.count; ++r)
      std::copy(states.row(r).begin(), states.row(r).end(), at(id).row(first + r).begin());
  }
  void do_get(RowsId id, std::size_t first, StatesView<float> states) const override {
    for (std::size_t r = 0; r < states.count; ++r) {
      const auto row = blocks_.at(static_cast<std::size_t>(id)).row(first + r);
      std::copy(row.begin(), row.end(), states.row(r).begin());
    }
  }
  void do_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                  std::span<const double> told, RowsId to,
                  std::span<const std::size_t> j) override {
    for (std::size_t r = 0; r < i.size(); ++r)
      for (std::size_t k = 0; k < grid_.values(); ++k)
        at(to).row(j[r])[k] = apply(member[r], at(from).row(i[r])[k], told.empty() ? 0.0 : told[r]);
  }
  void do_sketch(RowsId, std::span<const std::size_t>, std::span<const int>,
                 std::span<const double>, std::size_t, RowsId, std::span<const std::size_t>,
                 std::span<double>) override {
    throw std::logic_error("not for this test");
  }
  void do_distance2(RowsId, std::span<const std::size_t>, RowsId, std::span<const std::size_t>,
                    std::span<double>) const override {
    throw std::logic_error("not for this test");
  }
  void do_spread(RowsId, std::span<const std::size_t>, std::span<double>) const override {
    throw std::logic_error("not for this test");
  }

  float apply(int member, float value, double time) const {
    if (member != kMean) return members_.at(static_cast<std::size_t>(member))(value, time);
    double sum = 0;
    for (const Function& one : members_) sum += static_cast<double>(one(value, time));
    return static_cast<float>(sum / static_cast<double>(members_.size()));
  }
  States<float>& at(RowsId id) { return blocks_.at(static_cast<std::size_t>(id)); }

  Grid grid_;
  std::vector<Function> members_;
  std::vector<States<float>> blocks_;
};

}  // namespace stap::test
