// Which network to take, by errors on what was held back.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stap/core/rng.h"
#include "stap/results/network_choice.h"
#include "support/contains.h"

namespace stap {
namespace {

using test::contains;

// Where differences of splits share a part, as those of trainings on shared data do, the interval
// still leaves out the truth as often as it says. With a correlation of 1/folds it is exact: the
// variance of the mean is s^2 (1/n + rho / (1 - rho)), and rho / (1 - rho) = 1 / (folds - 1).
// Broken by: leaving out that term (11 to 26 % of intervals miss), or the correction for pairs.
TEST(NetworkChoice, IntervalsHoldWhereSplitsShareData) {
  constexpr std::size_t kDraws = 4000;
  for (const std::size_t folds : {3u, 5u})
    for (const std::size_t repeats : {1u, 2u})
      for (const std::size_t comparisons : {1u, 3u}) {
        const double rho = 1.0 / static_cast<double>(folds);
        const Rng rng = Rng(folds).split("draws", repeats);
        std::size_t missed = 0;
        for (std::size_t d = 0; d < kDraws; ++d) {
          const Rng own = rng.split("draw", d);
          const double shared = std::sqrt(rho) * own.normal(0);
          std::vector<double> differences;
          for (std::size_t i = 0; i < folds * repeats; ++i)
            differences.push_back(shared + std::sqrt(1 - rho) * own.normal(1 + i));
          const Summary summary = summarise(differences);
          if (std::abs(summary.mean) > splits_half_95(summary, comparisons, folds)) ++missed;
        }

        const double expected = 0.05 / static_cast<double>(comparisons);
        // Four standard errors of a share.
        const double most = 4 * std::sqrt(expected * (1 - expected) / kDraws);
        EXPECT_NEAR(static_cast<double>(missed) / kDraws, expected, most)
            << folds << " folds, " << repeats << " repeats, " << comparisons << " comparisons";
      }
}

NetworkScore score(const std::string& name, std::vector<double> errors, double seconds,
                   bool own = false) {
  return {name, own, std::move(errors), seconds, 0.001 * seconds};
}

// A network is recommended only if its error is significantly below all others'.
// Broken by: comparing with the second alone, or by ranking networks that left the numbers.
TEST(NetworkChoice, IsClearOnlyAgainstAll) {
  const double infinite = std::numeric_limits<double>::infinity();
  const NetworkScore good = score("good", {1.0, 1.1, 0.9, 1.05, 0.95}, 60),
                     bad = score("bad", {4.1, 4.3, 3.9, 4.2, 3.8}, 10, true),
                     near = score("near", {1.4, 0.9, 1.0, 1.3, 0.8}, 20),
                     lost = score("lost", {0.1, 0.1, 0.1, 0.1, infinite}, 30);
  const auto text = [](const std::vector<NetworkScore>& all) {
    return choice_text(all, choose_network(all, 5));
  };

  EXPECT_TRUE(choose_network(std::vector{bad, good}, 5).clear);
  EXPECT_FALSE(choose_network(std::vector{bad, good, near}, 5).clear);
  EXPECT_EQ(choose_network(std::vector{lost, bad, good}, 5).order,
            (std::vector<std::size_t>{2, 1, 0}));

  // exp(-log 4.06 ...): about 75 % below.
  EXPECT_TRUE(contains(text({bad, good}), "Use good: its error is 75 % below bad (this run's)"));
  EXPECT_TRUE(contains(text({bad, good}),
                       "A training takes 6 times as long as that of bad, a step of the averaged "
                       "model 6 times"));
  EXPECT_TRUE(contains(text({bad, near, good}), "No clear winner yet. good has the lowest error"));
  EXPECT_TRUE(contains(text({bad, near, good}), "not significantly different from near"));
  EXPECT_TRUE(contains(text({lost, bad}), "Keep bad (this run's)\nlost left the finite numbers"));
  EXPECT_TRUE(contains(text({good, score("twin", good.errors, 5)}), "No difference"));
}

}  // namespace
}  // namespace stap
