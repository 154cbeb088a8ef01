// `stap version`: which program this is, and what it works with here.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "stap/core/isa.h"
#include "stap/core/version.h"
#include "stap/folder/manifest.h"
#include "stap/nn/compute.h"
#include "stap/study/data_request.h"

namespace stap::app {
namespace {

// GCC names its number only.
#ifdef __clang__
constexpr const char* kCompiler = "";
#else
constexpr const char* kCompiler = "GCC ";
#endif

struct VersionOptions {
  bool verbose = false, json = false;
};

std::string isa_text() {
  std::string there;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    if (cpu_has(isa)) there += fmt::format("{}{}", there.empty() ? "" : ", ", to_string(isa));
  return fmt::format("{} (available: {})", to_string(active_isa()), there);
}

std::string gpu_text() {
  const std::string problem = cuda_problem();
  return problem.empty() ? device_text({.device = ComputeOptions::Device::cuda})
                         : fmt::format("none: {}", problem);
}

void run_version(const VersionOptions& options, const Globals& globals, std::ostream& out) {
  const Manifest machine = this_machine();
  const std::string cache = cache_folder().string();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const HelpItem items[] = {
      {"version", std::string(version())},
      {"build", STAP_BUILD_TYPE},
      {"compiler", kCompiler + machine.compiler},
      {"cpu", machine.cpu},
      {"instruction set", isa_text()},
      {"threads", fmt::format("{}", globals.threads > 0 ? globals.threads : cores)},
      {"gpu", gpu_text()},
      {"cuda architectures", STAP_CUDA_ARCHITECTURES},
      {"hdf5", STAP_HDF5_VERSION},
      {"cache folder", cache.empty() ? "none" : cache},
  };
  if (options.json) {
    config::Value value;
    for (HelpItem item : items) {
      std::ranges::replace(item.name, ' ', '_');
      value.set(item.name, item.text);
    }
    out << config::json_text(value) << '\n';
  } else {
    out << fmt::format("stap {}\n", version());
    if (options.verbose) out << item_lines(std::span(items).subspan(1), help_columns());
  }
}

}  // namespace

void add_version(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<VersionOptions>();
  CLI::App* command = program.add_subcommand(
      "version", "Show the version and, for bug reports, the build and this machine");
  command->add_flag("--verbose", options->verbose, "Show the build and this machine as well");
  command->add_flag("--json", options->json, "Print all of it as JSON");
  command->footer("Example:\n  stap version --verbose");
  command->callback([options, &globals] { run_version(*options, globals, std::cout); });
}

}  // namespace stap::app
