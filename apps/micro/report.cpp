// SPDX-License-Identifier: Apache-2.0
#include "micro/report.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace fabricbench::micro {

std::string_view version() {
  return FABRICBENCH_VERSION;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                          std::chars_format::fixed, decimals);
  return {digits.data(), end};
}

void Report::key(std::string_view name, std::string_view value) {
  if (!active_) return;
  text_.append("#@").append(name).append("=").append(value).append("\n");
}

void Report::columns() {
  if (active_) text_ += "benchmark,case,msg_size_bytes,rank,sample,value,metric\n";
}

void Report::rows(const Series& series, int rank, std::span<const std::int64_t> samples_ns) {
  if (!active_) return;
  const std::string size = series.msg_size_bytes ? std::to_string(*series.msg_size_bytes) : "";
  const std::string head = std::string(series.benchmark) + ',' + std::string(series.case_name) +
                           ',' + size + ',' + std::to_string(rank) + ',';
  const double ns_per_us = 1000.0 * series.values_per_run;
  for (std::size_t i = 0; i < samples_ns.size(); ++i) {
    text_.append(head).append(std::to_string(i)).append(",");
    text_.append(fixed(static_cast<double>(samples_ns[i]) / ns_per_us, 3)).append(",");
    text_.append(series.metric).append("\n");
  }
}

void Report::summary(const Series& series, const Summary& summary) {
  if (!active_) return;
  const std::string size = series.msg_size_bytes ? std::to_string(*series.msg_size_bytes) : "";
  const std::array<std::pair<std::string_view, double>, 5> statistics{
      {{"median", summary.median},
       {"mean", summary.mean},
       {"rank_mean", summary.rank_mean},
       {"rank_min", summary.rank_min},
       {"rank_max", summary.rank_max}}};
  for (const auto& [name, value_ns] : statistics) {
    text_.append(series.benchmark).append(",").append(series.case_name).append(",").append(size);
    text_.append(",0,0,").append(fixed(value_ns / (1000.0 * series.values_per_run), 3));
    text_.append(",").append(series.metric).append(":").append(name).append("\n");
  }
}

void Report::flush() {
  const bool complete = std::fwrite(text_.data(), 1, text_.size(), stdout) == text_.size();
  if (!complete || std::fflush(stdout) != 0) written_ = false;
  text_.clear();
}

}  // namespace fabricbench::micro
