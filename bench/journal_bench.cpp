// How long 8,000 answers take to be on disk, 16 at a time, and what is left of them in memory; and
// how fast the checksum is. One JSON object a line.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "stap/journal/answer_log.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAnswers = 8000, kGroup = 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Memory of this process, in MB.
double resident_megabytes() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

void record(const fs::path& folder, const std::string& name, std::size_t values) {
  const double before = resident_megabytes();
  stap::AnswerRecord answer;
  answer.status = stap::Answer::Status::ok;
  answer.state.assign(values, 0.1);
  answer.attempts = 1;
  const auto start = Clock::now();
  double recording = 0;
  {
    stap::AnswerLog log(folder / (name + ".jsonl"), folder / (name + ".bin"));
    for (std::size_t i = 0; i < kAnswers; ++i) {
      answer.candidate = i / 8;
      answer.step = i % 8;
      log.append(0, answer);
      if (i % kGroup == kGroup - 1) log.commit();
    }
    recording = seconds_since(start);
  }
  const double after = resident_megabytes();
  const auto opening = Clock::now();
  const stap::AnswerLog log(folder / (name + ".jsonl"), folder / (name + ".bin"));
  const double opened = seconds_since(opening);
  fmt::print(R"({{"bench":"journal","name":"{} answers of {} values, {} at a time",)"
             R"("seconds":{:.4g},"ms_per_commit":{:.4g},"seconds_to_open":{:.4g},)"
             R"("megabytes_more":{:.3g}}})"
             "\n",
             kAnswers, values, kGroup, recording,
             1e3 * recording / static_cast<double>(kAnswers / kGroup), opened, after - before);
}

void checksum() {
  const std::vector<std::byte> bytes(std::size_t{1} << 24, std::byte{0x5a});
  const auto start = Clock::now();
  std::uint32_t crc = 0;
  int rounds = 0;
  for (; rounds < 10; ++rounds) crc ^= stap::crc32c(bytes);
  const double gigabytes = static_cast<double>(bytes.size()) * rounds / 1e9;
  fmt::print(R"({{"bench":"journal","name":"CRC-32C, {:x}","gigabytes_per_second":{:.3g}}})"
             "\n",
             crc, gigabytes / seconds_since(start));
}

}  // namespace

int main() {
  std::string folder = (fs::temp_directory_path() / "stap-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  record(folder, "line", 64);
  record(folder, "gas", 4 * 32 * 32);
  checksum();
  fs::remove_all(folder);
  return 0;
}
