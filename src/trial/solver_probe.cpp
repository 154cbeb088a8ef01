#include "stap/trial/solver_probe.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/private_folder.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/couple/launch_probe.h"
#include "stap/study/data_files.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::size_t kNamesShown = 5;
constexpr std::size_t kFirstStates = 3;  // a program may draw them, which takes its time

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.insert(at->path().filename().string());
  return names;
}

// A folder, and what was in it before.
struct Watched {
  fs::path folder;
  std::set<std::string> before;

  // "3 in /tmp/x: a, b, c"; empty if nothing is new.
  std::string news(const std::string& called) const {
    std::vector<std::string> fresh;
    for (const std::string& name : names_in(folder))
      if (!before.contains(name)) fresh.push_back(name);
    if (fresh.empty()) return {};
    const std::size_t shown = std::min(fresh.size(), kNamesShown);
    return fmt::format(
        "{} in {}: {}{}", fresh.size(), called,
        fmt::join(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        shown < fresh.size() ? ", ..." : "");
  }
};

// The section `solver` for a check: in a private place, and without second tries.
Value section_for(const Value& given, const fs::path& folder) {
  Value section = given;
  const auto change = [&](const char* key, Value value) {
    if (section.find(key) != nullptr) section.set(key, std::move(value));
  };
  change("scratch", (folder / "scratch").string());
  change("on_failure", "skip");
  if (const Value* env = section.find("env"); env != nullptr && env->list() != nullptr) {
    Value::List entries = *env->list();
    const bool own = std::ranges::any_of(entries, [](const Value& entry) {
      return entry.text() != nullptr && entry.text()->starts_with("TMPDIR=");
    });
    // Another host may not see what is no folder of the user's.
    const Value *launch = given.find("launch"), *scratch = given.find("scratch");
    const bool elsewhere =
        launch != nullptr && launch->list() != nullptr && !launch->list()->empty() &&
        (scratch == nullptr || scratch->text() == nullptr || scratch->text()->empty());
    if (!own && !elsewhere) entries.emplace_back("TMPDIR=" + (folder / "tmp").string());
    section.set("env", Value(std::move(entries)));
  }
  return section;
}

// The launcher has started programs by then: one that now cannot will hardly in a quarter of an
// hour, and somebody waits for the verdict.
void shorten_launch(Value& section) {
  constexpr double kMost = 20.0;  // seconds
  const Value* limits = section.find("limits");
  const Value* launch = limits == nullptr ? nullptr : limits->find("launch");
  if (launch == nullptr || launch->real().value_or(0.0) <= kMost) return;
  Value changed = *limits;
  changed.set("launch", kMost);
  section.set("limits", std::move(changed));
}

bool mentions(const Value& section, std::string_view placeholder) {
  const Value* argv = section.find("argv");
  return argv != nullptr && argv->list() != nullptr &&
         std::ranges::any_of(*argv->list(), [&](const Value& word) {
           return word.text() != nullptr && word.text()->find(placeholder) != std::string::npos;
         });
}

// The first states, with their parameters.
void find_states(const Study& study, std::size_t most, SolverToCheck& solver) {
  const StudyOptions& o = study.options;
  const std::size_t values = study.grid.values();
  std::vector<std::vector<double>>& list = solver.states;
  if (!study.initial_file.empty()) {
    Pool pool = read_pool(study.initial_file, study.grid, o.cluster, 0, names_of(solver.draws));
    check_ranges(study.initial_file, pool.parameters, solver.draws);
    for (std::size_t i = 0; i < std::min(most, pool.states.count()); ++i) {
      const auto row = pool.states.row(i);  // a cluster, of which the last state is at time 0
      list.emplace_back(row.end() - static_cast<std::ptrdiff_t>(values), row.end());
    }
    solver.parameters = std::move(pool.parameters);
    return;
  }
  const auto sampler = make_sampler(study, study.grid);
  const Rng stream = Rng(o.data_seed).split("pool");
  solver.parameters.names = names_of(solver.draws);
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<double> own = draw_parameters(solver.draws, stream, i);
    sampler->draw(stream, i, list.emplace_back(values), own);
    std::ranges::copy(own, std::back_inserter(solver.parameters.values));
  }
}

LaunchToProbe launch_in(const Value& section) {
  const auto choice = solver_table().choose(section);
  LaunchToProbe probed;
  if (choice.row->name == "command") {
    probed.options = choice.options.as(command_fields());
    probed.files = true;
  } else if (choice.row->name == "worker") {
    const WorkerOptions options = choice.options.as(worker_fields());
    probed.options = options;
    probed.streams = options.by_pipe();
  }
  return probed;
}

std::vector<CheckRow> rows_of(const std::vector<LaunchFinding>& findings) {
  std::vector<CheckRow> rows;
  for (const LaunchFinding& finding : findings)
    rows.push_back({"launcher: " + finding.name,
                    finding.grade == LaunchFinding::Grade::good       ? CheckRow::Verdict::ok
                    : finding.grade == LaunchFinding::Grade::doubtful ? CheckRow::Verdict::warning
                                                                      : CheckRow::Verdict::failed,
                    finding.text});
  return rows;
}

}  // namespace

SolverProbe::SolverProbe(const Study& study, std::size_t calls_most) {
  if (!study.pde || !study.pde.row->outline || !study.solver)
    throw Error(ErrorKind::config,
                "the study's solver is built in: there is a solver to check where pde is external "
                "and a section solver says how it is reached");
  const Value given = *study.effective.find("solver");
  if (given.find("argv") == nullptr)
    throw Error(ErrorKind::config, fmt::format("solver {} starts no program: nothing can be asked",
                                               study.solver.row->name));
  solver_.draws = varied_parameters(study.pde);
  const std::size_t usual = usual_calls(study.train.symmetries.size(), solver_.draws.size());
  find_states(study, calls_most > usual ? calls_most : kFirstStates, solver_);
  if (study.drawn()) solver_.time = -make_sampler(study, study.grid)->warm_up();
  solver_.span = static_cast<double>(study.options.steps) * study.dt;
  const bool command = study.solver.row->name == "command";
  const Value* format = given.find("format");
  const bool described =
      format != nullptr && format->text() != nullptr && *format->text() == "hdf5";
  solver_.told_time = !command || described || mentions(given, "{time}");
  solver_.told_dt = !command || described || mentions(given, "{dt}");
  solver_.time_input = study.network.time_input;
  solver_.position_input = study.network.position_input;
  solver_.symmetries = study.train.symmetries;
  solver_.conserve = study.network.conserve;
  // These throw now, not when calls were made.
  make_network(study.grid, study.network, study.channels, 0, {}, study.fixed);
  parse_symmetries(study.train.symmetries, study.grid, study.channels, names_of(solver_.draws));
  if (const Value* grace = given.find("grace")) solver_.grace = grace->real().value_or(10.0);

  const Value* scratch = given.find("scratch");
  const bool placed = scratch != nullptr && scratch->text() != nullptr && !scratch->text()->empty();
  folder_ = std::make_unique<PrivateFolder>(placed ? fs::path(*scratch->text()) : fs::path(),
                                            "stap-check");
  failures_ = std::make_unique<PrivateFolder>(fs::path(), "stap-failures");
  const fs::path folder = folder_->path();
  make_folder(folder / "scratch");
  make_folder(folder / "tmp");

  CoupleContext context{.failures = failures_->path()};
  for (const char* name : {"pde", "solver"}) context.recipe.set(name, *study.effective.find(name));
  solver_.make = [outline = study.pde.row->outline(study.pde.options),
                  section = section_for(given, folder), context](const SolverVariant& variant) {
    Value changed = section;
    if (changed.find("slots") != nullptr) changed.set("slots", variant.slots);
    shorten_launch(changed);
    const auto choice = solver_table().choose(changed);
    Outline other = outline;
    other.dt *= variant.dt_factor;
    return choice.row->make(choice.options, other, context);
  };

  // Behind a spool it is servers that start things.
  if (LaunchToProbe probed = launch_in(section_for(given, folder));
      !probed.options.launch.words.empty() && probed.options.spool.empty())
    solver_.launcher = [probed = std::move(probed)](const StopAsked& stop) {
      return rows_of(probe_launcher(probed, stop));
    };

  std::error_code error;
  std::vector<std::pair<std::string, Watched>> watched{{"solver.scratch", {folder / "scratch", {}}},
                                                       {"TMPDIR", {folder / "tmp", {}}}};
  std::set<fs::path> outside{fs::current_path(error)};
  const fs::path beside = config::origin_of(study.given, "solver").folder();
  if (!beside.empty()) outside.insert(fs::absolute(beside, error).lexically_normal());
  for (const fs::path& place : outside)
    if (!place.empty()) watched.push_back({place.string(), {place, names_in(place)}});
  solver_.left_behind = [watched] {
    std::vector<std::string> all;
    for (const auto& [called, place] : watched)
      if (std::string news = place.news(called); !news.empty()) all.push_back(std::move(news));
    return all;
  };
}

SolverProbe::~SolverProbe() {
  failures_->leave();
}

const fs::path& SolverProbe::failures() const {
  return failures_->path();
}

}  // namespace stap
