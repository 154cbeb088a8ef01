#pragma once

#include <cstddef>

#include "stap/core/committee.h"

namespace stap {

/// Rows in a committee's memory, given back at the end of the scope.
class ResidentRows {
 public:
  ResidentRows(Committee& committee, std::size_t n)
      : committee_(committee), id_(committee.rows(n)) {}
  ~ResidentRows() { committee_.release(id_); }
  ResidentRows(const ResidentRows&) = delete;
  ResidentRows& operator=(const ResidentRows&) = delete;

  operator RowsId() const { return id_; }

 private:
  Committee& committee_;
  RowsId id_;
};

/// The time of the input of step `step`, which is state `step`, in [0,1] over a trajectory of
/// `steps` steps.
inline double input_time(std::size_t step, std::size_t steps) {
  return static_cast<double>(step) / static_cast<double>(steps);
}

}  // namespace stap
