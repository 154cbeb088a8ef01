#include "core/answer_times.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

TEST(AnswerTimes, TheMiddleOfWhatAStepTakes) {
  AnswerTimes times;
  EXPECT_FALSE(times.usual(1).has_value());
  for (const double seconds : {2.0, 1000.0, 4.0}) times.add(seconds, 2);

  EXPECT_EQ(times.usual(1), 2.0);
  EXPECT_EQ(times.usual(3), 6.0);
}

TEST(AnswerTimes, WhatWasLongAgoIsForgotten) {
  AnswerTimes times;
  for (int i = 0; i < 1000; ++i) times.add(50.0, 1);
  for (int i = 0; i < 101; ++i) times.add(2.0, 1);

  EXPECT_EQ(times.usual(1), 2.0);
}

TEST(WindingDown, SaysHowManyAndForHowLong) {
  WindingDown end;
  end.add(10.0, 9.5);
  EXPECT_EQ(end.text(), "no new query is started; 1 is running, and should end any moment");
  end.add(30.0, 8.0);
  EXPECT_EQ(end.text(), "no new query is started; 2 are running, for about 22 s still");
  end.add(1000.0, 100.0);
  EXPECT_EQ(end.text(), "no new query is started; 3 are running, for about 15 min still");
  end.add(std::nullopt, 8.0);
  EXPECT_EQ(end.text(),
            "no new query is started; 4 are running, and none has ended yet to tell how long");
}

}  // namespace
}  // namespace stap
