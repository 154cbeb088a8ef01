// The demo sweep (three methods, three seeds), in a folder of its own: seconds by phase, summed
// over runs, and in all. One JSON object a line.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "stap/run/sweep.h"
#include "stap/study/presets.h"

namespace {

namespace fs = std::filesystem;

int run() {
  std::string folder = (fs::temp_directory_path() / "stap-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("STAP_CACHE", (fs::path(folder) / "cache").c_str(), 1);
  const auto runs = stap::expand_grid(
      stap::load_config("demo"),
      {stap::parse_axis("method=random,sbal,sbal+stap"), stap::parse_axis("seed=0,1,2")});
  stap::Observer observer;
  const auto start = std::chrono::steady_clock::now();
  stap::drive(runs, fs::path(folder) / "sweep", 0, observer, [] { return false; });
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;

  std::map<std::string, double> seconds;
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / "sweep")) {
    std::ifstream timings(entry.path() / "timings.jsonl");
    for (std::string line; std::getline(timings, line);) {
      const auto timing = nlohmann::json::parse(line);
      seconds[timing.at("phase")] += timing.at("seconds").get<double>();
    }
  }
  fs::remove_all(folder);
  std::string line =
      fmt::format(R"({{"bench":"demo","name":"demo","runs":{},"seconds_wall":{:.4g})", runs.size(),
                  wall.count());
  for (const auto& [phase, sum] : seconds)
    line += fmt::format(R"(,"seconds_{}":{:.4g})", phase, sum);
  fmt::print("{}}}\n", line);
  return 0;
}

}  // namespace

int main() {
  return run();
}
