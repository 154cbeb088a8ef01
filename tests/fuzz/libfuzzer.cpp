// The targets as a program of libFuzzer: STAP_FUZZ_TARGET=npy stap-fuzz [options] CORPUS...
//
// Our code is compiled by GCC, whose coverage is a call at every edge; libFuzzer is clang's and
// takes counters that somebody else keeps. So the call counts here. The memory is shared with child
// processes: what a reader of foreign files does in one counts, too.
#include <cstdio>
#include <cstring>

#include "fuzz/targets.h"
#include "stap/data/store.h"

namespace {

constexpr std::size_t kCounters = 1 << 16;
alignas(4096)
    __attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t counters[kCounters];
const stap::fuzz::Target* target = nullptr;

}  // namespace

extern "C" __attribute__((no_sanitize_coverage)) void __wrap___sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  ++counters[(place * 0x9e3779b97f4a7c15u) >> 48];
}

// GCC's own; the fuzzer has no use for them.
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("STAP_FUZZ_TARGET");
  for (const stap::fuzz::Target& one : stap::fuzz::kTargets)
    if (name != nullptr && std::strcmp(one.name, name) == 0) target = &one;
  if (target == nullptr) {
    std::fprintf(stderr, "STAP_FUZZ_TARGET is '%s', expected:", name == nullptr ? "" : name);
    for (const stap::fuzz::Target& one : stap::fuzz::kTargets)
      std::fprintf(stderr, " %s", one.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  if (mmap(counters, kCounters, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1,
           0) == MAP_FAILED)
    std::abort();
  stap::disable_store_exit_handler();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({data, size});
  return 0;
}
