#include "stap/study/study.h"

#include <algorithm>

#include <fmt/format.h>

#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/study/method.h"
#include "study/fitting.h"

namespace stap {
namespace {

using config::Value;

config::Entry file_entry(const char* text) {
  return {"file", text, &file_fields()};
}

// The sections of a document as they were read, by name.
class Sections {
 public:
  Sections(const Value& document, config::Complaints& complaints)
      : families_(study_families()),
        read_(config::read_sections(families_, document, complaints)) {}

  const config::Section* find(std::string_view name) const {
    for (std::size_t f = 0; f < families_.size(); ++f)
      if (families_[f].name == name) return read_[f] ? &*read_[f] : nullptr;
    return nullptr;
  }
  template <class Row>
  config::Choice<Row> choice(std::string_view name, const config::Registry<Row>& table) const {
    const config::Section* section = find(name);
    if (section == nullptr || section->entry >= table.size()) return {};
    return {&table[section->entry], section->options};
  }
  // Whether a section names this entry.
  bool names(std::string_view section, std::string_view entry) const {
    for (std::size_t f = 0; f < families_.size(); ++f)
      if (families_[f].name == section)
        return read_[f] && families_[f].entries[read_[f]->entry].name == entry;
    return false;
  }
  // The options of a plain section, or of the entry that it names.
  template <class Options>
  Options options(std::string_view name, const config::Fields<Options>& fields) const {
    const config::Section* section = find(name);
    return section != nullptr ? section->options.as(fields) : Options{};
  }
  Value effective() const { return config::effective(families_, read_); }

 private:
  std::vector<config::Family> families_;
  std::vector<std::optional<config::Section>> read_;
};

// `steps: 3` at the top: a section that is called like a size of the study.
void refuse_sizes(Value& document, config::Complaints& complaints) {
  for (const char* key : {"steps", "initial", "test"}) {
    const Value* section = document.find(key);
    if (section == nullptr || !section->real()) continue;
    const std::string number = config::json_text(*section, 0);
    complaints.add(key,
                   fmt::format("is {}, but {} is a section; for the number write study.{}={}",
                               number, key, key, number),
                   section->origin());
    document.erase(key);
  }
}

// The sections of a method that this program does not have (an own one of another program's, or one
// of an earlier version), taken out of the document.
std::vector<std::pair<std::string, Value>> take_unknown_method(Value& document) {
  std::vector<std::pair<std::string, Value>> taken;
  const auto look_at = [&](const std::string& section, const auto& table) {
    const Value* value = document.find(section);
    if (value == nullptr) return;
    config::Complaints unread;
    table.choose(*value, unread);
    if (unread.empty()) return;
    taken.emplace_back(section, *value);
    document.erase(section);
  };
  look_at("base", selector_table());
  look_at("steps", chooser_table());
  look_at("planner", planner_table());
  return taken;
}

// Sizes that follow the files where they are not given.
void take_sizes_from_files(Study& study) {
  const auto all = [&](const std::filesystem::path& file, const char* key, std::size_t& size) {
    if (file.empty() || config::find_path(study.given, fmt::format("study.{}", key))) return;
    size = 0;
    study.effective.find("study")->set(key, 0);
  };
  all(study.initial_file, "pool", study.options.pool);
  all(study.test_file, "test", study.options.test);
}

void require(const Study& study, Purpose purpose, config::Complaints& complaints) {
  if (purpose == Purpose::check) return;
  for (const char* section : {"pde", "initial"})
    if (study.given.find(section) == nullptr)
      complaints.add(section, "is missing; 'stap list' shows what there is");
  const auto given = [&](const char* section) { return study.given.find(section) != nullptr; };
  if (purpose != Purpose::generate && !given("planner") && !(given("base") && given("steps")))
    complaints.add("method", "is missing, expected for example method: sbal+stap");
}

template <class Row>
auto make(const config::Choice<Row>& choice, const MakeContext& context) {
  if (!choice.row->make)
    throw Error(ErrorKind::config, fmt::format("{} has no maker", choice.row->name));
  return choice.row->make(choice.options, context);
}

// What a method may ask for.
MakeContext method_context(const Study& study) {
  return {.grid = study.grid.points.empty() ? nullptr : &study.grid};
}

}  // namespace

std::vector<config::Family> study_families() {
  using enum config::Affects;
  std::vector<config::Entry> initial(sampler_table().begin(), sampler_table().end());
  initial.push_back(file_entry("a file of initial conditions, as 'stap generate' writes pool.h5"));
  initial.push_back(
      {"program", "a program of your own that draws them", &program_sampler_fields()});
  std::vector<config::Family> families = {
      pde_table().family(),
      solver_table().family(),
      config::named_family("initial", "how initial conditions are drawn", std::move(initial)),
      config::named_family(
          "test", "where test trajectories come from, unless they are made like the pool",
          std::vector{file_entry("a file of trajectories, as 'stap generate' writes test.h5")},
          test),
      config::named_family(
          "first", "transitions that one already has: in the training set from the beginning",
          std::vector{file_entry("a file of transitions, as 'stap import' writes it, or that of "
                                 "another run")},
          data),
      network_family(),
      config::plain_family("train", "how networks are trained", fit_fields(), training),
      config::plain_family("study", "sizes and seeds of a study", study_fields()),
      selector_table().family(),
      chooser_table().family(),
  };
  if (planner_table().size() > 0) families.push_back(planner_table().family());
  families.push_back(
      config::plain_family("compute", "where networks are computed", compute_fields(), device));
  return families;
}

Study read_study(Value document, Purpose purpose, config::Complaints& complaints) {
  complaints.about(document);
  refuse_sizes(document, complaints);
  expand_method(document, complaints);
  complaints.about(document);
  // Whoever looks at what was run need not know the method.
  auto unknown = purpose == Purpose::look ? take_unknown_method(document)
                                          : std::vector<std::pair<std::string, Value>>();
  const Sections sections(document, complaints);
  Study study;
  study.effective = sections.effective();
  study.given = std::move(document);
  for (auto& [section, value] : unknown) {
    study.effective.set(section, value);
    study.given.set(section, std::move(value));
  }
  study.options = sections.options("study", study_fields());
  if (const config::Section* network = sections.find("network"))
    study.network = network_options(*network);
  study.train = sections.options("train", fit_fields());
  study.compute = sections.options("compute", compute_fields());
  study.pde = sections.choice("pde", pde_table());
  study.solver = sections.choice("solver", solver_table());
  study.initial = sections.choice("initial", sampler_table());
  if (sections.names("initial", "program"))
    study.initial_program = sections.options("initial", program_sampler_fields());
  else if (!study.initial)
    study.initial_file = sections.options("initial", file_fields()).path;
  study.test_file = sections.options("test", file_fields()).path;
  study.first_file = sections.options("first", file_fields()).path;
  study.base = sections.choice("base", selector_table());
  study.steps = sections.choice("steps", chooser_table());
  study.planner = sections.choice("planner", planner_table());
  take_sizes_from_files(study);
  if (complaints.empty()) require(study, purpose, complaints);
  if (complaints.empty() && purpose != Purpose::look) check_fit(study, purpose, complaints);
  return study;
}

Study make_study(Value document, Purpose purpose) {
  config::Complaints complaints;
  Study study = read_study(std::move(document), purpose, complaints);
  complaints.throw_if_any();
  return study;
}

std::unique_ptr<Solver> make_solver(const config::Choice<PdeRow>& pde, int threads) {
  if (pde.row->outline)
    throw Error(ErrorKind::config,
                fmt::format("{} has no solver of its own: give a configuration with a section "
                            "solver that says how it is reached",
                            pde.row->name));
  return make(pde, {.threads = threads});
}

std::unique_ptr<Solver> make_solver(const Study& study, int threads) {
  if (!study.pde.row->outline) return make_solver(study.pde, threads);
  if (!study.solver)
    throw Error(ErrorKind::config,
                fmt::format("{} needs a section solver that says how it is reached, for example "
                            "solver: {{name: command, argv: [./program, \"{{input}}\", "
                            "\"{{output}}\"]}}",
                            study.pde.row->name));
  CoupleContext context{.failures = study.failures};
  for (const char* section : {"pde", "solver"})
    context.recipe.set(section, *study.effective.find(section));
  Outline outline = study.pde.row->outline(study.pde.options);
  outline.fixed = study.fixed;
  return study.solver.row->make(study.solver.options, std::move(outline), context);
}

std::unique_ptr<Sampler> make_sampler(const config::Choice<SamplerRow>& initial, const Grid& grid) {
  return make(initial, {.grid = &grid});
}

std::unique_ptr<Sampler> make_sampler(const Study& study, const Grid& grid) {
  if (study.initial_program)
    return make_program_sampler(*study.initial_program, grid, varied_parameters(study.pde));
  if (!study.initial)
    throw Error(ErrorKind::config,
                fmt::format("initial conditions come from the file {}: none can be drawn",
                            study.initial_file.string()));
  return make_sampler(study.initial, grid);
}

std::unique_ptr<Selector> make_selector(const Study& study) {
  return make(study.base, method_context(study));
}

std::unique_ptr<StepChooser> make_chooser(const Study& study) {
  return make(study.steps, method_context(study));
}

NetworkSpec study_network(const Study& study) {
  return make_network(cluster_grid(study.grid, study.options.cluster), study.network,
                      study.channels, study.options.pattern_steps(), varied_parameters(study.pde),
                      study.fixed);
}

std::unique_ptr<Planner> make_planner(const Study& study) {
  if (study.planner) return make(study.planner, method_context(study));
  return make_two_part_planner(make_selector(study), make_chooser(study));
}

std::vector<StateMap> make_symmetries(const Study& study) {
  std::vector<std::string> names = names_of(varied_parameters(study.pde));
  std::ranges::sort(names);  // as networks are told them
  return make_state_maps(study.train.symmetries, study.grid, study.channels, study.options.cluster,
                         names);
}

std::vector<StateMap> make_images(const Study& study) {
  return make_image_maps(study.train.symmetries, study.grid, study.channels, study.options.cluster,
                         study.network.position_input, names_of(varied_parameters(study.pde)));
}

}  // namespace stap
