#include <iostream>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

void run_schema(std::ostream& out) {
  config::Value schema = config::schema(study_families());
  // The shorthand for base and steps is no section of its own.
  config::Value method;
  method.set("type", "string");
  method.set("description", "short for base and steps, for example sbal+stap");
  schema.find("properties")->set("method", std::move(method));
  // Neither is the name of what a document extends.
  config::Value name, names, extends;
  name.set("type", "string");
  names.set("type", "array");
  names.set("items", name);
  extends.set("oneOf", config::Value(config::Value::List{name, names}));
  extends.set("description", "presets or files that this document builds on, in this order");
  schema.find("properties")->set("extends", std::move(extends));
  // Nor are the axes of a sweep.
  config::Value sweep;
  sweep.set("type", "object");
  sweep.set("description",
            "axes of a sweep: each a key with a list of values, such as seed: 0..4; extends takes "
            "presets "
            "or files");
  schema.find("properties")->set("sweep", std::move(sweep));
  // A run's own configuration says its format.
  config::Value format;
  format.set("const", kRunFormat);
  format.set("description", "format of the folder of a run, whose config.yaml can be used again");
  schema.find("properties")->set("format", std::move(format));
  out << config::json_text(schema) << '\n';
}

}  // namespace

void add_schema(CLI::App& program, const Globals&) {
  CLI::App* command =
      program.add_subcommand("schema", "Print the JSON Schema of configurations for your editor");
  command->footer("Example:\n  stap schema > stap.schema.json");
  command->callback([] { run_schema(std::cout); });
}

}  // namespace stap::app
