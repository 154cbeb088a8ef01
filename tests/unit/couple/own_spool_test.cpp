// A folder names the program that its servers start, so nobody else may write in it.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include "couple/spool_folder.h"
#include "couple/spool_problem.h"
#include "couple/spool_queue.h"
#include "stap/core/error.h"
#include "stap/couple/serve.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using fs::perms;
using Clock = SolverQueue::Clock;
using std::chrono::milliseconds;

constexpr uid_t kNobody = 65534;

// A spool as a run makes it, with a query that waits. The program leaves a mark when it is started.
class OwnSpool : public ::testing::Test {
 protected:
  void make() {
    SpoolProblem problem{{.name = "toy",
                          .grid = {.channels = 1, .points = {3}, .lengths = {1.0}},
                          .channels = {"u"},
                          .dt = 0.25,
                          .guard_min = {},
                          .guard_max = {},
                          .parameters = {}},
                         {},
                         {}};
    config::Value solver;
    solver.set("name", "command");
    solver.set("argv", config::Value::List{STAP_TEST_PROGRAMS "/spool_step", "{input}", "{output}",
                                           "0", mark_});
    solver.set("scratch", folder_.path("scratch"));
    solver.set("limits", config::Value::Map{{"server", 1}});
    problem.recipe.set("solver", std::move(solver));
    queue_ = make_spool_queue(place_, 1.0, std::move(problem));
    queue_->submit({.id = 1, .state = {1.0, 2.0, 3.0}});
    ASSERT_TRUE(eventually([&] {
      queue_->next(Clock::now() + milliseconds(5));
      return !names_in(place_ / "queries", false).empty();
    }));
    problem_ = place_ / "problems" / names_in(place_ / "problems", false).at(0);
  }
  // Serves until nothing has come for a moment.
  void serve_it(bool trusted = false) const {
    Observer nobody;
    serve({.folder = place_, .idle = 0.2, .trust_folder = trusted}, nobody, {});
  }
  bool started() const { return fs::exists(mark_); }
  // What it is about: the folders and files on which trust rests.
  std::vector<fs::path> own() const {
    return {place_, place_ / "spool.json", place_ / "problems", problem_};
  }
  void expect_refused(const std::string& why) const {
    expect_error(ErrorKind::config, why, [&] { serve_it(); });
    EXPECT_FALSE(started());
  }
  // In a process of another user; the exit code that the program would have.
  int code_as(uid_t user) const {
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(user) != 0 || setuid(user) != 0) _exit(99);
      try {
        serve_it();
      } catch (const Error& error) {
        _exit(static_cast<int>(error.kind()));
      } catch (...) {
        _exit(98);
      }
      _exit(0);
    }
    const int status = test::wait_for(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryFolder folder_;
  fs::path place_ = folder_.path("spool"), problem_;
  std::string mark_ = folder_.path("started");
  std::unique_ptr<SolverQueue> queue_;
};

TEST_F(OwnSpool, IsServed) {
  make();

  serve_it();

  EXPECT_TRUE(started());
}

// Broken by rights that follow the umask, and by those of a folder that a user has made before.
TEST_F(OwnSpool, IsMadeSoThatNobodyElseCanWriteInIt) {
  for (const auto& [mask, made] : std::map<mode_t, bool>{{0000, false}, {0002, true}}) {
    place_ = folder_.path("spool" + std::to_string(mask));
    fs::remove(mark_);
    const mode_t before = umask(mask);
    if (made) {
      fs::create_directories(place_ / "problems");
      fs::permissions(place_, perms::all);
    }
    make();
    umask(before);
    for (const auto& entry : fs::recursive_directory_iterator(place_)) {
      if (contains(entry.path(), "askers/")) continue;  // signs of life only
      EXPECT_EQ(fs::status(entry).permissions() & (perms::group_write | perms::others_write),
                perms::none)
          << entry.path();
    }

    serve_it();

    EXPECT_TRUE(started());
    queue_.reset();
  }
}

// Broken by leaving out one of the places, group or others.
TEST_F(OwnSpool, IsRefusedWhereOthersMayWrite) {
  make();
  for (const fs::path& path : own())
    for (const perms right : {perms::group_write, perms::others_write}) {
      fs::permissions(path, right, fs::perm_options::add);

      expect_refused("write in " + path.string() + " ");

      fs::permissions(path, right, fs::perm_options::remove);
    }

  fs::permissions(place_, perms::group_write, fs::perm_options::add);
  serve_it(true);
  EXPECT_TRUE(started());
}

// Broken by looking at a name and opening it afterwards: what a link leads to may be swapped.
TEST_F(OwnSpool, IsRefusedWithLinks) {
  make();
  for (const fs::path& path : {place_ / "spool.json", place_ / "problems", problem_}) {
    fs::rename(path, folder_.path("elsewhere"));
    fs::create_symlink(folder_.path("elsewhere"), path);

    expect_refused(path.string() + " is a link");

    fs::remove(path);
    fs::rename(folder_.path("elsewhere"), path);
  }

  place_ = folder_.path("link");  // what the user names
  fs::create_symlink(folder_.path("spool"), place_);
  serve_it();
  EXPECT_TRUE(started());
}

// Broken by a check at the start only.
TEST_F(OwnSpool, IsLookedAtAgainWhileItIsServed) {
  make();
  std::optional<Error> error;
  std::thread server([&] {
    Observer nobody;
    error = error_of([&] { serve({.folder = place_, .idle = 5}, nobody, {}); });
  });
  EXPECT_TRUE(eventually([&] { return started(); }));

  fs::permissions(problem_, perms::others_write, fs::perm_options::add);
  server.join();

  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::config) << error->what();
}

// The run takes the rights away when it makes the spool: nothing is there yet that could harm.
TEST_F(OwnSpool, AnEmptyFolderThatAGroupMayWriteInIsWaitedFor) {
  fs::create_directory(place_);
  fs::permissions(place_, perms::all);

  EXPECT_NO_THROW(serve_it());
}

// root's folders are everybody's to trust, nobody's are nobody's. Broken by a check that leaves out
// owner or one of the places.
TEST_F(OwnSpool, NeedsRootToBelongToAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  make();
  fs::permissions(folder_.path(), perms::all);

  for (const char* name : {"queries", "claimed", "answers", "servers", "aside"})
    fs::permissions(place_ / name, perms::all);  // as one lends a folder

  for (const fs::path& path : own()) {
    ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0);
    expect_refused(path.string() + " belongs to user 65534");
    EXPECT_EQ(code_as(kNobody - 1), static_cast<int>(ErrorKind::config));
    EXPECT_FALSE(started());
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  EXPECT_EQ(code_as(kNobody), 0);
  EXPECT_TRUE(started());
  EXPECT_EQ(queue_->next(Clock::now() + std::chrono::seconds(10))->answer.states,
            std::vector({2.0, 3.0, 4.0}));

  fs::remove(mark_);
  queue_->submit({.id = 2, .state = {2.0, 2.0, 3.0}});
  queue_->next(Clock::now() + milliseconds(100));
  for (const fs::path& path : own()) ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0);
  serve_it(true);
  EXPECT_TRUE(started());
  place_ = folder_.path("empty");
  fs::create_directory(place_);
  ASSERT_EQ(chown(place_.c_str(), kNobody, kNobody), 0);
  expect_error(ErrorKind::config, "belongs to user 65534", [&] { serve_it(); });
}

// Where a group shares `aside` and `servers`, it must not make us write elsewhere.
TEST_F(OwnSpool, NothingIsWrittenThroughALink) {
  const SpoolFolder spool = SpoolFolder::make(place_);
  const std::string treasure = folder_.file("treasure", "mine");
  fs::create_symlink(treasure, place_ / "aside" / "us");

  const std::string text = "text";
  spool.put(spool.query("q"), std::as_bytes(std::span(text)), "us", false);

  EXPECT_EQ(content(treasure), "mine");
  EXPECT_EQ(content(spool.query("q")), "text");
  EXPECT_FALSE(fs::is_symlink(spool.query("q")));
}

}  // namespace
}  // namespace stap::test
