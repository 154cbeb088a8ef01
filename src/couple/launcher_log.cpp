#include "couple/launcher_log.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>

namespace stap {
namespace {

// A launcher speaks when it begins and when it ends; what is between is the program's.
constexpr std::size_t kLooked = 1 << 16;  // bytes of each

bool has(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

// Reasons for which srun cannot start a step now and may a little later.
bool passes(std::string_view line) {
  return has(line,
             {"Communication", "Socket timed out", "Unable to contact slurm controller",
              "Requested nodes are busy", "temporarily", "Zero Bytes were transmitted",
              "Connection refused", "Connection timed out", "Connection reset", "Node failure"});
}

void read_line(std::string_view line, LauncherWords& words) {
  const auto set = [&](std::string& word) {
    if (word.empty()) word = line;
  };
  if (line.starts_with("srun: ")) {
    // It says that it waits when that is nearly over; with -v it tells of its job before and of its
    // step behind.
    if (line.starts_with("srun: jobid ") ||
        has(line, {"step creation temporarily disabled", "step creation still disabled"})) {
      words.waits = line;
    } else if (has(line, {"Step created for ", "launching StepId=", " tasks started"})) {
      words.waits.clear();
      if (has(line, {"launching StepId="})) set(words.step);
    }
    if (has(line, {"Application launch failed: ", "Unable to create step for job ",
                   "Unable to confirm allocation for job "}) &&
        passes(line))
      set(words.not_started);
    else if (line.starts_with("srun: error: task ") && has(line, {" launch failed: "}))
      set(words.not_started);  // by the node's slurmstepd; a program that is missing is execve()'s
    else if (has(line, {"Node failure on "}) ||
             (line.starts_with("srun: error: ") &&
              has(line, {" has expired", "Invalid job id specified"})))
      set(words.node_lost);  // or the whole job, cancelled while we still start steps of it
    else if (line.starts_with("srun: error: ") && has(line, {": task ", ": tasks "}))
      set(words.rank_ended);
  } else if (line.starts_with("slurmstepd")) {
    if (has(line, {"DUE TO NODE FAILURE", "DUE TO TIME LIMIT", "DUE TO PREEMPTION",
                   "DUE TO JOB REQUEUE"}))
      set(words.node_lost);
    else if (has(line, {"execve()"}))
      set(words.rank_ended);
  } else if (has(line, {"lost communication with a remote daemon"})) {  // Open MPI: ORTE, PRTE
    set(words.node_lost);
  } else if (line.starts_with("ssh: connect to host ") ||
             has(line, {"was unable to reliably start one or more daemons",
                        "daemon has unexpectedly failed after launch and before"})) {
    set(words.not_started);
  } else if (has(line, {"noticed that process rank ", "MPI_ABORT was invoked on rank ",
                        "process returned a non-zero exit code", "Process name: [[",
                        "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"})) {
    set(words.rank_ended);
  }
}

}  // namespace

LauncherWords launcher_words_in(std::string_view text) {
  LauncherWords words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read_line(text.substr(0, end), words);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

LauncherWords launcher_words(const std::filesystem::path& log) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(log, error)) return {};  // a pipe would be waited for
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(in.tellg(), 0));
  std::string text;
  const auto append = [&](std::size_t from, std::size_t bytes) {
    const std::size_t before = text.size();
    text.resize(before + bytes);
    in.seekg(static_cast<std::streamoff>(from));
    in.read(text.data() + before, static_cast<std::streamsize>(bytes));
    text.resize(before + static_cast<std::size_t>(in.gcount()));
    in.clear();
  };
  append(0, std::min(size, kLooked));
  if (size > kLooked) {
    text += '\n';
    const std::size_t from = std::max(kLooked, size - std::min(size, kLooked));
    append(from, size - from);
  }
  return launcher_words_in(text);
}

bool is_of_launcher(std::string_view line) {
  if (line.starts_with("slurmstepd")) return !has(line, {"execve()"});
  // Of the others what stands below how a rank ended.
  return line.starts_with("srun: ") || tells_crash(line) ||
         has(line, {"This typically refers to a problem with your application",
                    "Please see the FAQ page for debugging suggestions",
                    "YOU CAN IGNORE THE BELOW CLEANUP MESSAGES",
                    "a non-zero exit code. Per user-direction, the job has been aborted",
                    "detected that one or more processes exited with non-zero status",
                    "Per user-direction, the job has been aborted"});
}

bool tells_crash(std::string_view line) {
  if (has(line, {"noticed that process rank ", "TERMINATED WITH THE EXIT STRING: "})) return true;
  return line.starts_with("srun: error: ") && has(line, {": task ", ": tasks "}) &&
         !has(line, {"Exited with exit code", ": Terminated"});
}

const char* remedy_for(std::string_view line) {
  if (has(line, {"The application appears to have been direct launched using"}))
    return ": srun must be told which PMI this MPI takes, for example env: [SLURM_MPI_TYPE=pmix] "
           "(srun --mpi=list)";
  return has(line, {"has detected an attempt to run as root"}) ? "" : nullptr;
}

}  // namespace stap
