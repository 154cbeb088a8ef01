#include "stap/couple/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "couple/coupled_solver.h"
#include "couple/placeholders.h"
#include "couple/process.h"
#include "couple/scratch.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {
namespace {

constexpr const char *kOutput = "output.npy", *kText = "output.txt";

std::vector<std::string> words_of(const ProgramCall& call, const std::filesystem::path& folder) {
  std::map<std::string, std::string> known = call.placeholders;
  known["output"] = (folder / kOutput).string();
  if (!call.text.empty()) known[call.text] = (folder / kText).string();
  return filled_in(call.argv.words, known);
}

}  // namespace

void check_call(const ProgramCall& call) {
  SolverOptions program;
  program.argv = call.argv;
  program.env = call.env;
  check_program(program);
  words_of(call, {});
}

ProgramOutput output_of(const ProgramCall& call) {
  const Scratch scratch(call.scratch);
  const std::filesystem::path log = scratch.path() / "log.txt";
  Launch launch{.argv = words_of(call, scratch.path()), .env = call.env, .folder = scratch.path()};
  launch.out = launch.err = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto refuse = [&](const std::string& why) {
    const std::string words = last_words(log);
    throw Error(ErrorKind::solver,
                fmt::format("{}: {}{}", launch.argv[0], why, words.empty() ? "" : ": " + words));
  };
  Process process(launch);
  close(launch.out);
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(call.seconds_most);
  std::optional<Ending> ending;
  while (!(ending = process.ended())) {  // a signal of ours ends a wait, but not the program
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    if (left <= 0) refuse(fmt::format("did not end within {:g} s", call.seconds_most));
    pollfd ends{process.descriptor(), POLLIN, 0};
    poll(&ends, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1);
  }
  ending->check_lack();
  if (!ending->good()) refuse(ending->text());
  try {
    return {read_npy(scratch.path() / kOutput, call.values_most),
            mentions(call.argv.words, "{" + call.text + "}")
                ? read_text_file(scratch.path() / kText)
                : std::string()};
  } catch (const Error& error) {
    refuse(fmt::format("exit code 0, but {}", error.what()));
  }
  return {};
}

}  // namespace stap
