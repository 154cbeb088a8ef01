#pragma once

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

  FunctionCommittee(Grid grid, std::vector<Function> members)
      : grid_(std::move(grid)), members_(std::move(members)) {}

  const Grid& grid() const override { return grid_; }
  int members() const override { return static_cast<int>(members_.size()); }
  /// Blocks that were made and not released.
  int open_blocks() const { return open_blocks_; }

  RowsId rows(std::size_t n) override {
    ++open_blocks_;
    blocks_.emplace_back(grid_, n);
    return RowsId(static_cast<std::uint32_t>(blocks_.size() - 1));
  }
  void release(RowsId id) override {
    --open_blocks_;
    at(id) = {};
  }
  void put(RowsId id, std::size_t first, StatesView<const float> states) override {
    for (std::size_t r = 0; r < states.count; ++r)
      std::copy(states.row(r).begin(), states.row(r).end(), at(id).row(first + r).begin());
  }
  void get(RowsId id, std::size_t first, StatesView<float> states) const override {
    for (std::size_t r = 0; r < states.count; ++r) {
      const auto row = blocks_.at(static_cast<std::size_t>(id)).row(first + r);
      std::copy(row.begin(), row.end(), states.row(r).begin());
    }
  }
  void advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
               std::span<const double> time, RowsId to, std::span<const std::size_t> j) override {
    for (std::size_t r = 0; r < i.size(); ++r)
      for (std::size_t k = 0; k < grid_.values(); ++k)
        at(to).row(j[r])[k] = apply(member[r], at(from).row(i[r])[k], time.empty() ? 0.0 : time[r]);
  }
  void sketch(RowsId, std::span<const std::size_t>, std::span<const int>, std::span<const double>,
              std::size_t, SketchKind, RowsId, std::span<const std::size_t>,
              std::span<double>) override {
    throw std::logic_error("not for this test");
  }
  void distance2(RowsId, std::span<const std::size_t>, RowsId, std::span<const std::size_t>,
                 std::span<double>) const override {
    throw std::logic_error("not for this test");
  }
  void spread(RowsId, std::span<const std::size_t>, std::span<double>) const override {
    throw std::logic_error("not for this test");
  }

 private:
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
  int open_blocks_ = 0;
};

}  // namespace stap::test
