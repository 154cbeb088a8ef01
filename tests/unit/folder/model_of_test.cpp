#include "stap/folder/model_of.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/nn/model_file.h"
#include "support/networks.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::TemporaryFolder;

std::string data_error(const std::function<void()>& act) {
  return test::error_text(ErrorKind::data, act);
}

void touch(const TemporaryFolder& folder, const std::string& name) {
  std::filesystem::create_directories(std::filesystem::path(folder.path(name)).parent_path());
  folder.file(name, "");
}

TEST(ModelOf, AFileIsItself) {
  const TemporaryFolder folder;

  EXPECT_EQ(model_of(folder.file("m.safetensors", "")), folder.path("m.safetensors"));
}

// By number, not by name or by date; a round without a committee, or something that is no round,
// does not count.
TEST(ModelOf, ARunFolderGivesItsNewestCommittee) {
  const TemporaryFolder folder;
  touch(folder, "rounds/100/committee.safetensors");
  touch(folder, "rounds/00/committee.safetensors");
  touch(folder, "rounds/20/committee.safetensors");
  touch(folder, "rounds/101/plan.json");
  touch(folder, "rounds/old/committee.safetensors");
  touch(folder, "rounds/200x/committee.safetensors");

  EXPECT_EQ(model_of(folder.path()), folder.path("rounds/100/committee.safetensors"));
}

TEST(ModelOf, NothingThereIsSaid) {
  const TemporaryFolder folder;

  EXPECT_NE(data_error([&] { model_of(folder.path("no")); }).find("no such model file"),
            std::string::npos);
  EXPECT_NE(data_error([&] { model_of(folder.path()); }).find("rounds/NN"), std::string::npos);
}

TEST(ModelOf, SurrogatesComputeAsTheModelThatWasWritten) {
  const TemporaryFolder folder;
  const NetworkSpec shape = test::small_shape({16}, {8});
  Model model{shape,
              {fresh_member(shape, test::some_scaling(1), Rng(1)),
               fresh_member(shape, test::some_scaling(1), Rng(2))}};
  write_model(folder.path("m.safetensors"), model);
  write_model(folder.path("empty.safetensors"), Model{shape, {}});

  const Surrogate surrogate = load_surrogate(folder.path("m.safetensors"), {}, 1);

  EXPECT_EQ(surrogate.grid(), shape.grid);
  EXPECT_EQ(surrogate.committee->members(), 2);
  EXPECT_TRUE(surrogate.engine->save(1).weights == model.members[1].weights);
  EXPECT_TRUE(surrogate.engine->save(0).scaling == model.members[0].scaling);
  EXPECT_NE(
      data_error([&] { load_surrogate(folder.path("empty.safetensors"), {}); }).find("no members"),
      std::string::npos);
}

}  // namespace
}  // namespace stap
