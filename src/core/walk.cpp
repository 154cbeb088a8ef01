#include "stap/core/walk.h"

#include <utility>

#include "stap/core/error.h"

namespace stap {

Walk::Walk(Pattern pattern) : pattern_(std::move(pattern)) {
  if (pattern_.end() == 0) end_ = End::finished;
}

Walk::Next Walk::next() const {
  if (end_ != End::none) return Next::nothing;
  return pattern_[step_] ? Next::solver : Next::mean_model;
}

void Walk::advance() {
  if (end_ != End::none) throw Error(ErrorKind::internal, "a walk that has ended was advanced");
  if (pattern_[step_]) ++bought_;
  ++step_;
  if (step_ == pattern_.end()) end_ = End::finished;
}

void Walk::refuse(std::string reason) {
  stop(End::refused, std::move(reason));
}
void Walk::fail(std::string reason) {
  stop(End::failed, std::move(reason));
}

void Walk::stop(End end, std::string reason) {
  if (next() != Next::solver)
    throw Error(ErrorKind::internal, "a walk that was not waiting for the solver was stopped");
  end_ = end;
  reason_ = std::move(reason);
}

std::size_t Walk::unspent() const {
  if (end_ != End::refused && end_ != End::failed) return 0;
  return pattern_.cost() - bought_ - (end_ == End::failed ? 1 : 0);
}

}  // namespace stap
