#include "couple/connection.h"

#include <sys/socket.h>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace stap {
namespace {

// Broken where what cannot be sent counts as sent: nobody would ever answer.
TEST(Connection, WhoHearsNothingAnyMoreIsGone) {
  auto [ours, theirs] = make_socket_pair();
  Connection connection(std::move(ours));
  ASSERT_EQ(shutdown(theirs.number(), SHUT_RD), 0);

  connection.send(std::vector<std::byte>(100));
  EXPECT_FALSE(connection.go_on());
  EXPECT_FALSE(connection.closed()) << "an error may pass";
  for (int tries = 0; tries < 1000 && !connection.closed(); ++tries) connection.go_on();

  EXPECT_TRUE(connection.closed());
  EXPECT_EQ(connection.error(), 0) << "it is no fault of the system's";
}

TEST(Connection, WhatIsOnItsWayIsSentBeforeMore) {
  auto [ours, theirs] = make_socket_pair();
  Connection connection(std::move(ours));
  std::vector<std::byte> frame(1 << 20), got(2 * frame.size());
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(i % 251);

  connection.send(frame);
  connection.send(frame);
  std::size_t n = 0;
  while (n < got.size()) {
    connection.go_on();
    const ssize_t came = recv(theirs.number(), got.data() + n, got.size() - n, MSG_DONTWAIT);
    if (came > 0) n += static_cast<std::size_t>(came);
  }

  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], static_cast<std::byte>(i % frame.size() % 251)) << i;
}

}  // namespace
}  // namespace stap
