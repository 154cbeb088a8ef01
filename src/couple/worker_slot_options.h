// How one worker is started and reached.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/couple/solver_options.h"

namespace stap {

struct WorkerSlotOptions {
  enum class Connect {
    pipe,    ///< its stdin and stdout are the connection
    socket,  ///< it connects back, from behind whatever starts it
  };

  std::vector<std::string> argv;  ///< as execvp takes it
  std::vector<std::string> env{};
  std::filesystem::path folder{};  ///< its own, where it works; exists. Its log is log.txt there
  Connect connect = Connect::pipe;
  std::string address{};    ///< of this machine, for TCP instead of a Unix socket: "127.0.0.1"
  bool token_file = false;  ///< the token in a file of mode 0600 instead of the environment
  double grace = 10.0;      ///< seconds
  SolverLimits limits{};    ///< start, silence and output count here
  std::size_t steps_at_once = 1;
  std::size_t slot = 0;   ///< number, told to the program
  bool launched = false;  ///< argv begins with a launcher, whose words in the log count
  double room = 5.0;      ///< seconds that it may wait for room, while other slots may be idle
  double farewell = 6.0;  ///< seconds for it to tell what has happened to a worker that is gone
  bool known_launcher = false;  ///< one that tells when ranks and nodes end
};

}  // namespace stap
