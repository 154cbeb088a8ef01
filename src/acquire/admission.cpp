#include "acquire/admission.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stap {

Admission::Admission(std::size_t count, std::size_t budget, std::size_t steps, std::size_t warm_up,
                     std::size_t first, std::size_t spare)
    : count_(count), budget_(budget), steps_(steps), warm_up_(warm_up), first_(0), spare_(spare) {
  first_ = std::min(count, std::max(first, likely_more()));
}

// Every candidate costs at least one step.
std::size_t Admission::most() const {
  std::size_t spent = 0, count = 0;
  while (count < states_.size() && spent < budget_) {
    const State& s = states_[count++];
    spent += s.finished ? *s.cost : 1 + warm_up_;
  }
  const std::size_t left = spent < budget_ ? budget_ - spent : 0;
  const std::size_t others = left / (1 + warm_up_) + (left % (1 + warm_up_) > 0 ? 1 : 0);
  return count + std::min(others, count_ - count);
}

// Those that are far along tell what a pattern costs, unless they are very few; at first it is all
// steps.
std::size_t Admission::likely_more() const {
  std::size_t far = 0, cost = 0;
  for (const State& s : states_)
    if (s.cost) {
      ++far;
      cost += *s.cost;
    }
  const double mean = far == 0 || 2 * far < first_
                          ? static_cast<double>(steps_ + warm_up_)
                          : static_cast<double>(cost) / static_cast<double>(far);
  const double covered =
      static_cast<double>(cost) + mean * static_cast<double>(states_.size() - far);
  const double more = (static_cast<double>(budget_) - covered) / mean + static_cast<double>(spare_);
  return static_cast<std::size_t>(std::clamp(std::ceil(more), 0.0, static_cast<double>(count_)));
}

Admission::Some Admission::let_in(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const std::size_t from = states_.size();
  const std::size_t likely = std::max(likely_more(), from < first_ ? first_ - from : 0);
  const std::size_t to = std::min({this->most(), from + likely, from + std::min(most, count_)});
  if (to > from) states_.resize(to);
  return {from, states_.size() - from};
}

void Admission::far_along(std::size_t candidate, std::size_t cost) {
  const std::lock_guard lock(mutex_);
  states_[candidate].cost = cost + warm_up_;
}

void Admission::finished(std::size_t candidate, Found found) {
  const std::lock_guard lock(mutex_);
  State& s = states_[candidate];
  s.cost = found.pattern.cost() + warm_up_;
  s.finished = true;
  s.found = std::move(found);
}

std::size_t Admission::needed_at_most() const {
  const std::lock_guard lock(mutex_);
  return most();
}

std::vector<Found> Admission::found() {
  const std::lock_guard lock(mutex_);
  std::vector<Found> found;
  const std::size_t count = most();
  for (std::size_t c = 0; c < count; ++c) found.push_back(std::move(states_[c].found));
  return found;
}

}  // namespace stap
