#include "report_file.h"

#include <ostream>

#include <fmt/format.h>

#include "failure.h"
#include "output_file.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/stop.h"
#include "stap/report/page.h"
#include "stap/results/sweep_analysis.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;

// Analysing is left when somebody asks for an end, or time is over.
class Interruptible : public Observer {
 public:
  Interruptible(Observer& inner, const InterruptGuard& interrupt)
      : inner_(inner), interrupt_(interrupt) {}

  void progress(const Progress& event) override {
    if (interrupt_.stop()()) throw Stopped();
    inner_.progress(event);
  }
  void warning(std::string_view text) override { inner_.warning(text); }
  void note(std::string_view text) override { inner_.note(text); }

 private:
  Observer& inner_;
  const InterruptGuard& interrupt_;
};

// Whether both files of an analysis can be read.
bool is_sound(const fs::path& folder, bool arrays) {
  try {
    const config::Value analysis = read_analysis(folder);
    if (*analysis.find("format")->text() != kAnalysisFormat) return false;
    if (arrays) analysis_arrays(folder, analysis);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether the analysis of a folder is whole, and younger than all that its runs have written.
bool is_analysed(const fs::path& folder) {
  std::error_code error;
  const fs::file_time_type made = fs::last_write_time(folder / "analysis.json", error);
  if (error || !is_sound(folder, false)) return false;
  for (const fs::path& run : run_folders(folder)) {
    for (const char* file : {"metrics.jsonl", "timings.jsonl", "transitions.h5"}) {
      const fs::file_time_type written = fs::last_write_time(run / file, error);
      if (!error && written > made) return false;
    }
    if (!is_sound(run, true)) return false;
  }
  return true;
}

// What page_text() begins with, now and before it named its maker.
bool is_our_page(std::string_view text) {
  constexpr std::string_view kHead =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  if (!text.starts_with(kHead)) return false;
  text.remove_prefix(kHead.size());
  return text.starts_with("<meta name=\"generator\" content=\"stap\">\n") ||
         text.starts_with(
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
             "'none'; script-src 'sha256-");
}

void analyse_folder(const fs::path& folder, const std::vector<RunResult>& results,
                    const Globals& globals, Observer& observer) {
  const AnalysisOptions options{.compute = compute_options(globals), .threads = globals.threads};
  if (fs::exists(folder / "config.yaml")) {
    write_analysis(analyse_run(results.front(), options));
  } else {
    write_analysis(analyse_sweep(folder, results, options, observer));
  }
}

}  // namespace

fs::path report_file(const fs::path& folder) {
  return folder / "report.html";
}

void check_report_output(const fs::path& file, std::span<const fs::path> folders) {
  check_text_output(file, {"report of stap", ".html", is_our_page}, folders);
}

fs::path write_report(const Report& report, const fs::path& file) {
  check_report_output(file, std::vector<fs::path>(report.folders.begin(), report.folders.end()));
  write_text(file, page_text(report));
  return file;
}

void report_at_end(const std::string& folder, std::vector<RunResult> results,
                   const Globals& globals, const InterruptGuard& interrupt, Console& console,
                   std::ostream& out) {
  try {
    Interruptible observer(console, interrupt);
    if (!is_analysed(folder)) analyse_folder(folder, results, globals, observer);
  } catch (const Stopped&) {
    console.warning(fmt::format("no time left for the analysis: run stap analyse {}", folder));
  } catch (...) {
    console.warning(fmt::format("the analysis failed: {}", caught_failure().message));
  }
  console.finish();
  if (interrupt.requested()) interrupt.end_program();
  try {
    const fs::path folders[] = {folder};
    const fs::path file =
        write_report(gather_report(folders, {.read = std::move(results)}), report_file(folder));
    out << fmt::format("report: {}\n", file.string());
  } catch (...) {
    console.warning(fmt::format("the report failed: {}", caught_failure().message));
  }
}

}  // namespace stap::app
