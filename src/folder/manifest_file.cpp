#include <fstream>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/grid.h"
#include "stap/core/isa.h"
#include "stap/core/version.h"
#include "stap/folder/run_folder.h"

namespace stap {
namespace {

using config::Value;

constexpr std::string_view kManifestFormat = "manifest/3";

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

Value map_field(const Value& document, const char* key, const std::filesystem::path& path) {
  const Value* value = document.find(key);
  if (value == nullptr || !value->is_map()) throw_bad_field(key, path);
  return *value;
}

}  // namespace

Manifest this_machine() {
  Manifest manifest;
  manifest.version = version();
  manifest.compiler = __VERSION__;
  manifest.cpu = cpu_model();
  manifest.instruction_set = to_string(active_isa());
  return manifest;
}

std::string identity_text(const Manifest& manifest, const char* key) {
  const Value* value = manifest.identity.find(key);
  return value != nullptr && value->text() != nullptr ? *value->text() : "";
}

std::vector<std::string> channel_names(const Manifest& manifest, std::size_t channels) {
  std::vector<std::string> names = config::texts_in(manifest.identity.find("channels"));
  return names.size() == channels ? names : unnamed_channels(channels);
}

std::string manifest_text(const Manifest& manifest) {
  const auto map = [](const Value& value) { return value.is_null() ? Value(Value::Map{}) : value; };
  Value value;
  value.set("format", kManifestFormat);
  value.set("run", manifest.run);
  value.set("version", manifest.version);
  value.set("compiler", manifest.compiler);
  value.set("device", manifest.device);
  if (!manifest.walked_on.empty()) value.set("walked_on", manifest.walked_on);
  value.set("cpu", manifest.cpu);
  value.set("instruction_set", manifest.instruction_set);
  value.set("solver", manifest.solver);
  value.set("seed", manifest.seed);
  value.set("data_seed", manifest.data_seed);
  value.set("identity", map(manifest.identity));
  return config::json_text(value) + "\n";
}

Value run_line(const Manifest& manifest, const Value& document) {
  Value line;
  line.set("run", manifest.run);
  line.set("config", RunFolder::config_text(document));
  line.set("manifest", manifest_text(manifest));
  return line;
}

void RunFolder::write_manifest(const Manifest& manifest) const {
  write_sealed_json(manifest_file(), manifest_text(manifest));
  run_.reset();
}

Manifest RunFolder::read_manifest() const {
  const std::filesystem::path path = manifest_file();
  const Value value = read_sealed_json(path, kManifestFormat);
  const auto text = [&](const char* key) { return field<std::string>(value, key, path); };
  Manifest manifest;
  manifest.version = text("version");
  manifest.compiler = text("compiler");
  manifest.device = text("device");
  if (value.find("walked_on") != nullptr) manifest.walked_on = text("walked_on");
  manifest.cpu = text("cpu");
  manifest.instruction_set = text("instruction_set");
  manifest.solver = text("solver");
  manifest.seed = field<std::uint64_t>(value, "seed", path);
  manifest.data_seed = field<std::uint64_t>(value, "data_seed", path);
  manifest.run = text("run");
  manifest.identity = map_field(value, "identity", path);
  return manifest;
}

}  // namespace stap
