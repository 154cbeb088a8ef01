#include "stap/study/data_request.h"

#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stap/config/files.h"
#include "stap/config/value.h"
#include "stap/core/isa.h"
#include "stap/core/sha256.h"
#include "stap/core/version.h"
#include "stap/study/affecting.h"

namespace stap {

namespace fs = std::filesystem;
using config::Value;

namespace {

// Goes up whenever a solver or sampler is changed so that its numbers change.
constexpr const char* kNumbers = "study/1";

std::string key_of(const Value& document) {
  const std::string text = config::yaml_text(document);
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace

Value data_document(const DataRequest& request) {
  Value document;
  document.set("format", kNumbers);
  // Those of a program of the user's own are its business, and too expensive to be made again.
  if (!request.foreign) {
    document.set("version", version());
    document.set("instruction_set", to_string(active_isa()));
  }
  document.set("pool", request.pool);
  document.set("test", request.test);
  document.set("steps", request.steps);
  if (request.cluster > 1) document.set("cluster", request.cluster);
  document.set("data_seed", request.data_seed);
  if (!request.fixed_sha256.empty()) document.set("fixed_sha256", request.fixed_sha256);
  if (!request.solver.empty()) document.set("solver", request.solver);
  document.set("pde", request.pde);
  document.set("initial", request.initial);
  return document;
}

std::string data_key(const DataRequest& request) {
  return key_of(data_document(request));
}

Value data_folder_document(const DataRequest& request) {
  const Value about = data_document(request);
  Value document;
  document.set("format", kDataFormat);
  document.set("numerics", *about.find("format"));
  for (const Value::Member& member : *about.map())
    if (member.key != "format") document.set(member.key, member.value);
  return document;
}

std::string data_key(const Value& folder_document) {
  Value about;
  about.set("format", field<std::string>(folder_document, "numerics", "config.yaml"));
  for (const Value::Member& member : *folder_document.map())
    if (member.key != "format" && member.key != "numerics") about.set(member.key, member.value);
  return key_of(about);
}

DataRequest data_request(const Study& study) {
  const StudyOptions& o = study.options;
  DataRequest request;
  const Value drawn =
      affecting(study.effective, {config::Affects::problem, config::Affects::source});
  request.pde = *drawn.find("pde");
  request.foreign = study.pde && study.pde.row->outline != nullptr;
  if (request.foreign) {  // what they hold, wherever they lie
    request.pde.erase("mask");
    request.pde.erase("fixed");
    request.fixed_sha256 = sha256_of(study.fixed);
  }
  if (const Value* initial = drawn.find("initial")) request.initial = *initial;
  if (study.initial_program) {  // the same program, wherever it lies
    std::vector<std::string> words = study.initial_program->argv.words;
    for (std::string& word : words)
      if (fs::path(word).is_absolute()) word = fs::path(word).filename().string();
    request.initial.set("argv", config::list_of(words));
  }
  request.pool = study.initial_file.empty() ? o.pool : 0;
  request.test = study.test_file.empty() ? o.test : 0;
  request.steps = o.steps;
  request.cluster = o.cluster;
  request.data_seed = o.data_seed;
  if (study.pde) request.parameters = varied_parameters(study.pde);
  return request;
}

fs::path cache_folder() {
  if (const char* own = std::getenv("STAP_CACHE"))
    return std::string_view(own) == "off" ? fs::path() : fs::path(own);
  const auto below = [](const char* variable, const char* folder) {
    const char* root = std::getenv(variable);
    return root && *root ? fs::path(root) / folder : fs::path();
  };
  const fs::path shared = below("XDG_CACHE_HOME", "stap");
  return shared.empty() ? below("HOME", ".cache/stap") : shared;
}

fs::path cached_file(const std::string& data_key, const char* file) {
  const fs::path cache = cache_folder();
  return cache.empty() ? fs::path() : cache / data_key / file;
}

}  // namespace stap
