#include "acquire/features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "acquire/candidate_rows.h"
#include "core/parallel.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

// Calls of the committee's rows_at_once() that trajectories sketched at a time would fill: bounds
// the memory of their rows and features.
constexpr std::size_t kCalls = 8;
// Candidates a thread compares with a new centre at a time: a megabyte of points.
constexpr std::size_t kCompared = 256;

bool finite(std::span<const double> point) {
  return std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
}

std::span<const double> row(const std::vector<double>& points, std::size_t i) {
  return std::span(points).subspan(i * kSketchSize, kSketchSize);
}

// Moves the finite points to the front and drops the others, in place: there may be many. Returns
// which they were.
std::vector<std::size_t> keep_finite(std::vector<double>& points) {
  std::vector<std::size_t> kept;
  for (std::size_t c = 0; c < points.size() / kSketchSize; ++c) {
    const auto point = row(points, c);
    if (!finite(point)) continue;
    const std::size_t to = kept.size() * kSketchSize;
    if (to != c * kSketchSize)
      std::copy(point.begin(), point.end(), points.begin() + static_cast<std::ptrdiff_t>(to));
    kept.push_back(c);
  }
  points.resize(kept.size() * kSketchSize);
  return kept;
}

}  // namespace

std::vector<double> sketched_features(Committee& committee, const Candidates& candidates,
                                      std::span<const std::size_t> ids) {
  const auto members = static_cast<std::size_t>(committee.members());
  const std::size_t block = kCalls * committee.rows_at_once();
  std::vector<double> features(ids.size() * kSketchSize, 0.0);
  for (std::size_t first = 0; first < ids.size(); first += block) {
    const std::size_t n = std::min(block, ids.size() - first);
    const MemberRollouts rollouts(committee, candidates, ids.subspan(first, n));
    std::vector<double> own(n * members * kSketchSize, 0.0);
    for (std::size_t step = 0; step < candidates.steps; ++step) {
      const MemberRollouts::Step s = rollouts.step(step);
      committee.sketch(s.from, s.i, rollouts.member, step, rollouts.rows, rollouts.own, own);
    }
    for (std::size_t r = 0; r < n * members; ++r)
      for (std::size_t k = 0; k < kSketchSize; ++k)
        features[(first + r / members) * kSketchSize + k] += own[r * kSketchSize + k];
  }
  return features;
}

std::span<const double> FeatureSpace::point(std::size_t c) const {
  return row(points, c);
}

FeatureSpace make_feature_space(Committee& committee, const Candidates& candidates) {
  std::vector<std::size_t> open(candidates.open.begin(), candidates.open.end()), used;
  std::sort(open.begin(), open.end());
  for (std::size_t id = 0, next = 0; id < candidates.states.count; ++id) {
    if (next < open.size() && open[next] == id)
      ++next;
    else
      used.push_back(id);
  }
  FeatureSpace space;
  space.points = sketched_features(committee, candidates, open);
  for (const std::size_t c : keep_finite(space.points)) space.ids.push_back(open[c]);
  space.not_finite = open.size() - space.ids.size();
  space.centres = sketched_features(committee, candidates, used);
  keep_finite(space.centres);
  return space;
}

double feature_distance2(std::span<const double> a, std::span<const double> b) {
  // Four sums side by side: one would wait for itself at every addition.
  double sum[4] = {};
  for (std::size_t k = 0; k < kSketchSize; k += 4)
    for (std::size_t j = 0; j < 4; ++j) {
      const double d = a[k + j] - b[k + j];
      sum[j] += d * d;
    }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

NearestCentres::NearestCentres(const FeatureSpace& space)
    : space_(space),
      distance2_(space.ids.size(), std::numeric_limits<double>::infinity()),
      centre_(space.ids.size(), 0),
      taken_(space.ids.size(), 0) {
  for (std::size_t c = 0; c < space.centres.size() / kSketchSize; ++c) add(row(space.centres, c));
}

void NearestCentres::take(std::size_t c) {
  taken_[c] = 1;
  add(space_.point(c));
}

void NearestCentres::add(std::span<const double> centre) {
  parallel_for(thread_count(0), (size() + kCompared - 1) / kCompared, [&](std::size_t task, int) {
    for (std::size_t c = task * kCompared; c < std::min((task + 1) * kCompared, size()); ++c) {
      if (taken_[c]) continue;
      const double d = feature_distance2(space_.point(c), centre);
      if (d >= distance2_[c]) continue;
      distance2_[c] = d;
      centre_[c] = centres_;
    }
  });
  ++centres_;
}

const config::Fields<SketchOptions>& sketch_fields() {
  static const config::Fields<SketchOptions> fields{
      {"sketch", &SketchOptions::sketch,
       "how hidden activations become 512 coordinates: each goes to four of them, with a sign",
       config::choices<SketchOptions::Sketch>({{"sparse", SketchOptions::Sketch::sparse}})},
  };
  return fields;
}

Order take_greedily(const FeatureSpace& space, std::size_t at_most,
                    const std::function<std::size_t(const NearestCentres&)>& pick) {
  const std::size_t count = space.ids.size();
  NearestCentres nearest(space);
  Order order;
  order.not_finite = space.not_finite;
  while (order.ids.size() < std::min(at_most, count)) {
    std::size_t best = 0;
    if (nearest.centres() == 0) {
      const std::vector<double> origin(kSketchSize, 0.0);
      double largest = -1.0;
      for (std::size_t c = 0; c < count; ++c)
        if (const double norm = feature_distance2(space.point(c), origin); norm > largest) {
          largest = norm;
          best = c;
        }
    } else {
      best = pick(nearest);
    }
    nearest.take(best);
    order.ids.push_back(space.ids[best]);
  }
  return order;
}

}  // namespace stap
