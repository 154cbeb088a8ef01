#include "output_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/nn/model_file.h"
#include "stap/nn/onnx_file.h"
#include "stap/results/export.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;

bool has_format(const fs::path& file, const char* format) {
  return has_attribute(file, "/", "format") && read_text_attribute(file, "/", "format") == format;
}

bool has_dataset(const fs::path& file, const char* name) {
  return std::ranges::count(list_datasets(file), name) > 0;
}

bool begins_with(const fs::path& file, std::string_view text) {
  std::string begin(text.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == text;
}

struct KindName {
  OutputKind kind;
  const char* name;
};
constexpr std::array kNames{
    KindName{OutputKind::prediction, "a prediction"},
    KindName{OutputKind::trajectories, "a file of 'stap solve'"},
    KindName{OutputKind::queries, "a file of 'stap ask'"},
    KindName{OutputKind::well, "an export of the format the-well"},
    KindName{OutputKind::xdmf, "an export of the format xdmf"},
    KindName{OutputKind::xdmf_values, "the values of an export of the format xdmf"},
    KindName{OutputKind::model, "an export of 'stap export-model'"},
    KindName{OutputKind::onnx, "an export of 'stap export-model' as ONNX"},
};

bool is_one(const fs::path& file, OutputKind kind) {
  switch (kind) {
    case OutputKind::prediction:
      return has_format(file, "prediction/1") || has_format(file, "prediction/2");
    case OutputKind::trajectories:
      return has_format(file, "trajectories/1") || has_format(file, "trajectories/2");
    case OutputKind::queries:
      return has_format(file, "queries/1") || has_format(file, "queries/2");
    case OutputKind::well:
      return has_dataset(file, "scalars/state_source");
    case OutputKind::xdmf:
      return begins_with(file, kXdmfBegin);
    case OutputKind::xdmf_values:
      return has_dataset(file, "state_source");
    case OutputKind::model:
      return !read_model(file).problem.name.empty();  // those of a run's folder say no problem
    case OutputKind::onnx:
      return begins_with(file, kOnnxBegin);
    case OutputKind::folder:
      break;
  }
  return true;
}

// Whether a path, or what it is a link to, is below a folder.
bool lies_in(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  const fs::path around = fs::canonical(folder, error);
  const fs::path name = path.has_filename() ? path : path.parent_path();  // "folder/"
  const fs::path itself =
      fs::weakly_canonical(fs::absolute(name, error).parent_path(), error) / name.filename();
  for (const fs::path& one : {itself, fs::weakly_canonical(name, error)})
    if (std::ranges::mismatch(around, one).in1 == around.end()) return true;
  return false;
}

}  // namespace

void check_output(const fs::path& output, OutputKind kind, std::initializer_list<fs::path> inputs) {
  std::error_code error;
  for (const fs::path& input : inputs)
    if (fs::equivalent(output, input, error) || lies_in(output, input))
      throw Error(ErrorKind::config,
                  fmt::format("{} is {} {}, which is an input: give the output another name",
                              output.string(),
                              fs::is_directory(input, error) ? "in the folder" : "the same as",
                              input.string()));
  // What is empty has nothing to lose; what is no file is refused when it is to be written.
  if (!fs::is_regular_file(output, error) || fs::file_size(output, error) == 0) return;
  try {
    if (is_one(output, kind)) return;
  } catch (const Error&) {
    // Damaged, or none of ours.
  }
  throw Error(ErrorKind::config,
              fmt::format("{} exists and is not {}, so it is not replaced: remove it, or choose "
                          "another name",
                          output.string(), std::ranges::find(kNames, kind, &KindName::kind)->name));
}

std::string stem_of(const fs::path& input) {
  fs::path path = fs::absolute(input).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  std::error_code error;
  const std::string stem = (fs::is_directory(path, error) ? path.filename() : path.stem()).string();
  return stem.empty() ? "stap" : stem;
}

void check_text_output(const fs::path& output, const TextOutput& what,
                       std::span<const fs::path> inputs) {
  for (const fs::path& input : inputs)
    if (output.extension() != what.extension && lies_in(output, input))
      throw Error(ErrorKind::config,
                  fmt::format("{} is in the folder {}, which is an input: choose a name that ends "
                              "in {}, or another folder",
                              output.string(), input.string(), what.extension));
  std::error_code error;
  if (!fs::is_regular_file(output, error) || fs::file_size(output, error) == 0) return;
  std::string begin(64 << 10, '\0');
  std::ifstream in(output, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  if (!what.is_ours(begin))
    throw Error(ErrorKind::config,
                fmt::format("{} exists and is no {}: remove it, or choose another name",
                            output.string(), what.kind));
}

}  // namespace stap::app
