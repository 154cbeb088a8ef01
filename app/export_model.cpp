#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "help.h"
#include "output_file.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"
#include "stap/nn/model_file.h"
#include "stap/nn/onnx_file.h"

namespace stap::app {
namespace {

struct ExportModelOptions {
  std::string run, output, format = "safetensors";
  std::optional<std::size_t> round;  ///< nothing: the newest
  bool json = false;
};

void run_export_model(ExportModelOptions options, const Globals& globals, std::ostream& out) {
  if (options.output.empty()) options.output = stem_of(options.run) + "-model." + options.format;
  const bool onnx = options.format == "onnx";
  check_output(options.output, onnx ? OutputKind::onnx : OutputKind::model, {options.run});
  const Model model = standalone_model(options.run, options.round);
  Console console(globals);
  if (const std::string older = about_older_networks(options.run); !options.round && !older.empty())
    console.warning(older);
  if (!onnx && model.bars.empty() && RunFolder(options.run).read_bars())
    console.warning(fmt::format(
        "the error bars of {} are of other networks, so the file has none: 'stap calibrate {}' "
        "makes them anew",
        options.run, options.run));
  (onnx ? write_onnx : write_model)(options.output, model);
  const std::uintmax_t bytes = std::filesystem::file_size(options.output);
  if (options.json) {
    config::Value value;
    value.set("output", options.output);
    value.set("format", options.format);
    value.set("problem", model.problem.name);
    value.set("run", model.origin.run);
    value.set("round", model.origin.round);
    value.set("members", model.members.size());
    value.set("cluster", model.cluster);
    value.set("error_bars", !onnx && !model.bars.empty());
    value.set("bytes", static_cast<std::size_t>(bytes));
    out << config::json_text(value) << '\n';
    return;
  }
  out << fmt::format("{}: {} of {}{}, round {} of run {}; {:.3g} MB\n", options.output,
                     counted(model.members.size(), "network", "networks"), model.problem.name,
                     onnx || model.bars.empty() ? "" : ", with error bars", model.origin.round,
                     model.origin.run, static_cast<double>(bytes) * 1e-6);
}

}  // namespace

void add_export_model(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<ExportModelOptions>();
  CLI::App* command = program.add_subcommand(
      "export-model", "Write a trained surrogate as one file, for your own program");
  command->add_option("run", options->run, "Folder of a run")->required()->type_name("RUN");
  command
      ->add_option("--out", options->output,
                   "File to write (default: the run's name with -model and the format)")
      ->type_name("FILE");
  one_of(
      command->add_option("--format", options->format,
                          "safetensors: a model file; onnx: one step as an ONNX graph, for other "
                          "runtimes (default: safetensors)"),
      {"safetensors", "onnx"});
  command
      ->add_option("--round", options->round,
                   "Networks of this round, counted from 0 (default: the newest that are kept)")
      ->type_name("N");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "The file holds all networks of the committee, their scaling, the grid, the names of the "
      "channels, dt, where they were trained and, after 'stap calibrate', their error bars. C, C++ "
      "and Fortran programs read it with "
      "stap_model.c (docs/how-to/use-the-surrogate.md); 'stap predict' and 'stap evaluate' take "
      "it, "
      "too. An ONNX graph has the input `state` [batch,C,X...], with a time input also `step` "
      "[batch], where parameters vary `parameters` [batch,P], "
      "and the outputs `next` (averaged model) and `members`. An older export is replaced; other "
      "files are not.\n"
      "Example:\n  stap export-model my-run --out model.safetensors\n"
      "  stap export-model my-run --format onnx");
  command->callback([options, &globals] { run_export_model(*options, globals, std::cout); });
}

}  // namespace stap::app
