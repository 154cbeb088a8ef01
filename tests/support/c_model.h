// interfaces/c/stap_model.c, compiled in several ways: into the tests ("linked", sanitized where
// they are), and for other instruction sets into libraries of their own.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "stap/core/isa.h"
#include "stap_model.h"

namespace stap::test {

struct CLibrary {
  explicit CLibrary(const std::string& name) {
    if (name == "linked") {
      open = stap_model_open;
      close = stap_model_close;
      about = stap_model_about;
      work = stap_model_work;
      work_free = stap_work_free;
      step = stap_model_step;
      rollout = stap_model_rollout;
      members = stap_model_members;
      adjoint = stap_model_adjoint;
      gradients = stap_model_gradients;
      set = stap_model_set;
      begin = stap_model_begin;
      next = stap_model_next;
      return;
    }
    void* handle = dlopen((std::string(STAP_TEST_PROGRAMS) + "/stap_model_" + name + ".so").c_str(),
                          RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    const auto load = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      if (function == nullptr) throw std::runtime_error(symbol);
    };
    load(open, "stap_model_open");
    load(close, "stap_model_close");
    load(about, "stap_model_about");
    load(work, "stap_model_work");
    load(work_free, "stap_work_free");
    load(step, "stap_model_step");
    load(rollout, "stap_model_rollout");
    load(members, "stap_model_members");
    load(adjoint, "stap_model_adjoint");
    load(gradients, "stap_model_gradients");
    load(set, "stap_model_set");
    load(begin, "stap_model_begin");
    load(next, "stap_model_next");
  }

  decltype(&stap_model_open) open;
  decltype(&stap_model_close) close;
  decltype(&stap_model_about) about;
  decltype(&stap_model_work) work;
  decltype(&stap_work_free) work_free;
  decltype(&stap_model_step) step;
  decltype(&stap_model_rollout) rollout;
  decltype(&stap_model_members) members;
  decltype(&stap_model_adjoint) adjoint;
  decltype(&stap_model_gradients) gradients;
  decltype(&stap_model_set) set;
  decltype(&stap_model_begin) begin;
  decltype(&stap_model_next) next;
};

/// A model that is open in one of them, with memory for its steps.
struct CModel {
  CModel(const CLibrary& library, const std::string& path, std::span<const double> parameters = {})
      : c(library), model(c.open(path.c_str(), why, sizeof why)) {
    if (model == nullptr) throw std::runtime_error(why);
    work = c.work(model);
    if (!parameters.empty() && c.set(model, work, parameters.data()) != 0)
      throw std::runtime_error("parameters out of reach");
  }
  ~CModel() {
    c.work_free(work);
    c.close(model);
  }
  CModel(const CModel&) = delete;
  CModel& operator=(const CModel&) = delete;

  std::vector<double> step(int member, long number, const std::vector<double>& from) const {
    std::vector<double> to(from.size());
    if (c.step(model, work, member, number, from.data(), to.data()) != 0)
      throw std::runtime_error("no such member or step");
    return to;
  }
  std::vector<double> adjoint(int member, long number, const std::vector<double>& from,
                              const std::vector<double>& weights) const {
    std::vector<double> gradient(from.size());
    if (c.adjoint(model, work, member, number, from.data(), weights.data(), gradient.data()) != 0)
      throw std::runtime_error("no such member or step");
    return gradient;
  }

  const CLibrary& c;
  char why[STAP_MODEL_MESSAGE] = "";
  stap_model* model;
  stap_work* work;
};

/// Those that this machine can run.
inline std::vector<std::string> c_libraries() {
  std::vector<std::string> names{"linked", "plain"};
  if (active_isa() != Isa::portable) names.push_back("avx2");
  return names;
}

}  // namespace stap::test
