// Messages and progress, on stderr: to a terminal, to a log, and to where they cannot go.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "stap/core/seal.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/small_study.h"
#include "support/terminal.h"

namespace stap::test {
namespace {

std::vector<std::string> study(const TemporaryFolder& folder, const std::string& out) {
  std::vector<std::string> words{STAP_TEST_PROGRAM, "run", "demo"};
  for (const std::string& setting : small_study()) words.push_back(setting);
  words.insert(words.end(), {"--out", folder.path(out)});
  return words;
}

TEST(Messages, BarsAreAsWideAsTheTerminal) {
  for (const unsigned short columns : std::array<unsigned short, 2>{40, 100}) {
    const TemporaryFolder folder;
    const ScopedVariable cache("STAP_CACHE", folder.path("cache"));

    const std::string text = on_terminal(study(folder, "r"), columns);

    const std::string start = "\r\033[K";
    std::size_t bars = 0;
    for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
      at += start.size();
      const std::string bar = text.substr(at, text.find('\r', at) - at);
      EXPECT_LT(bar.size(), columns) << bar;
      EXPECT_EQ(bar.find('\n'), std::string::npos);
      ++bars;
    }
    EXPECT_GT(bars, 4u);
    EXPECT_EQ(text.find("[##") != std::string::npos, columns == 100);
    EXPECT_TRUE(contains(text, " % of 72 epochs"));
  }
}

// Lines that are wider than the terminal would break, and the next view overwrite others.
TEST(Messages, AWatchDrawsWithinTheTerminal) {
  const TemporaryFolder folder;
  const ScopedVariable cache("STAP_CACHE", folder.path("cache"));
  ASSERT_EQ(run_process(study(folder, "r")).exit_code, 0);

  const std::string text = on_terminal({STAP_TEST_PROGRAM, "watch", folder.path("r")}, 40);

  const std::string start = "\033[K";
  std::size_t lines = 0;
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
    at += start.size();
    EXPECT_LT(text.find('\r', at) - at, 40u) << text;
    ++lines;
  }
  EXPECT_EQ(lines, 4u) << text;  // 0 of 1 runs, all of them, this one, the report
  EXPECT_TRUE(contains(text, "\033[J"));
  EXPECT_TRUE(contains(text, "report: ")) << text;
}

TEST(Messages, ALogIsShort) {
  const TemporaryFolder folder;
  const ScopedVariable cache("STAP_CACHE", folder.path("cache"));

  const Finished result = run_process(study(folder, "r"));

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "pool: 0 % of 160 solver steps\n"));
  EXPECT_TRUE(result.err.ends_with(": 100 % of all work\n")) << result.err;
  // In order and a tenth apart: at most 11 of each of pool, test set, and training or evaluating
  // or buying in three rounds; far fewer, as this takes seconds.
  EXPECT_LE(std::ranges::count(result.err, '\n'), 30) << result.err;
}

// With a closed stderr the next file opened would be number 2, and get the messages.
TEST(Messages, AStderrThatCannotBeWrittenChangesNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const TemporaryFolder folder;
  const ScopedVariable cache("STAP_CACHE", folder.path("cache"));
  const std::vector<std::pair<const char*, std::function<void()>>> ways = {
      {"full",
       [] {
         const int full = open("/dev/full", O_WRONLY);
         dup2(full, STDERR_FILENO);
         close(full);
       }},
      {"closed", [] { close(STDERR_FILENO); }},
      {"nobody reads",
       [] {
         int ends[2];
         if (pipe(ends) != 0) _exit(127);
         dup2(ends[1], STDERR_FILENO);
         close(ends[0]);
         close(ends[1]);
       }},
  };
  const Finished plain = run_process(study(folder, "plain"));
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  std::filesystem::remove_all(folder.path("cache"));  // so that the next one makes data and says so

  for (const auto& [name, prepare] : ways) {
    SCOPED_TRACE(name);
    const std::string out = std::string(name);

    const Finished run = run_process(study(folder, out), "", prepare);
    const Finished refused = run_process({STAP_TEST_PROGRAM, "lits"}, "", prepare);

    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out.substr(0, run.out.find("results in")),
              plain.out.substr(0, plain.out.find("results in")));
    for (const char* file : {"/metrics.jsonl", "/config.yaml", "/rounds/02/plan.json"})
      EXPECT_EQ(content(folder.path(out + file)), content(folder.path("plain") + file)) << file;
    EXPECT_EQ(refused.exit_code, 2);
  }
}

TEST(Messages, AClosedStdoutIsExitCode6) {
  const Finished result =
      run_process({STAP_TEST_PROGRAM, "schema"}, "", [] { close(STDOUT_FILENO); });

  EXPECT_EQ(result.exit_code, 6);
  EXPECT_TRUE(contains(result.err, "cannot write to standard output: Bad file descriptor"));
}

// The signal would end it without a word.
TEST(Messages, AFileThatMayNotGrowIsExitCode6) {
  const TemporaryFolder folder;
  const Finished result = run_process(
      {STAP_TEST_PROGRAM, "generate", "demo", "--quiet", "--out", folder.path("d")}, "", [] {
        const rlimit few{4096, 4096};
        setrlimit(RLIMIT_FSIZE, &few);
      });

  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_TRUE(contains(result.err, "File too large"));
}

// Not our bugs, so never "internal error", and the system's reason is told.
TEST(Messages, WhatTheSystemRefusesHasItsExitCodeAndReason) {
  const TemporaryFolder folder;
  const ScopedVariable cache("STAP_CACHE", folder.path("cache"));
  const std::string file = folder.file("file", "text"), loop = folder.path("loop");
  std::filesystem::create_symlink(loop, loop);
  std::filesystem::create_directories(folder.path("runs"));
  std::filesystem::create_symlink("seed=0", folder.path("runs/seed=0"));
  const auto limit = [](__rlimit_resource what, rlim_t most) {
    return [=] {
      for (int inherited = 3; inherited < 64; ++inherited) close(inherited);  // of whoever runs us
      const rlimit both{most, most};
      setrlimit(what, &both);
    };
  };
  struct Case {
    std::vector<std::string> words;
    int code;
    const char* reason;
    std::function<void()> prepare{};
  };
  const auto out = [&](const char* command, const std::string& path) {
    return std::vector<std::string>{command, "demo", "--out", path};
  };
  std::vector<Case> cases = {
      {out("run", file), 2, "is a file: give a folder"},
      {out("run", file + "/below"), 6, "Not a directory"},
      {out("run", loop), 6, "Too many levels of symbolic links"},
      {out("run", folder.path(std::string(300, 'n'))), 6, "File name too long"},
      {out("run", "/proc/none"), 6, "No such file or directory"},
      {{"table", folder.path("runs")}, 3, "there is no run"},
      {{"table", loop}, 3, "there is no run"},
      {{"check", loop}, 2, "Too many levels of symbolic links"},
      {out("run", folder.path("few")), 6, "Too many open files", limit(RLIMIT_NOFILE, 4)},
      {{"check", "paper/ks", "pde.points=16777216"},
       5,
       "out of memory",
       limit(RLIMIT_AS, 256 << 20)},
      // Stacks larger than all memory: no thread can be made.
      {out("run", folder.path("threads")), 6, "no thread can be started",
       [] {
         const rlimit stack{rlim_t{1} << 40, RLIM_INFINITY},
             memory{rlim_t{1} << 34, rlim_t{1} << 34};
         setrlimit(RLIMIT_STACK, &stack);
         setrlimit(RLIMIT_AS, &memory);
       }},
  };
  for (const std::string& path : {loop, folder.path(std::string(300, 'n'))}) {
    cases.push_back({out("sweep", path), 6, path == loop ? "Too many levels" : "name too long"});
    cases.back().words.insert(cases.back().words.begin() + 2, {"--grid", "seed=0,1"});
  }

  for (const Case& c : cases) {
    std::vector<std::string> command{STAP_TEST_PROGRAM};
    command.insert(command.end(), c.words.begin(), c.words.end());

    const Finished result = run_process(command, "", c.prepare);

    EXPECT_EQ(result.exit_code, c.code) << result.err;
    EXPECT_TRUE(contains(result.err, c.reason)) << c.words[0];
    EXPECT_FALSE(contains(result.err, "internal error"));
  }
}

// Texts and names of files are shown, and steer no terminal; a list of runs leads nowhere else.
// They would be printed as they are, and a line break looks like the end of a message.
TEST(Messages, NamesOfOutputsFitOnALine) {
  const TemporaryFolder folder;
  const std::string odd = folder.path("a\nstap: \033[31mall is lost");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", "demo", "--out", odd},
           {"generate", "demo", "--out=" + odd},
           {"import", "x.h5", "--as", "pool", "--out", folder.path("tab\t.h5")},
           {"predict", "m", "--input", "x", "--output", odd},
           {"init", odd, "--from", "worker", "--language", "python"}}) {
    const Finished result = run_stap(words);

    EXPECT_EQ(result.exit_code, 2) << words[0];
    EXPECT_TRUE(contains(result.err, "cannot be shown on one line")) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_FALSE(contains(result.err, "\033[31mall"));
    EXPECT_EQ(folder.entries(), 0u);
  }
}

TEST(Messages, WhatFilesSayIsShownAndNotObeyed) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("sweep"));
  folder.file("a.yaml", "extends: demo\n\"k\\e[2Jey\": 1\npde: {name: \"b\\e[31m\\u202e\"}\n");
  const auto list = [&](const std::string& name) {
    folder.file("sweep/sweep.json",
                seal_json("{\"format\":\"sweep/2\",\"runs\":[\"" + name + "\"]}\n"));
    return run_stap({"queue", folder.path("sweep")});
  };

  const Finished check = run_stap({"check", folder.path("a.yaml")});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_TRUE(contains(check.err, "k\\u001b[2Jey")) << check.err;
  EXPECT_FALSE(contains(check.err, "\x1b"));
  const Finished shown = list("\\u001b[31mred\\u009b");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "\\u001b[31mred\\u009b: not started")) << shown.out;
  const Finished json = run_stap({"queue", folder.path("sweep"), "--json"});
  EXPECT_TRUE(contains(json.out, "\"run\": \"\\u001b[31mred\\u009b\"")) << json.out;
  for (const char* outside : {"../a", "/tmp", "a/b", "..", ".", ""})
    for (const Finished& result :
         {list(outside), run_stap({"fsck", folder.path("sweep"), "--repair"})})
      EXPECT_EQ(result.exit_code, 3) << outside << result.err;
}

TEST(Messages, ASlipOfThePenInASwitchIsSaid) {
  const ScopedVariable trust("STAP_TRUST", "nobody");
  const Finished result = run_stap({"list"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "STAP_TRUST is 'nobody', expected own"));
}

}  // namespace
}  // namespace stap::test
