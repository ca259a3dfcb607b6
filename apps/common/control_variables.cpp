// SPDX-License-Identifier: Apache-2.0
#include "common/control_variables.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace fabricbench {
namespace {

constexpr int most_variables = 4000;
constexpr int most_numbers = 16;
constexpr std::size_t longest_name = 128;
constexpr std::size_t longest_value = 200;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// Lifetime of the tool interface.
class Tools {
 public:
  Tools() {
    int provided = 0;
    ready_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  }
  ~Tools() {
    if (ready_) MPI_T_finalize();
  }
  Tools(const Tools&) = delete;
  Tools& operator=(const Tools&) = delete;
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  bool ready_;
};

/// The description of a variable and the handle for reading it.
class Variable {
 public:
  explicit Variable(int index) {
    std::array<char, longest_name> name{};
    int length = static_cast<int>(name.size());
    int unused = 0;
    int bind = MPI_T_BIND_NO_OBJECT;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    int no_description = 0;
    if (MPI_T_cvar_get_info(index, name.data(), &length, &unused, &datatype_, &names, nullptr,
                            &no_description, &bind, &unused) != MPI_SUCCESS)
      return;
    name_ = name.data();
    std::ranges::replace_if(name_, [](char c) { return !is_plain(c); }, '_');
    if (bind != MPI_T_BIND_NO_OBJECT) return;
    readable_ = MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count_) == MPI_SUCCESS;
  }
  ~Variable() {
    if (readable_) MPI_T_cvar_handle_free(&handle_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns the value as text, or nothing if it cannot be read or has another type.
  [[nodiscard]] std::optional<std::string> value() const {
    if (!readable_ || name_.empty()) return std::nullopt;
    if (datatype_ == MPI_CHAR) return text();
    if (datatype_ == MPI_INT) return numbers<int>();
    if (datatype_ == MPI_C_BOOL) return numbers<bool>();
    if (datatype_ == MPI_UNSIGNED) return numbers<unsigned>();
    if (datatype_ == MPI_UNSIGNED_LONG) return numbers<unsigned long>();
    if (datatype_ == MPI_UNSIGNED_LONG_LONG) return numbers<unsigned long long>();
    if (datatype_ == MPI_COUNT) return numbers<MPI_Count>();
    if (datatype_ == MPI_DOUBLE) return numbers<double>();
    if (datatype_ == MPI_INT32_T) return numbers<std::int32_t>();
    if (datatype_ == MPI_UINT32_T) return numbers<std::uint32_t>();
    if (datatype_ == MPI_INT64_T) return numbers<std::int64_t>();
    if (datatype_ == MPI_UINT64_T) return numbers<std::uint64_t>();
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::string> text() const {
    // Open MPI writes up to 2048 characters even if it announces fewer.
    std::vector<char> text(static_cast<std::size_t>(std::max(count_, 4096)) + 1, '\0');
    if (MPI_T_cvar_read(handle_, text.data()) != MPI_SUCCESS) return std::nullopt;
    std::string shown(std::string_view(text.data()).substr(0, longest_value));
    std::ranges::replace_if(
        shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
    return shown;
  }

  template <typename Number>
  [[nodiscard]] std::optional<std::string> numbers() const {
    if (count_ < 1 || count_ > most_numbers) return std::nullopt;
    std::array<Number, most_numbers> values{};
    if (MPI_T_cvar_read(handle_, values.data()) != MPI_SUCCESS) return std::nullopt;
    std::string shown;
    for (int i = 0; i < count_; ++i) {
      if (i > 0) shown += ',';
      shown += std::to_string(values[static_cast<std::size_t>(i)]);
    }
    return shown;
  }

  std::string name_;
  MPI_Datatype datatype_ = MPI_DATATYPE_NULL;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  int count_ = 0;
  bool readable_ = false;
};

}  // namespace

std::vector<ControlVariable> control_variables() {
  std::vector<ControlVariable> found;
  const Tools tools;
  int offered = 0;
  if (!tools.ready() || MPI_T_cvar_get_num(&offered) != MPI_SUCCESS) return found;
  for (int index = 0; index < std::min(offered, most_variables); ++index) {
    const Variable variable(index);
    if (auto value = variable.value()) found.push_back({variable.name(), std::move(*value)});
  }
  return found;
}

}  // namespace fabricbench
