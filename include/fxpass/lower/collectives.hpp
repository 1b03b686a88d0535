// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// PyTorch's functional collectives. Ranks are replicas of the module; the groups are the partition that the passes put
/// on the node, and each collective has a channel of its own, numbered in program order.

namespace fxpass {

namespace detail {

/// Who meets in a collective, and on which channel.
struct Meeters {
  hlo::ReplicaGroups groups;
  hlo::Channel channel;
  std::int64_t group_size = 1;
};
constexpr auto meeters(auto& c, const Call& call) -> std::optional<Meeters> {
  const Partition* partition = c.graph().replica_groups(call.id());
  if (partition == nullptr || partition->group_size == 0) {
    c.fail(call, DiagnosticCode::unresolved_group, "its replica groups are not resolved");
    return std::nullopt;
  }
  const auto ranks = c.graph().ranks(*partition);
  Meeters who;
  who.group_size = partition->group_size;
  for (std::size_t at = 0; at + partition->group_size <= ranks.size(); at += partition->group_size)
    who.groups.add(ranks.subspan(at, partition->group_size));
  who.channel = {c.next_channel(), true};
  c.builder().set_replica_count(static_cast<std::uint32_t>(ranks.size()));
  return who;
}

/// The operation that a `reduce_op` names; an average is a sum, divided behind.
constexpr auto reduction_of(auto& c, const Call& call) -> std::optional<hlo::Opcode> {
  const std::string_view name = call.string("reduce_op").value_or("");
  if (name == "sum" || name == "avg") return hlo::Opcode::add;
  if (name == "product") return hlo::Opcode::multiply;
  if (name == "max") return hlo::Opcode::maximum;
  if (name == "min") return hlo::Opcode::minimum;
  if (name == "band") return hlo::Opcode::and_;
  if (name == "bor") return hlo::Opcode::or_;
  if (name == "bxor") return hlo::Opcode::xor_;
  c.unsupported(call, text_of("reduction '", name, "'"));
  return std::nullopt;
}
constexpr auto averaged_over(auto& c, const Call& call, hlo::Value sum, std::int64_t count) -> hlo::Value {
  if (call.string("reduce_op") != "avg") return sum;
  return c.builder().divide(sum, c.full_like(sum, count));
}

}  // namespace detail

struct LowerAllReduce {
  static constexpr std::string_view op = "_c10d_functional.all_reduce";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    const auto code = detail::reduction_of(c, call);
    const auto who = detail::meeters(c, call);
    if (!x.valid() || !code || !who) return {};
    const hlo::Value reduced = b.all_reduce(x, b.scalar_computation(*code, b.dtype(x)), who->groups, who->channel);
    return detail::averaged_over(c, call, reduced, who->group_size);
  }
};

/// The tensors of a group one after another along the first dimension.
struct LowerAllGather {
  static constexpr std::string_view op = "_c10d_functional.all_gather_into_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto who = detail::meeters(c, call);
    if (!who) return {};
    if (c.integer(call, "group_size") != who->group_size)
      return c.fail(call, DiagnosticCode::invalid_process_group, "group_size is not that of the group");
    return c.builder().all_gather(c.tensor(call, "input"), 0, who->groups, who->channel);
  }
};

/// The reduced tensor's part along the first dimension, one for each rank of a group.
struct LowerReduceScatter {
  static constexpr std::string_view op = "_c10d_functional.reduce_scatter_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    const auto code = detail::reduction_of(c, call);
    const auto who = detail::meeters(c, call);
    if (!x.valid() || !code || !who) return {};
    if (c.integer(call, "group_size") != who->group_size)
      return c.fail(call, DiagnosticCode::invalid_process_group, "group_size is not that of the group");
    const hlo::Value part =
        b.reduce_scatter(x, 0, b.scalar_computation(*code, b.dtype(x)), who->groups, who->channel);
    return detail::averaged_over(c, call, part, who->group_size);
  }
};

/// Equal parts along the first dimension, one to each rank of a group.
struct LowerAllToAll {
  static constexpr std::string_view op = "_c10d_functional.all_to_all_single";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto who = detail::meeters(c, call);
    if (!who) return {};
    for (const std::string_view name : {"output_split_sizes", "input_split_sizes"}) {
      const hlo::Dims sizes = c.integers(call, name);
      for (const std::int64_t size : sizes)
        if (size != sizes[0]) return c.unsupported(call, "parts of different sizes");
    }
    return c.builder().all_to_all(c.tensor(call, "input"), 0, who->groups, who->channel);
  }
};

/// The tensor of one rank of each group, by its place in the group: everyone else adds zeros.
struct LowerBroadcast {
  static constexpr std::string_view op = "_c10d_functional.broadcast";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    const std::int64_t source = c.integer(call, "src");
    const auto who = detail::meeters(c, call);
    if (!x.valid() || !who) return {};
    if (source < 0 || source >= who->group_size)
      return c.fail(call, DiagnosticCode::eager_would_raise, "there is no such rank in the group");
    const auto ranks = c.graph().ranks(*c.graph().replica_groups(call.id()));
    Pool<std::int64_t> is_source;
    is_source.resize(static_cast<std::uint32_t>(ranks.size()), 0);
    for (std::size_t at = 0; at < ranks.size(); at += static_cast<std::size_t>(who->group_size))
      is_source[static_cast<std::uint32_t>(ranks[at + static_cast<std::size_t>(source)])] = 1;
    const hlo::Value table = b.constant(
        DType::boolean, hlo::Dims{static_cast<std::int64_t>(ranks.size())}, is_source.view());
    const hlo::Value rank = b.replica_id();
    const hlo::Value mine = b.reshape(b.dynamic_slice(table, Span<const hlo::Value>(&rank, 1), {1}), {});
    const hlo::Value sent = b.select(b.broadcast(mine, b.dims(x)), x, c.full_like(x, 0));
    const hlo::Opcode add = b.dtype(x) == DType::boolean ? hlo::Opcode::or_ : hlo::Opcode::add;
    return b.all_reduce(sent, b.scalar_computation(add, b.dtype(x)), who->groups, who->channel);
  }
};

/// HLO's collectives are waited for by whoever uses their result.
struct LowerWaitTensor {
  static constexpr std::string_view op = "_c10d_functional.wait_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return c.tensor(call, "tensor"); }
};

/// The lowerings of this file.
using CollectiveLowerings = lowerings<LowerAllReduce, LowerAllGather, LowerReduceScatter, LowerAllToAll, LowerBroadcast,
                                      LowerWaitTensor>;

}  // namespace fxpass
