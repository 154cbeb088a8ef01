#include "stap/nn/options.h"

#include <algorithm>

namespace stap {

const config::Fields<NetworkOptions>& network_fields() {
  using config::later;
  using Target = NetworkOptions::Target;
  using ParameterInput = NetworkOptions::ParameterInput;
  using PaddingOptions = NetworkOptions::PaddingOptions;
  static const config::Fields<PaddingOptions> padding_fields{
      later<PaddingOptions>(
          {"share", &PaddingOptions::share,
           "points that are added behind the end of an axis with walls, as a part of its own: one "
           "value, or one per axis (0 where there are no walls); none: 0.25",
           config::between(0, 1).length(0, 2)}),
      later<PaddingOptions>(
          {"kind", &PaddingOptions::kind,
           "what stands there, in one word or one per axis: blended (from the value at one end to "
           "that at the other), zero, or the field's odd or even mirror image in each wall; or "
           "nothing is added, and convolutions (dilated) see zeros (conv-zero) or the mirror image "
           "(conv-mirror) behind each wall (on the CPU only); none: blended",
           config::length(0, 2)}),
  };
  static const config::Fields<NetworkOptions> fields{
      {"target", &NetworkOptions::target,
       "what the network predicts: the change over one step, or the next state itself",
       config::choices<Target>({{"delta", Target::delta}, {"state", Target::state}})},
      {"time_input", &NetworkOptions::time_input,
       "also give it the time, 0 at the start of a trajectory and 1 at its end",
       config::Affects::data},
      {"position_input", &NetworkOptions::position_input,
       "also tell it where each point is, for forcings, coefficients or walls that depend on "
       "position"},
      later<NetworkOptions>(
          {"parameter_input", &NetworkOptions::parameter_input,
           "how it is told parameters that vary: as input channels, or by shifts of every layer, "
           "which are learned (on the CPU only)",
           config::choices<ParameterInput>(
               {{"channels", ParameterInput::channels}, {"shifts", ParameterInput::shifts}})}),
      {"conserve", &NetworkOptions::conserve,
       "channels whose mean over the grid the solver never changes, [u] say: what a network makes "
       "is shifted so that it does not either",
       config::length(0, 1024)},
      {"padding", &NetworkOptions::padding,
       "how an axis with walls continues after its end, since networks assume rings",
       padding_fields},
  };
  return fields;
}

const config::Fields<FitOptions>& fit_fields() {
  using config::above;
  using config::at_least;
  using config::between;
  using Schedule = FitOptions::Schedule;
  using Loss = FitOptions::Loss;
  static const config::Fields<FitOptions> fields{
      {"epochs", &FitOptions::epochs, "passes over the transitions", between(1, 1e7)},
      {"steps", &FitOptions::steps,
       "gradient steps per round instead of epochs, however many transitions there are; 0: "
       "epochs count",
       between(0, 1e9)},
      {"batch", &FitOptions::batch, "transitions per gradient step", between(1, 32)},
      {"learning_rate", &FitOptions::learning_rate,
       "step size of Adam at the start; it falls along the schedule, epoch by epoch, or step by "
       "step where steps count",
       above(0)},
      {"schedule", &FitOptions::schedule,
       "how the learning rate goes: to 0 along half a cosine or a line, or not at all (constant, "
       "best with average)",
       config::choices<Schedule>({{"cosine", Schedule::cosine},
                                  {"linear", Schedule::linear},
                                  {"constant", Schedule::constant}})},
      {"beta1", &FitOptions::beta1, "Adam: decay of the mean gradient", at_least(0).below(1)},
      {"beta2", &FitOptions::beta2, "Adam: decay of the mean squared gradient",
       at_least(0).below(1)},
      {"epsilon", &FitOptions::epsilon, "Adam: added to the root of the mean squared gradient",
       above(0)},
      {"average", &FitOptions::average,
       "decay of a running average of the weights, 0.999 say, which is then used instead of them; "
       "0: none",
       at_least(0).below(1)},
      {"noise", &FitOptions::noise,
       "standard deviation of noise that is added to the input states of every gradient step, "
       "0.01 say, in units of the deviation of each channel; 0: none",
       between(0, 10)},
      {"symmetries", &FitOptions::symmetries,
       "what may be mirrored, turned, swapped or reversed without changing the problem, each like "
       "\"x -> -x, u -> -u\": training sees such images of the transitions, too",
       config::length(0, 16)},
      {"loss", &FitOptions::loss,
       "what errors are counted in: units of their channel, so that those of the data do not "
       "matter, or the data's own units, in which the largest channel decides",
       config::choices<Loss>({{"scaled", Loss::scaled}, {"physical", Loss::physical}})},
      {"channel_weights", &FitOptions::channel_weights,
       "weights of the channels' squared errors in the loss, one per channel; none: 1 each",
       above(0).length(0, 1024)},
  };
  return fields;
}

std::int64_t FitLength::steps_after(int epochs_done) const {
  return std::min(steps, epochs_done * steps_per_epoch);
}

int FitLength::epochs_after(std::int64_t steps_done) const {
  return steps_done >= steps ? epochs : static_cast<int>(steps_done / steps_per_epoch);
}

FitLength fit_length(const FitOptions& options, std::size_t rows) {
  const auto steps_in = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of; };
  FitLength length{};
  length.steps_per_epoch =
      steps_in(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(options.batch));
  if (options.steps > 0) {
    length.steps = options.steps;
    length.epochs = static_cast<int>(steps_in(options.steps, length.steps_per_epoch));
  } else {
    length.steps = options.epochs * length.steps_per_epoch;
    length.epochs = options.epochs;
  }
  return length;
}

}  // namespace stap
