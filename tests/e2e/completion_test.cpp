// What shells offer: what the program answers, and what bash, zsh and fish make of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "support/environment.h"
#include "support/process.h"
#include "support/terminal.h"

namespace stap::test {
namespace {

const std::string kScripts = STAP_TEST_SOURCE_DIR "/app/completion/";

// The words that may follow, without what they mean.
std::vector<std::string> offered(std::vector<std::string> words) {
  words.insert(words.begin(), "complete");
  const Finished result = run_stap(words);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  std::vector<std::string> lines;
  std::istringstream all(result.out);
  for (std::string line; std::getline(all, line);) lines.push_back(line.substr(0, line.find('\t')));
  return lines;
}

bool is_offered(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::count(offered(words), word) == 1;
}

using Words = std::vector<std::string>;

TEST(Completion, OffersCommandsOptionsAndTheirValues) {
  EXPECT_EQ(offered({"gen"}), Words{"generate"});
  EXPECT_EQ(offered({"solver", "s"}), Words{"symmetries"});
  EXPECT_EQ(offered({"run", "demo", "--unt"}), Words{"--until"});
  EXPECT_EQ(offered({"run", "demo", "--until", ""}), (Words{"bought", "trained"}));
  EXPECT_EQ(offered({"run", "demo", "--until=t"}), Words{"--until=trained"});
  EXPECT_EQ(offered({"list", "--thr"}), Words{"--threads"});
  EXPECT_TRUE(is_offered({"plot", "x", "--figure", "e"}, "errors"));
  EXPECT_FALSE(is_offered({""}, "man"));  // hidden
  EXPECT_EQ(offered({"no-such-command", "x"}), Words{});
}

TEST(Completion, OffersPresetsKeysAndValues) {
  const TemporaryFolder folder;
  EXPECT_EQ(offered({"run", "dem"}), Words{"demo"});
  EXPECT_TRUE(is_offered({"sweep", "paper/"}, "paper/burgers"));
  EXPECT_TRUE(is_offered({"check", "demo", "--with", "20"}, "20-rounds"));
  EXPECT_EQ(offered({"run", "demo", "train.ep"}), (Words{"train.epochs=", "train.epsilon="}));
  EXPECT_EQ(offered({"run", "demo", "see"}), Words{"seed="});
  EXPECT_TRUE(is_offered({"run", "demo", "train.schedule="}, "train.schedule=cosine"));
  EXPECT_TRUE(is_offered({"run", "demo", "warm_start=t"}, "warm_start=true"));
  EXPECT_TRUE(is_offered({"run", "demo", "method=sbal+s"}, "method=sbal+stap"));
  EXPECT_TRUE(is_offered({"sweep", "demo", "--grid", "method=random,qb"}, "method=random,qbc"));
  EXPECT_TRUE(is_offered({"describe", "burg"}, "burgers"));
  EXPECT_EQ(offered({"list", "netw"}), Words{"network"});
  EXPECT_EQ(offered({"solve", "burgers", "visc"}), Words{"viscosity="});
}

TEST(Completion, OffersRunsAndFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("one/rounds"));
  std::filesystem::create_directories(folder.path("other"));
  folder.file("study.yaml", "");
  folder.file("model.safetensors", "");
  const std::string here = folder.path("");

  EXPECT_EQ(offered({"table", here + "o"}), (Words{here + "one", here + "other/"}));
  EXPECT_EQ(offered({"run", here + "s"}), Words{here + "study.yaml"});
  EXPECT_EQ(offered({"predict", here + "m"}), Words{here + "model.safetensors"});
  EXPECT_EQ(offered({"run", "demo", "--out", here + "st"}), Words{});
}

// As bash calls it: words broken at "=", what it replaces begins behind the last of them.
TEST(Completion, BashGetsWhatReplacesItsLastWord) {
  const std::string program =
      "source " + kScripts +
      "stap.bash\n"
      "ask() { COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1));"
      " COMPREPLY=(); _stap; echo \"${COMPREPLY[*]}\"; }\n"
      "stap() { " STAP_TEST_PROGRAM
      " \"$@\"; }\n"
      "ask 'stap run dem' stap run dem\n"
      "ask 'stap run demo method=sbal+st' stap run demo method = sbal+st\n"
      "ask 'stap run demo --until=' stap run demo --until =\n"
      "ask 'stap run demo train.schedule=' stap run demo train.schedule = ''\n";

  const Finished result = run_process({"/bin/bash", "--norc", "-c", program});

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "demo\nsbal+stap sbal+stap-one sbal+stap-mf\nbought trained\ncosine linear constant\n")
      << result.err;
}

TEST(Completion, BashCompletesWhatIsTyped) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(STAP_TEST_PROGRAM, folder.path("stap"));
  const ScopedVariable path("PATH", folder.path().string() + ":/usr/bin:/bin");
  const ScopedVariable prompt("PS1", "$ ");

  const std::string text =
      on_terminal({"/bin/bash", "--norc", "--noprofile", "-i"}, 200,
                  "source " + kScripts + "stap.bash\nstap descr\tnetw\t--json >/dev/null\nexit\n");

  EXPECT_TRUE(contains(text, "stap describe network --json")) << text;
}

TEST(Completion, ZshOffersTheSame) {
  if (!std::filesystem::exists("/usr/bin/zsh")) GTEST_SKIP() << "no zsh";
  const std::string program =
      "compdef() { }\ncompadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- $@ }\n"
      "stap() { " STAP_TEST_PROGRAM " \"$@\" }\nsource " +
      kScripts +
      "_stap\n"
      "words=(stap run dem) CURRENT=3; _stap\n"
      "words=(stap run demo train.ep) CURRENT=4; _stap\n"
      "words=(stap run demo --until '') CURRENT=5; _stap\n";

  const Finished result = run_process({"/usr/bin/zsh", "-f", "-c", program});

  EXPECT_EQ(result.out, "demo\ntrain.epochs=\ntrain.epsilon=\nbought\ntrained\n") << result.err;
}

TEST(Completion, FishOffersTheSame) {
  if (!std::filesystem::exists("/usr/bin/fish")) GTEST_SKIP() << "no fish";
  const TemporaryFolder folder;
  std::filesystem::create_symlink(STAP_TEST_PROGRAM, folder.path("stap"));
  const ScopedVariable path("PATH", folder.path().string() + ":/usr/bin:/bin");
  const ScopedVariable home("HOME", folder.path().string());

  const Finished result =
      run_process({"/usr/bin/fish", "--no-config", "-c",
                   "source " + kScripts +
                       "stap.fish; complete -C 'stap run dem'; complete -C 'stap run demo "
                       "--until '"});

  EXPECT_TRUE(result.out.starts_with("demo\t")) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "\nbought\ntrained\n"));
}

}  // namespace
}  // namespace stap::test
