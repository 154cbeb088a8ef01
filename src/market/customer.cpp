#include "stap/market/customer.h"

#include <cmath>

#include <fmt/format.h>

namespace stap {

std::string Customer::trouble(const AnswerRecord& record) const {
  return fmt::format("{}, candidate {}, step {}: {}", text(), record.candidate, record.step + 1,
                     record.reason);
}

std::size_t Customer::most_stragglers(double share) const {
  return static_cast<std::size_t>(std::floor(share * static_cast<double>(orders_.asked)));
}

void Customer::Steps::add(Answer::Status status) {
  ++(status == Answer::Status::ok ? ok : status == Answer::Status::refused ? refused : failed);
}

}  // namespace stap
