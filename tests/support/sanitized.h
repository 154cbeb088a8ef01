// Whether the library under test is sanitized: test code itself never is (tests/CMakeLists.txt).
#pragma once

extern "C" void __asan_init() __attribute__((weak));

namespace stap::test {

inline bool sanitized() {
  return __asan_init != nullptr;
}

}  // namespace stap::test
