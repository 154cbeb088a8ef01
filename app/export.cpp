#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "output_file.h"
#include "stap/data/store.h"
#include "stap/results/export.h"

namespace stap::app {
namespace {

struct ExportOptions {
  std::string run, format, output;
  bool json = false;
};

struct Format {
  const char* name;
  OutputKind kind;
  void (*write)(const TrainingData& data, const std::filesystem::path& path);
};
constexpr Format kFormats[] = {{"the-well", OutputKind::well, export_well},
                               {"npy", OutputKind::folder, export_npy},
                               {"xdmf", OutputKind::xdmf, export_xdmf}};

void run_export(ExportOptions options, std::ostream& out) {
  disable_store_exit_handler();
  if (options.output.empty())
    options.output = fmt::format("{}-{}{}", stem_of(options.run), options.format,
                                 options.format == "npy"    ? ""
                                 : options.format == "xdmf" ? ".xdmf"
                                                            : ".hdf5");
  const auto* format = std::ranges::find(kFormats, options.format, &Format::name);
  check_output(options.output, format->kind, {options.run});
  if (format->kind == OutputKind::xdmf)
    check_output(xdmf_values(options.output), OutputKind::xdmf_values, {options.run});
  const TrainingData data = read_training_data(options.run);
  format->write(data, options.output);
  const std::size_t n = data.set.count();
  const auto synthetic = static_cast<std::size_t>(std::ranges::count(data.synthetic, 1));
  if (options.json) {
    config::Value value;
    value.set("output", options.output);
    value.set("format", options.format);
    value.set("problem", data.problem);
    value.set("transitions", n);
    value.set("synthetic", synthetic);
    value.set("trajectories", data.trajectories.size());
    value.set("times", data.times());
    out << config::json_text(value) << '\n';
    return;
  }
  out << fmt::format(
      "{}: {} of {} from {}; {} of them start from a state that the surrogate made\n",
      options.output, counted(n, "transition", "transitions"), data.problem,
      counted(data.trajectories.size(), "trajectory", "trajectories"), synthetic);
}

}  // namespace

void add_export(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      program.add_subcommand("export", "Write the training set of a run for other programs");
  command->add_option("run", options->run, "Folder of a run")->required()->type_name("RUN");
  one_of(command->add_option("--format", options->format,
                             "the-well: trajectories in an HDF5 file of that layout; npy: a folder "
                             "of NumPy files with the transitions; xdmf: trajectories for "
                             "ParaView"),
         {"the-well", "npy", "xdmf"})
      ->required();
  command
      ->add_option("--out", options->output,
                   "File to write, for npy a folder (default: the run's name and the format)")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "Of a trajectory, the training set has only the states at both ends of bought steps. "
      "state_source says what made each: 0 unknown, 1 initial condition, 2 solver, 3 surrogate.\n"
      "An older export of the same format is replaced (for npy it must be the same); other files "
      "are not. Nothing is written into the folder of the run.\n"
      "Example:\n  stap export my-run --format the-well --out my-run.hdf5");
  command->callback([options] { run_export(*options, std::cout); });
}

}  // namespace stap::app
