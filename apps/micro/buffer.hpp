// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace fabricbench::micro {

/// A message buffer aligned to a page, as in OSU and IMB. Every page is written before any
/// measurement.
class Buffer {
 public:
  /// Room for `capacity` bytes, zero or more. Throws std::bad_alloc.
  explicit Buffer(std::size_t capacity)
      : bytes_(static_cast<std::uint8_t*>(::operator new(capacity + 1, alignment))) {
    std::memset(bytes_.get(), 0, capacity + 1);
  }

  [[nodiscard]] std::uint8_t* data() const noexcept { return bytes_.get(); }
  /// The first `size` bytes; size <= capacity.
  [[nodiscard]] std::span<std::uint8_t> first(std::size_t size) const noexcept {
    return {bytes_.get(), size};
  }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Release {
    void operator()(std::uint8_t* bytes) const noexcept { ::operator delete(bytes, alignment); }
  };
  std::unique_ptr<std::uint8_t, Release> bytes_;
};

}  // namespace fabricbench::micro
