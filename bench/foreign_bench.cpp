// What it costs to read a foreign HDF5 file in a child process, beside reading it here: states of
// 32 x 32 values, in a process that is small and in one with 256 MB of its own, all of it written
// to between two reads. One JSON object a line.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "data/child_read.h"
#include "stap/data/array_file.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

void measure(std::size_t states, std::size_t megabytes, int reads) {
  const fs::path file = fs::temp_directory_path() / fmt::format("foreign-bench-{}.h5", getpid());
  {
    const std::vector<double> values(states * 32 * 32, 0.5);
    ArrayWriter writer(file);
    writer.add("states", {states, 1, 32, 32}, values);
    writer.commit(false);
  }
  std::vector<char> others(megabytes << 20, 1);
  for (const bool child : {false, true}) {
    std::vector<double> taken;
    for (int i = 0; i < reads; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (child) {
        read_foreign_array(file, "states");
      } else {
        const h5::Trusted here(file);
        read_array(file, "states");
      }
      for (std::size_t at = 0; at < others.size(); at += 4096) ++others[at];
      taken.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::sort(taken);
    fmt::print(R"({{"bench":"foreign","name":"{}","states":{},"process_mb":{},"ms_median":{:.3g},)"
               R"("ms_least":{:.3g}}})"
               "\n",
               child ? "child" : "here", states, megabytes, 1e3 * taken[taken.size() / 2],
               1e3 * taken[0]);
  }
  fs::remove(file);
}

}  // namespace
}  // namespace stap

int main() {
  stap::measure(1, 0, 300);
  stap::measure(1000, 0, 50);
  stap::measure(1, 256, 50);
}
