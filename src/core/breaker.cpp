#include "core/breaker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stap {
namespace {

constexpr std::size_t kFirst = 3, kLast = 20;

}  // namespace

void Breaker::add_good() {
  if (tripped()) return;
  ++answers_;
  last_.push_back({false, std::nullopt});
  if (last_.size() > kLast) last_.pop_front();
}

void Breaker::add(Failure failure) {
  last_.push_back({true, std::move(failure)});
  if (tripped()) return;
  ++answers_;
  if (last_.size() > kLast) last_.pop_front();
  judge();
}

void Breaker::judge() {
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(last_, &Seen::failed));
  if (policy_.abort)
    verdict_ = "a query failed";
  else if (policy_.breaker && answers_ == kFirst && failed == kFirst)
    verdict_ = fmt::format("the first {} answers all failed", kFirst);
  else if (policy_.breaker && 2 * failed > kLast)
    verdict_ = fmt::format("{} of the last {} answers failed", failed, last_.size());
}

std::vector<Failure> Breaker::failures() const {
  std::vector<Failure> all;
  for (const Seen& seen : last_)
    if (seen.failure) all.push_back(*seen.failure);
  return all;
}

void Breaker::settle() {
  for (Seen& seen : last_) seen.failure.reset();
}

std::size_t Breaker::settled() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(last_, [](const Seen& s) { return s.failed && !s.failure; }));
}

}  // namespace stap
