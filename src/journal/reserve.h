// Room on a disk that is held for when it is full.
#pragma once

#include <cstdint>
#include <filesystem>

namespace stap {

/// A file that takes room as long as this lives, or until that is needed for what is paid for.
class Reserve {
 public:
  /// Goes without where there is no room for it now.
  Reserve(std::filesystem::path file, std::uint64_t bytes);
  ~Reserve();
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  /// Gives its room up; false if there is none.
  bool give();
  /// It was needed.
  bool given() const { return given_; }

 private:
  std::filesystem::path file_;
  bool held_ = false, given_ = false;
};

}  // namespace stap
