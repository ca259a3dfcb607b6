// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "endpoints/network.hpp"
#include "endpoints/peer.hpp"

namespace fabricbench::endpoints {

/// The first character of a message that contains the reason why a step failed.
inline constexpr char refusal = '-';

/// Returns the name of an endpoint after its length: "12:...".
[[nodiscard]] std::string name_of(fid& object);

/// Removes the first name from a sequence of results of name_of() and returns it. Throws Refused if
/// there is none.
[[nodiscard]] std::string_view next_name(std::string_view& names);

/// Runs `step` on both sides and returns the other side's result. Throws Refused on both sides if
/// one of the steps throws it.
std::string in_step(Peer& peer, const std::function<std::string()>& step);

}  // namespace fabricbench::endpoints
