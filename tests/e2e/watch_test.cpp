// `stap watch` as a browser, and as somebody who is none, sees it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <list>

#include "stap/config/value.h"
#include "support/contains.h"
#include "support/loopback.h"
#include "support/process.h"
#include "support/processes.h"
#include "support/run_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using config::Value;

// Every file below a folder with its bytes.
std::string all_bytes(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files.push_back(entry.path().string() +
                    (entry.is_regular_file() ? "\n" + content(entry.path()) : ""));
  std::ranges::sort(files);
  std::string bytes;
  for (const std::string& file : files) bytes += file + "\n";
  return bytes;
}

class WatchProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    const Finished nothing = run_stap({"watch", folder_.path("nowhere")});
    if (nothing.exit_code == 5) GTEST_SKIP() << "cpp-httplib was not there when stap was built";
    EXPECT_EQ(nothing.exit_code, 3);
    EXPECT_TRUE(contains(nothing.err, "--wait"));
  }
  void TearDown() override {
    for (const pid_t child : {watch_, run_})
      if (child > 0 && kill(child, SIGKILL) == 0) waitpid(child, nullptr, 0);
  }

  // Starts it and waits for its address.
  void watch(const std::string& folder, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{STAP_TEST_PROGRAM, "watch", folder, "--no-open"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = folder_.path("address");
    watch_ = fork();
    if (watch_ == 0) {
      const int file = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(file, STDOUT_FILENO);
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    ASSERT_TRUE(eventually([&] { return content(out).ends_with("/\n"); }, 60));
    const std::string url = content(out), front = "http://127.0.0.1:";
    ASSERT_EQ(url.rfind(front, 0), 0u) << url;
    port_ = std::stoi(url.substr(front.size()));
    path_ = url.substr(url.find('/', front.size()));
    path_.pop_back();
    host_ = "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n";
  }
  std::string get(const std::string& path, const std::string& headers) const {
    return asked(port_, "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
  }
  // The live state of the first run, with that of all; null: no answer.
  Value status() const {
    const std::string answer = get(path_ + "status.json", host_);
    const std::size_t body = answer.find("\r\n\r\n");
    return body == std::string::npos ? Value() : config::parse_json(answer.substr(body + 4), "it");
  }
  // An entry of the first run's state.
  static std::string text(const Value& status, const char* key) {
    const Value* runs = status.find("runs");
    if (runs == nullptr || runs->list()->empty()) return "";
    return config::json_text(*runs->list()->front().find(key), 0);
  }
  int end_of_watch() {
    int status = 0;
    waitpid(std::exchange(watch_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Of a run whose solver waits for a file "go".
  void write_study(const std::string& test) const {
    folder_.file("solver.sh",
                 "touch \"$3/begun.$$\"\nwhile [ ! -e \"$3/go\" ]; do sleep 0.02; done\n"
                 "cp \"$1\" \"$2\"\n");
    folder_.file("study.yaml", R"(
pde: {name: external, label: still, channels: [h], points: [16], dt: 0.1}
solver: {name: command, argv: [sh, "{here}/solver.sh", "{input}", "{output}", "{here}"], slots: 2}
initial: {name: sines, warm_up: 0}
network: {modes: [4], width: 4, lifting: 8, projection: 8, layers: 1}
train: {epochs: 2}
study: {steps: 3, pool: 20, test: )" +
                                   test + R"(, initial: 3, rounds: 1, budget: 4}
method: random
)");
  }
  // With both of its slots at work.
  void start_run() {
    write_study("0");
    run_ = start_stap({"run", folder_.path("study.yaml"), "--out", folder_.path("run")});
    const auto at_work = [&] {
      return fs::exists(folder_.path("run/status.json")) &&
             content(folder_.path("run/status.json")).find("slot 1") != std::string::npos;
    };
    ASSERT_TRUE(eventually(at_work, 30));
  }

  TemporaryFolder folder_;
  pid_t watch_ = 0, run_ = 0;
  int port_ = 0;
  std::string path_, host_;
};

TEST_F(WatchProgram, ShowsARunWhileItWorksAndEndsWithIt) {
  start_run();
  watch(folder_.path("run"));

  const std::string page = get(path_, host_);
  const Value before = status();
  folder_.file("go", "");
  Value now = before;
  const auto moved = [&] {
    if (Value next = status(); next.is_map()) now = std::move(next);
    return text(now, "spent") != text(before, "spent") || text(now, "phase") != "\"initial\"";
  };
  const bool moves = eventually(moved, 30);
  const auto ended = [&] {
    if (Value next = status(); next.is_map()) now = std::move(next);
    return *now.find("ended")->boolean();
  };
  const bool ends = eventually(ended, 60);

  EXPECT_EQ(page.rfind("HTTP/1.1 200 ", 0), 0u) << page;
  for (const char* header :
       {"frame-ancestors 'none'", "connect-src 'self'", "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer", "Cache-Control: no-store",
        "Cross-Origin-Resource-Policy: same-origin", "Content-Type: text/html"})
    EXPECT_TRUE(contains(page, header));
  EXPECT_EQ(text(before, "state"), "\"working\"");
  EXPECT_EQ(text(before, "phase"), "\"initial\"");
  EXPECT_EQ(text(before, "budget"), "9");
  EXPECT_EQ(text(before, "spent"), "0");
  EXPECT_EQ(text(before, "slots"), "2");
  EXPECT_EQ(text(before, "seconds_left"), "null");
  EXPECT_TRUE(contains(text(before, "running"), "slot 1, below process "));
  EXPECT_TRUE(moves) << config::json_text(now);
  EXPECT_TRUE(ends) << config::json_text(now);
  EXPECT_EQ(text(now, "phase"), "\"done\"");
  EXPECT_EQ(end_of_watch(), 0);
  EXPECT_TRUE(contains(content(folder_.path("address")), "nobody works in"));
  waitpid(std::exchange(run_, 0), nullptr, 0);
}

// The solver waits for a file "go" while the test set is made, when a run has no other file yet.
TEST_F(WatchProgram, SaysThatPoolAndTestSetAreMade) {
  setenv("STAP_CACHE", folder_.path("cache").c_str(), 1);
  write_study("2");
  run_ = start_stap({"run", folder_.path("study.yaml"), "--out", folder_.path("run")});
  unsetenv("STAP_CACHE");
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_.path("run/status.json")); }, 30));

  watch(folder_.path("run"));
  const Value now = status();
  const bool shown =
      eventually([&] { return contains(get(path_, host_), "making pool and test set (process"); });

  EXPECT_EQ(text(now, "state"), "\"working\"");
  EXPECT_EQ(text(now, "phase"), "\"data\"");
  EXPECT_TRUE(contains(text(now, "words"), "making pool and test set"));
  EXPECT_TRUE(shown);
  // Mutation: a report is promised that nobody can make.
  kill(run_, SIGKILL);
  waitpid(std::exchange(run_, 0), nullptr, 0);
  EXPECT_EQ(end_of_watch(), 0);
  EXPECT_TRUE(contains(content(folder_.path("address")), "it has no results"));
}

TEST_F(WatchProgram, SaysThatAFolderIsGoneAndThatItIsBack) {
  start_run();
  watch(folder_.path("run"));
  const auto error = [&] {
    const Value now = status();
    return now.is_map() ? *now.find("error")->text() : "no answer";
  };

  fs::rename(folder_.path("run"), folder_.path("moved"));
  const bool said = eventually([&] { return contains(error(), "config.yaml"); });
  const bool shown =
      eventually([&] { return contains(get(path_, host_), "asks again by itself"); });
  fs::rename(folder_.path("moved"), folder_.path("run"));
  const bool back = eventually([&] { return error().empty(); });
  kill(run_, SIGKILL);
  waitpid(std::exchange(run_, 0), nullptr, 0);
  Value last;
  const bool ends = eventually([&] {
    last = status();
    return last.is_map() && *last.find("ended")->boolean();
  });

  EXPECT_TRUE(said && shown && back) << said << shown << back;
  EXPECT_TRUE(ends);
  EXPECT_EQ(text(last, "state"), "\"dead\"");
  EXPECT_EQ(end_of_watch(), 0);
}

TEST_F(WatchProgram, SaysThatAProcessIsDeadAndWritesNothing) {
  start_run();
  kill(run_, SIGKILL);
  waitpid(std::exchange(run_, 0), nullptr, 0);
  const std::string before = all_bytes(folder_.path("run"));

  watch(folder_.path("run"));
  get(path_, host_);
  Value now;
  const bool ends = eventually([&] {
    if (Value next = status(); next.is_map()) now = std::move(next);
    return now.is_map() && *now.find("ended")->boolean();
  });

  EXPECT_TRUE(ends);
  EXPECT_EQ(text(now, "state"), "\"dead\"");
  EXPECT_TRUE(contains(text(now, "error"), "is gone; the same command continues"));
  EXPECT_EQ(end_of_watch(), 0);
  EXPECT_EQ(all_bytes(folder_.path("run")), before);
}

// A run that nobody has begun, so it stays.
TEST_F(WatchProgram, RefusesAllElse) {
  write_run_folder(folder_.path("run"), "run/3", "");
  watch(folder_.path("run"));
  const std::string port = std::to_string(port_), json = path_ + "status.json";
  std::string wrong = path_;
  wrong[1] = wrong[1] == 'a' ? 'b' : 'a';
  struct Case {
    std::string path, headers;
    int code;
  };
  const Case cases[] = {
      {json, host_, 200},
      {json, "Host: localhost:" + port + "\r\n", 200},
      {json, host_ + "Origin: http://127.0.0.1:" + port + "\r\n", 200},
      {json, host_ + "Sec-Fetch-Site: same-origin\r\n", 200},
      {json, "", 403},
      {json, "Host: 127.0.0.1\r\n", 403},
      {json, "Host: 127.0.0.1:1\r\n", 403},
      {json, "Host: evil.example:" + port + "\r\n", 403},
      {json, host_ + host_, 403},
      {json, host_ + "Origin: http://evil.example\r\n", 403},
      {json, host_ + "Origin: null\r\n", 403},
      {json, host_ + "Origin: http://127.0.0.1:1\r\n", 403},
      {json, host_ + "Sec-Fetch-Site: cross-site\r\n", 403},
      {json, host_ + "Sec-Fetch-Site: same-site\r\n", 403},
      {"/", host_, 404},
      {wrong, host_, 404},
      {wrong + "status.json", host_, 404},
      {path_.substr(0, path_.size() - 1), host_, 404},
      {json + "?x", host_, 404},
      {path_ + "config.yaml", host_, 404},
      {path_ + "../", host_, 404},
      {path_ + "%2e%2e/config.yaml", host_, 404},
      {"http://127.0.0.1:" + port + json, host_, 404},
      // What a library that decodes, skips or joins would take for ours.
      {json, "Host: 127.0.0%2e1:" + port + "\r\n", 403},
      {json, "Host: 127.0.0.1%3A" + port + "\r\n", 403},
      {json, host_ + "Origin: http%3a//127.0.0.1:" + port + "\r\n", 403},
      {json, host_ + "Sec-Fetch-Site: same%2Dorigin\r\n", 403},
      {json, host_ + "ORIGIN: http://evil.example\r\n", 403},
      {json, host_ + "Origin: http://127.0.0.1:" + port + std::string("\0.evil\r\n", 8), 400},
      {json, "Host: 127.0.0.1:" + port + std::string("\0\r\n", 3), 400},
      {json, "Host: evil.example\r\n " + host_, 400},
      {json, "Host : 127.0.0.1:" + port + "\r\n", 400},
      {json, "X: y\n" + host_, 400},
      {json, "X: y\r" + host_, 400},
      {json + " x", host_, 400},
  };

  for (const auto& [path, headers, code] : cases) {
    const std::string answer = get(path, headers);
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 " + std::to_string(code)) << path << headers;
    EXPECT_TRUE(code == 200 || answer.find(path_.substr(1, 32)) == std::string::npos) << path;
  }
  // Parts of answers: there is nothing behind their end.
  for (const char* range : {"0-60000", "9999999-", "-60000", "3-2", "0-1,5-70000"})
    for (const std::string& asker : {host_, std::string("Host: evil.example\r\n")})
      for (const std::string& path : {json, std::string("/"), path_}) {
        const std::string answer = get(path, asker + "Range: bytes=" + std::string(range) + "\r\n");
        const std::size_t end = answer.find("\r\n\r\n");
        EXPECT_NE(answer.substr(0, 12), "HTTP/1.1 200") << range;
        EXPECT_LT(answer.size(), end + 4 + 400) << range << path;
      }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const std::string answer = asked(port_, std::string(method) + " " + path_ + " HTTP/1.1\r\n" +
                                                host_ + "Content-Length: 2\r\n\r\nhi");
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 405") << method;
    EXPECT_TRUE(contains(answer, "Allow: GET, HEAD"));
  }
  const std::string head = asked(port_, "HEAD " + path_ + " HTTP/1.1\r\n" + host_ + "\r\n");
  EXPECT_EQ(head.substr(0, 12), "HTTP/1.1 200");
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  for (const char* odd : {"BREW / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n", "\r\n\r\n", "GET\r\n\r\n"})
    EXPECT_FALSE(contains(asked(port_, odd), " 200 ")) << odd;
}

// Broken by: threads that wait for the next byte, or headers that are kept however many there are.
TEST_F(WatchProgram, SlowAndHugeRequestsHoldNobodyUp) {
  write_run_folder(folder_.path("run"), "run/3", "");
  watch(folder_.path("run"));

  std::list<Connection> slow;
  for (int i = 0; i < 100; ++i) slow.emplace_back(port_).send("GET " + path_ + " HTTP/1.1\r\nX-");
  const Value beside = status();
  // To the byte, however the lines are cut.
  const auto of_size = [&](std::size_t bytes) {
    std::string head = "GET " + path_ + "status.json HTTP/1.1\r\n" + host_;
    while (bytes - head.size() > 2000) head += "X: " + std::string(995, 'y') + "\r\n";
    head += "X: " + std::string(bytes - head.size() - 7, 'y') + "\r\n\r\n";
    return asked(port_, head).substr(0, 12);
  };
  const std::string largest = of_size(64 << 10), larger = of_size((64 << 10) + 1);
  // Every byte comes soon, all of them never do.
  const Connection trickle(port_);
  trickle.send("GET " + path_ + " HTTP/1.1\r\n");
  int bytes = 0;
  for (; bytes < 600 && trickle.send("X"); ++bytes) usleep(50'000);
  // They ask and are gone.
  for (int i = 0; i < 200; ++i) {
    Connection gone(port_);
    gone.send("GET " + path_ + " HTTP/1.1\r\n" + host_ + (i % 2 == 0 ? "\r\n" : ""));
    if (i % 3 != 0) gone.reset();
  }
  const std::string line = "X-Y: " + std::string(4000, 'y') + "\r\n";
  const Connection endless(port_);
  endless.send("GET " + path_ + " HTTP/1.1\r\n" + host_);
  int lines = 0;  // 80 MB, if all were heard
  while (lines < 20000 && endless.send(line)) ++lines;
  const std::string large = get(path_, host_ + "X-Y: " + std::string(20000, 'y') + "\r\n");
  const Value after = status();

  EXPECT_TRUE(beside.is_map());
  EXPECT_LT(lines, 20000);
  EXPECT_EQ(largest, "HTTP/1.1 200");
  EXPECT_EQ(larger, "HTTP/1.1 431");
  EXPECT_LT(bytes, 600);
  EXPECT_FALSE(contains(endless.rest(), " 200 "));
  EXPECT_FALSE(contains(large, " 200 "));
  EXPECT_TRUE(after.is_map());
  for (const Connection& connection : slow) EXPECT_FALSE(contains(connection.rest(), " 200 "));
  kill(watch_, SIGTERM);
  EXPECT_EQ(end_of_watch(), 128 + SIGTERM);
}

TEST_F(WatchProgram, APortThatIsTakenIsSaidToBe) {
  write_run_folder(folder_.path("run"), "run/3", "");
  watch(folder_.path("run"));

  const Finished second =
      run_stap({"watch", folder_.path("run"), "--no-open", "--port", std::to_string(port_)});

  EXPECT_EQ(second.exit_code, 5);
  EXPECT_TRUE(
      contains(second.err, "port " + std::to_string(port_) + " of 127.0.0.1 cannot be had"));
  EXPECT_TRUE(contains(second.err, "in use"));
}

}  // namespace
}  // namespace stap::test
