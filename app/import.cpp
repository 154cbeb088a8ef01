#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "help.h"
#include "stap/core/error.h"
#include "stap/data/import.h"
#include "stap/data/store.h"

namespace stap::app {
namespace {

struct ImportCommandOptions {
  std::vector<std::string> files;
  std::string as, output, outputs;
  bool all_times = false;
  ImportOptions reading;
  bool json = false;
};

ImportAs purpose_of(const ImportCommandOptions& options) {
  if (options.all_times && options.as != "pool")
    throw Error(ErrorKind::config,
                "--all-times goes with --as pool, where it makes every state a candidate");
  if (options.as == "pool") return options.all_times ? ImportAs::all_states : ImportAs::pool;
  return options.as == "test" ? ImportAs::test : ImportAs::transitions;
}

std::string rows_text(const ImportCommandOptions& options, const Imported& imported) {
  if (options.as == "pool")
    return counted(imported.rows, "initial condition", "initial conditions");
  if (options.as == "test")
    return fmt::format("{} of {}", counted(imported.rows, "trajectory", "trajectories"),
                       counted(imported.data.times, "time", "times"));
  return fmt::format("{} of {}", counted(imported.rows, "transition", "transitions"),
                     counted(imported.data.trajectories, "trajectory", "trajectories"));
}

config::Value summary_of(const ImportCommandOptions& options, const Imported& imported) {
  const ForeignData& data = imported.data;
  config::Value value;
  value.set("output", options.output);
  value.set("as", options.as);
  value.set("layout", data.layout);
  if (!data.name.empty()) value.set("name", data.name);
  value.set("rows", imported.rows);
  value.set("trajectories", data.trajectories);
  value.set("times", data.times);
  value.set("channels", config::list_of(data.channels));
  value.set("points", config::list_of(data.points));
  value.set("lengths", config::list_of(data.lengths));
  value.set("dt", data.dt);
  value.set("parameters", config::list_of(data.parameters.names));
  value.set("notes", config::list_of(data.notes));
  return value;
}

void run_import(const ImportCommandOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  Console console(globals);
  const Imported imported = import_once(files, purpose_of(options), options.reading, options.output,
                                        options.outputs, &console);
  console.finish();
  const ForeignData& data = imported.data;
  if (options.json) {
    out << config::json_text(summary_of(options, imported)) << '\n';
    return;
  }
  for (const std::string& note : data.notes) console.note(note);
  if (imported.was_there)
    console.note(fmt::format("{} exists already, with the same content", options.output));
  const std::string lengths = data.lengths.empty()
                                  ? "lengths unknown"
                                  : fmt::format("lengths {:g}", fmt::join(data.lengths, " x "));
  const std::string dt =
      data.dt > 0 ? fmt::format("steps of {:g}", data.dt) : std::string("step unknown");
  const std::string parameters =
      data.parameters.names.empty()
          ? ""
          : fmt::format(", parameters {}", fmt::join(data.parameters.names, ", "));
  out << fmt::format("{}: {} ({}): channels {} on {} points, {}, {}{}\n", options.output,
                     rows_text(options, imported), data.layout, fmt::join(data.channels, ", "),
                     shape_text(data.points), lengths, dt, parameters);
}

}  // namespace

void add_import(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<ImportCommandOptions>();
  CLI::App* command = program.add_subcommand(
      "import", "Turn data of others into a pool, a test set or first transitions");
  command->add_option("file", options->files, "HDF5 or .npy files, joined in this order")
      ->required()
      ->type_name("FILE");
  one_of(command->add_option("--as", options->as,
                             "pool: the first state of every trajectory; test: whole trajectories; "
                             "transitions: every two states in a row, for the section `first` of "
                             "a study"),
         {"pool", "test", "transitions"})
      ->required();
  command->add_option("--out", options->output, "HDF5 file to write; an existing one is kept")
      ->required()
      ->type_name("FILE");
  ImportOptions& reading = options->reading;
  one_of(command->add_option("--format", reading.format,
                             "What the files are; pdebench has four layouts, stap means our own"),
         {"auto", "npy", "the-well", "pdebench", "stap"})
      ->capture_default_str();
  command
      ->add_option("--field", reading.fields,
                   "Take only this field; may be given several times, for their order")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command->add_option("--time-stride", reading.time_stride, "Take every N-th state of a trajectory")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--trajectories", reading.trajectories, "Take only the first N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->type_name("N");
  command->add_option("--dt", reading.dt, "Time between two states, if the file does not say")
      ->check(CLI::PositiveNumber)
      ->type_name("TIME");
  command
      ->add_option("--lengths", reading.lengths,
                   "Lengths of the domain, one per axis, if the file does not say: 1,2.5")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber)
      ->type_name("LENGTHS");
  command
      ->add_option("--channels", reading.channels,
                   "Names of the channels, if the file does not say: density,vx,vy")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command
      ->add_option("--layout,--axes", reading.layout,
                   "Axes of a .npy file, one letter each: b trajectories, t times, c channels, x, "
                   "y (default: btcx or btcxy; with --as pool bcx or bcxy)")
      ->type_name("LETTERS");
  command->add_option("--name", reading.name, "Name of the problem, if the file does not say")
      ->type_name("NAME");
  command
      ->add_option(
          "--parameter", reading.parameters,
          "A number of each trajectory: the scalar NAME of the file, NAME=FILE.npy, or NAME=VALUE "
          "for all; may be given several times (default: those that a file of ours names)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command->add_flag("--all-times", options->all_times,
                    "With --as pool: take every state of a trajectory, not only the first");
  command
      ->add_option("--outputs", options->outputs,
                   "With --as transitions: file with the state that follows each state of FILE")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "Single precision becomes double. Data that a file keeps in other files are refused.\n"
      "Example:\n  stap import flow.hdf5 --as test --out test.h5 --field velocity --trajectories "
      "50");
  command->callback([options, &globals] { run_import(*options, globals, std::cout); });
}

}  // namespace stap::app
