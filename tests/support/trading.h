// What purchases need besides a pool: members that keep a candidate's name, random trouble, and a
// place for records.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "stap/acquire/buy.h"
#include "support/fake_committee.h"
#include "support/fake_solver.h"

namespace stap::test {

/// Linear members that hand value 0, the candidate's name, on (see FakeSolver).
inline std::vector<FakeCommittee::Member> naming_members(std::size_t count, std::size_t values,
                                                         const Rng& rng) {
  std::vector<FakeCommittee::Member> members;
  for (const auto& member : linear_members(count, values, rng))
    members.push_back([member](const std::vector<float>& state, double time) {
      std::vector<float> next = member(state, time);
      next[0] = state[0];
      return next;
    });
  return members;
}

/// States that no float holds, value 0 their candidate's name.
inline States<double> named_pool(const Grid& grid, std::size_t count, const Rng& rng) {
  States<double> pool(grid, count);
  for (std::size_t c = 0; c < count; ++c) {
    pool.row(c)[0] = static_cast<double>(c);
    for (std::size_t v = 1; v < grid.values(); ++v)
      pool.row(c)[v] = rng.split("state", c).uniform(v) / 3.0;
  }
  return pool;
}

/// Any kind of trouble with probability `trouble`, decided by (candidate, step).
inline Decide random_fate(const Rng& rng, double trouble) {
  return [rng, trouble](std::size_t candidate, std::size_t step) {
    if (rng.split("candidate", candidate).uniform(step) >= trouble) return Fate::ok;
    constexpr Fate kinds[] = {Fate::refused, Fate::failed, Fate::not_finite, Fate::wrong_size};
    return kinds[rng.split("kind", candidate).below(step, 4)];
  };
}

/// What was written down before a purchase was cut off: the first `count` records.
inline Recorded recorded_in(const std::vector<AnswerRecord>& records, std::size_t count) {
  std::map<std::pair<std::size_t, std::size_t>, AnswerRecord> known;
  for (std::size_t k = 0; k < count; ++k)
    known[{records[k].candidate, records[k].step}] = records[k];
  return [known](std::size_t candidate, std::size_t step) -> std::optional<AnswerRecord> {
    const auto found = known.find({candidate, step});
    if (found == known.end()) return std::nullopt;
    return found->second;
  };
}

}  // namespace stap::test
