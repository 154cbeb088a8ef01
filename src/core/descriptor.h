#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace stap {

/// An open file, closed at the end, which leaves errno as it was.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    const int error = errno;
    if (number_ >= 0) ::close(number_);
    errno = error;
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }  ///< -1: none

 private:
  int number_ = -1;
};

}  // namespace stap
