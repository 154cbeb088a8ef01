#include "stap/run/question_file.h"

#include <gtest/gtest.h>

#include "stap/config/files.h"
#include "stap/data/store.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::expect_error;
using test::H5File;
using test::TemporaryFolder;

const Outline kOutline{.name = "tank",
                       .grid = make_grid(2, {3}, {1.5}),
                       .channels = {"p", "T"},
                       .dt = 0.5,
                       .guard_min = {},
                       .guard_max = {},
                       .parameters = {{"F", 0.04}, {"k", 1e-3}}};

TEST(QuestionFile, SaysAllThatIsNeededToAnswer) {
  const TemporaryFolder folder;
  const std::uint64_t large = (std::uint64_t{1} << 53) - 1;  // the largest id there is
  const std::vector<Question> questions{
      {.id = large,
       .run = 1,
       .acquisition = 2,
       .candidate = 70,
       .step = 5,
       .query = {.state = {1, 2, 3, 4, 5, 6}, .time = 2.5, .steps = 3}},
      {.id = 4,
       .run = 0,
       .acquisition = 0,
       .candidate = 7,
       .step = 0,
       .query = {.state = {6, 5, 4, 3, 2, 1}}}};

  write_questions(folder.path("q.h5"), questions, kOutline, {"a", "b"});

  const std::string file = folder.path("q.h5");
  EXPECT_EQ(read_integers(file, "id").values,
            (std::vector<std::int64_t>{static_cast<std::int64_t>(large), 4}));
  EXPECT_EQ(read_integers(file, "run").values, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(read_integers(file, "acquisition").values, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(read_integers(file, "candidate").values, (std::vector<std::int64_t>{70, 7}));
  EXPECT_EQ(read_integers(file, "step").values, (std::vector<std::int64_t>{5, 0}));
  EXPECT_EQ(read_integers(file, "steps").values, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(read_array(file, "time").values, (std::vector<double>{2.5, 0}));
  EXPECT_EQ(read_array(file, "state").shape, (std::vector<std::size_t>{2, 2, 3}));
  EXPECT_EQ(read_array(file, "state").values,
            (std::vector<double>{1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(read_text_attribute(file, "/", "format"), "queries/1");
  EXPECT_EQ(read_text_attribute(file, "/", "equation"), "tank");
  EXPECT_EQ(read_text_attribute(file, "/", "channel_names"), "p,T");
  EXPECT_EQ(read_text_attribute(file, "/", "parameters"), "F=0.04,k=0.001");
  EXPECT_EQ(read_attribute(file, "/", "parameter.F").values, std::vector<double>{0.04});
  EXPECT_EQ(read_text_attribute(file, "/", "runs"), "a\nb");
}

TEST(QuestionFile, AnswersAreReadRowByRow) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    file.dataset("id", {2}, {7, 9007199254740991.0});
    file.dataset("states", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    file.dataset("failed", {2}, {0, 1}, H5T_STD_I8LE);
  }

  const std::vector<ToldAnswer> told = read_told(folder.path("a.h5"));

  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].id, 7u);
  EXPECT_FALSE(told[0].failed);
  EXPECT_EQ(told[0].shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(told[0].states, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(told[1].id, 9007199254740991u);
  EXPECT_TRUE(told[1].failed);
  EXPECT_TRUE(told[1].states.empty());
}

TEST(QuestionFile, WhatIsNoAnswerIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& part, const std::function<void(H5File&)>& fill) {
    {
      H5File file(folder.path("a.h5"));
      fill(file);
    }
    expect_error(ErrorKind::data, part, [&] { read_told(folder.path("a.h5")); });
  };

  refused("no dataset 'id'", [](H5File& f) { f.dataset("states", {1, 1}, {1}); });
  refused("no dataset 'states'", [](H5File& f) { f.dataset("id", {1}, {1}); });
  refused("'id' has 2 rows", [](H5File& f) {
    f.dataset("id", {2}, {1, 2});
    f.dataset("states", {1, 2, 3}, {1, 2, 3, 4, 5, 6});
  });
  refused("'failed' is 1, expected one value for each of the 2 rows", [](H5File& f) {
    f.dataset("id", {2}, {1, 2});
    f.dataset("failed", {1}, {1});
  });
  refused("'id' is 1 x 2, expected a list", [](H5File& f) { f.dataset("id", {1, 2}, {1, 2}); });
  for (const double id : {1.5, -1.0, 1e16, std::numeric_limits<double>::quiet_NaN()})
    refused("of row 0 is none", [&](H5File& f) {
      f.dataset("id", {1}, {id});
      f.dataset("failed", {1}, {1});
    });
  expect_error(ErrorKind::data, "no.h5", [&] { read_told(folder.path("no.h5")); });
  std::filesystem::create_directory(folder.path("empty"));
  expect_error(ErrorKind::data, "no answer in it", [&] { read_told(folder.path("empty")); });
  std::filesystem::create_directories(folder.path("both/7"));
  folder.file("both/7/failed.txt", "no licence");
  folder.file("both/7/output.npy", "");
  expect_error(ErrorKind::data, "both/7: there are failed.txt and output.npy",
               [&] { read_told(folder.path("both")); });
}

TEST(QuestionFile, SaysTheParametersOfEveryQuestion) {
  const TemporaryFolder folder;
  Outline outline = kOutline;
  outline.parameters[0] = {.name = "F", .varies = true};
  const Query query{.state = {1, 2, 3, 4, 5, 6}, .params = {0.5}};
  std::vector<Question> questions{{.id = 3, .query = query}, {.id = 4, .query = query}};
  questions[1].query.params = {0.75};

  write_questions(folder.path("q.h5"), questions, outline, {"a"});
  write_questions(folder.path("q"), questions, outline, {"a"});

  const std::string file = folder.path("q.h5");
  EXPECT_EQ(read_text_attribute(file, "/", "format"), "queries/2");
  EXPECT_EQ(read_text_attribute(file, "/", "parameter_names"), "F");
  EXPECT_EQ(read_text_attribute(file, "/", "parameters"), "k=0.001");
  EXPECT_EQ(read_array(file, "parameters").values, (std::vector<double>{0.5, 0.75}));
  EXPECT_FALSE(has_attribute(file, "/", "parameter.F"));
  const config::Value about = read_json(folder.path("q/4/query.json"));
  EXPECT_EQ(config::number_at(about, "parameters.F"), 0.75);
  EXPECT_EQ(config::number_at(about, "parameters.k"), 1e-3);
}

}  // namespace
}  // namespace stap
