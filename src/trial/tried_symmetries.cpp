#include "stap/trial/tried_symmetries.h"

#include <algorithm>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/symmetry.h"
#include "stap/study/kept_of_solver.h"

namespace stap {
namespace {

constexpr const char* kTriedFolder = "tried-symmetries";
constexpr const char* kTriedFormat = "tried-symmetries/1";

using Texts = std::vector<std::string>;

struct Tried {
  Texts hold, broken;
};

Tried read_tried(const std::filesystem::path& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return {};
  try {
    const config::Value value = read_json(file);
    if (field<std::string>(value, "format", file) != kTriedFormat) return {};
    return {config::texts_in(value.find("hold")), config::texts_in(value.find("broken"))};
  } catch (const Error&) {  // a cache may hold anything
    return {};
  }
}

// Those that can be read; the same symmetry may be written in several ways.
std::vector<Symmetry> parsed(const Texts& texts, const Study& study) {
  std::vector<Symmetry> all;
  const std::vector<std::string> names = names_of(varied_parameters(study.pde));
  for (const std::string& text : texts) try {
      all.push_back(parse_symmetry(text, study.grid, study.channels, names));
    } catch (const Error&) {
    }
  return all;
}

bool has(const std::vector<Symmetry>& all, const Symmetry& one) {
  return std::ranges::find(all, one) != all.end();
}

config::Value as_list(const Texts& texts) {
  return config::list_of(texts);
}

}  // namespace

DoubtedSymmetries doubted_symmetries(const Study& study) {
  DoubtedSymmetries doubted;
  if (!study.pde || !study.pde.row->outline ||
      config::find_path(study.effective, "solver.argv") == nullptr)
    return doubted;
  const Tried tried = read_tried(kept_of_solver(study, kTriedFolder));
  std::vector<Symmetry> hold = parsed(tried.hold, study);
  try {
    hold = symmetry_group(study.grid, hold);
  } catch (const Error&) {  // too many: themselves alone
  }
  const std::vector<Symmetry> broken = parsed(tried.broken, study);
  const std::vector<std::string> names = names_of(varied_parameters(study.pde));
  for (const std::string& text : study.train.symmetries) {
    const Symmetry stated = parse_symmetry(text, study.grid, study.channels, names);
    if (has(broken, stated))
      doubted.broken.push_back(text);
    else if (!has(hold, stated))
      doubted.untried.push_back(text);
  }
  return doubted;
}

void keep_tried_symmetries(const Study& study, const Texts& hold, const Texts& broken) {
  if (hold.empty() && broken.empty()) return;
  const std::filesystem::path file = kept_of_solver(study, kTriedFolder);
  Tried all = read_tried(file);
  const auto move = [&](const Texts& texts, Texts& from, Texts& to) {
    const std::vector<Symmetry> moved = parsed(texts, study);
    for (Texts* list : {&from, &to})
      std::erase_if(*list, [&](const std::string& text) {
        const std::vector<Symmetry> one = parsed({text}, study);
        return one.empty() || has(moved, one[0]);
      });
    to.insert(to.end(), texts.begin(), texts.end());
  };
  move(hold, all.broken, all.hold);
  move(broken, all.hold, all.broken);
  config::Value value;
  value.set("format", kTriedFormat);
  value.set("hold", as_list(all.hold));
  value.set("broken", as_list(all.broken));
  keep(file, value);
}

}  // namespace stap
