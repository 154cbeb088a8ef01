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

}  // namespace stap
