#include "stap/results/round_stages.h"

#include <cstdint>
#include <limits>

namespace stap {
namespace {

using config::Value;

// Empty if they are not errors, null standing for what is not finite.
std::optional<std::vector<double>> errors_in(const Value& value) {
  if (!value.is_list()) return std::nullopt;
  std::vector<double> errors;
  for (const Value& one : *value.list()) {
    const double error =
        one.is_null() ? std::numeric_limits<double>::infinity() : one.real().value_or(-1.0);
    if (!(error >= 0)) return std::nullopt;
    errors.push_back(error);
  }
  return errors;
}

}  // namespace

std::optional<RoundStages> read_stages(const Value& line, std::size_t round) {
  const Value *trained = line.find("stages"), *kept = line.find("kept_stage"),
              *held_back = line.find("held_back");
  if (trained == nullptr && kept == nullptr && held_back == nullptr) return std::nullopt;
  const RoundStages damage{.round = round, .damaged = true};
  if (trained == nullptr || kept == nullptr || held_back == nullptr) return damage;
  const std::optional<std::uint64_t> count = trained->integer<std::uint64_t>(),
                                     best = kept->integer<std::uint64_t>();
  const std::optional<std::vector<double>> errors = errors_in(*held_back);
  if (!count || !best || !errors || *best >= *count) return damage;
  // Without anything that is held back there is one stage, and no error of it.
  if (*count != (errors->empty() ? 1 : errors->size())) return damage;
  return RoundStages{.round = round, .kept = *best, .held_back = *errors};
}

std::size_t thrown_away(const std::vector<RoundStages>& rounds) {
  std::size_t count = 0;
  for (const RoundStages& one : rounds) count += one.thrown_away();
  return count;
}

}  // namespace stap
