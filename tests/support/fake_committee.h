// A committee whose members are plain functions, so that what it must give is computed by hand. It
// counts what it is asked for.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/rng.h"

namespace stap::test {

class FakeCommittee final : public Committee {
 public:
  using Member = std::function<std::vector<float>(const std::vector<float>& state, double time)>;

  /// `horizon`: steps that `time` runs over; 0: members are always told 0.
  FakeCommittee(Grid grid, std::vector<Member> members, std::size_t horizon = 0)
      : Committee({horizon > 0, horizon}), grid_(std::move(grid)), members_(std::move(members)) {}

  /// Members are told the first number in the place of the time.
  FakeCommittee(Grid grid, std::vector<Member> members, ConditionInputs told)
      : Committee(std::move(told)), grid_(std::move(grid)), members_(std::move(members)) {}

  std::size_t at_once = 32;  ///< what rows_at_once() says
  bool has_another = false;
  std::size_t others = 0;  ///< made by another()
  /// Rows and calls so far.
  std::size_t advanced = 0, advance_calls = 0;
  mutable std::size_t measured = 0, measure_calls = 0;

  const Grid& grid() const override { return grid_; }
  int members() const override { return static_cast<int>(members_.size()); }
  std::size_t rows_at_once() const override { return at_once; }

  /// What a member, or the mean model, makes of a state.
  std::vector<float> apply(int member, const std::vector<float>& state, double time) const {
    if (member != kMean) return members_.at(static_cast<std::size_t>(member))(state, time);
    std::vector<double> sum(state.size(), 0.0);
    for (const Member& m : members_) {
      const std::vector<float> part = m(state, time);
      for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += double{part[v]};
    }
    std::vector<float> mean(state.size());
    for (std::size_t v = 0; v < sum.size(); ++v)
      mean[v] = static_cast<float>(sum[v] / static_cast<double>(members_.size()));
    return mean;
  }

 private:
  using Block = std::vector<std::vector<float>>;

  std::unique_ptr<Committee> do_another() override {
    if (!has_another) return nullptr;
    ++others;
    return std::make_unique<FakeCommittee>(grid_, members_, told());
  }
  void do_rows(RowsId id, std::size_t n) override {
    const auto index = static_cast<std::size_t>(id);
    blocks_.resize(std::max(blocks_.size(), index + 1));
    blocks_[index] = Block(n, std::vector<float>(grid_.values(), 0.0f));
  }
  void do_release(RowsId id) override { block(id).clear(); }
  void do_put(RowsId id, std::size_t first, StatesView<const float> states) override {
    for (std::size_t r = 0; r < states.count; ++r)
      block(id).at(first + r).assign(states.row(r).begin(), states.row(r).end());
  }
  void do_get(RowsId id, std::size_t first, StatesView<float> states) const override {
    for (std::size_t r = 0; r < states.count; ++r) {
      const auto& row = block(id).at(first + r);
      std::copy(row.begin(), row.end(), states.row(r).begin());
    }
  }

  void do_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                  std::span<const double> told, RowsId to,
                  std::span<const std::size_t> j) override {
    std::vector<std::vector<float>> results;
    for (std::size_t r = 0; r < i.size(); ++r) {
      const double at = told.empty() ? 0.0 : told[r * this->told().channels()];
      if (this->told().time && at >= 1.0)
        throw std::logic_error("a step that starts at the end of a trajectory");
      results.push_back(apply(member[r], block(from).at(i[r]), at));
    }
    for (std::size_t r = 0; r < j.size(); ++r) block(to).at(j[r]) = results[r];
    advanced += i.size();
    ++advance_calls;
  }
  /// Features are the values themselves, a coordinate for each (member, step, value).
  void do_sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                 std::span<const double> told, std::size_t step, RowsId to,
                 std::span<const std::size_t> j, std::span<double> features) override {
    do_advance(from, i, member, told, to, j);
    for (std::size_t r = 0; r < j.size(); ++r) {
      const auto& row = block(to).at(j[r]);
      for (std::size_t v = 0; v < row.size(); ++v)
        features[r * kSketchSize +
                 (static_cast<std::size_t>(member[r]) * 97 + (step + 1) * 13 + v) % kSketchSize] +=
            double{row[v]};
    }
  }
  void do_distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                    std::span<const std::size_t> j, std::span<double> out) const override {
    for (std::size_t r = 0; r < i.size(); ++r) {
      const auto &a = block(x).at(i[r]), &b = block(y).at(j[r]);
      out[r] = 0.0;
      for (std::size_t v = 0; v < a.size(); ++v) {
        const double d = double{a[v]} - double{b[v]};
        out[r] += d * d;
      }
    }
    measured += i.size();
    ++measure_calls;
  }
  void do_spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const override {
    const std::size_t m = members_.size();
    for (std::size_t g = 0; g < out.size(); ++g) {
      double sum = 0.0;
      for (std::size_t v = 0; v < grid_.values(); ++v) {
        double mean = 0.0;
        for (std::size_t k = 0; k < m; ++k)
          mean += double{block(x).at(i[g * m + k])[v]} / static_cast<double>(m);
        for (std::size_t k = 0; k < m; ++k) {
          const double d = double{block(x).at(i[g * m + k])[v]} - mean;
          sum += d * d;
        }
      }
      out[g] = sum / static_cast<double>(m);
    }
  }

  Block& block(RowsId id) { return blocks_.at(static_cast<std::size_t>(id)); }
  const Block& block(RowsId id) const { return blocks_.at(static_cast<std::size_t>(id)); }

  Grid grid_;
  std::vector<Member> members_;
  std::vector<Block> blocks_;
};

/// u -> A u + time * drift with a random matrix near 0.9 times the identity. The drift makes a
/// wrong time visible.
inline FakeCommittee::Member linear_member(std::size_t values, const Rng& rng) {
  std::vector<float> a(values * values), drift(values);
  for (std::size_t k = 0; k < a.size(); ++k)
    a[k] = static_cast<float>(0.25 * rng.normal(k)) + (k % (values + 1) == 0 ? 0.9f : 0.0f);
  for (std::size_t v = 0; v < values; ++v)
    drift[v] = static_cast<float>(0.3 * rng.split("drift").normal(v));
  return [values, a, drift](const std::vector<float>& state, double time) {
    std::vector<float> next(values);
    for (std::size_t v = 0; v < values; ++v) {
      float sum = static_cast<float>(time) * drift[v];
      for (std::size_t w = 0; w < values; ++w) sum += a[v * values + w] * state[w];
      next[v] = sum;
    }
    return next;
  };
}

inline std::vector<FakeCommittee::Member> linear_members(std::size_t count, std::size_t values,
                                                         const Rng& rng) {
  std::vector<FakeCommittee::Member> members;
  for (std::size_t m = 0; m < count; ++m)
    members.push_back(linear_member(values, rng.split("member", m)));
  return members;
}

}  // namespace stap::test
