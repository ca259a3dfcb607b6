// SPDX-License-Identifier: Apache-2.0
#include "timing/mark.hpp"

#include <dlfcn.h>

namespace fabricbench::timing {
namespace {

using Mark = void (*)(bool begins, const char* label);

/// The witness's function; null without a witness. dlsym finds it, because a weak reference is
/// null in a program that is linked at a fixed address.
Mark find_mark() {
  return reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "fabricbench_mark"));
}

Mark mark_function() {
  static const Mark function = find_mark();
  return function;
}

void mark(bool begins, const std::string& label) {
  if (has_witness()) mark_function()(begins, label.c_str());
}

}  // namespace

bool has_witness() {
  return mark_function() != nullptr;
}

std::string calibration_label(int number) {
  return "calibration." + std::to_string(number);
}

std::string barriers_label(int number) {
  return "barriers." + std::to_string(number);
}

void mark_begin(const std::string& label) {
  mark(true, label);
}

void mark_end(const std::string& label) {
  mark(false, label);
}

}  // namespace fabricbench::timing
