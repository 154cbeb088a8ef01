#include "stap/couple/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "couple/placeholders.h"
#include "couple/process.h"
#include "couple/scratch.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {

Array<double> output_of(const ProgramCall& call) {
  const Scratch scratch(call.scratch);
  const std::filesystem::path output = scratch.path() / "output.npy";
  const std::filesystem::path log = scratch.path() / "log.txt";
  std::map<std::string, std::string> known = call.placeholders;
  known["output"] = output.string();
  Launch launch{
      .argv = filled_in(call.argv.words, known), .env = call.env, .folder = scratch.path()};
  launch.out = launch.err = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto refuse = [&](const std::string& why) {
    const std::string words = last_words(log);
    throw Error(ErrorKind::solver,
                fmt::format("{}: {}{}", launch.argv[0], why, words.empty() ? "" : ": " + words));
  };
  Process process(launch);
  close(launch.out);
  pollfd ends{process.descriptor(), POLLIN, 0};
  if (poll(&ends, 1, static_cast<int>(call.seconds_most * 1000)) == 0)
    refuse(fmt::format("did not end within {:g} s", call.seconds_most));
  const Ending ending = process.ended().value_or(Ending{});
  if (!ending.good()) refuse(ending.text());
  try {
    return read_npy(output, call.values_most);
  } catch (const Error& error) {
    refuse(fmt::format("exit code 0, but {}", error.what()));
  }
  return {};
}

}  // namespace stap
