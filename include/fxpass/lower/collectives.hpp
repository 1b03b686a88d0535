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

/// Who meets, of a collective that states how many these are.
constexpr auto meeters_of_stated_size(auto& c, const Call& call) -> std::optional<Meeters> {
  auto who = meeters(c, call);
  if (!who || c.integer(call, "group_size") == who->group_size) return who;
  c.fail(call, DiagnosticCode::invalid_process_group, "group_size is not that of the group");
  return std::nullopt;
}
/// A collective for each tensor in a list, on a channel of its own.
constexpr auto for_each_tensor(auto& c, const Call& call, std::optional<Meeters> who, auto collective)
    -> Pool<hlo::Value> {
  Pool<hlo::Value> results;
  if (!who) return results;
  for (const hlo::Value x : c.tensors(call, "inputs")) {
    if (!results.empty()) who->channel = {c.next_channel(), true};
    results.push_back(collective(x, *who));
  }
  return results;
}

}  // namespace detail

struct LowerAllReduce {
  static constexpr std::string_view op = "_c10d_functional.all_reduce";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "input");
    const auto code = detail::reduction_of(c, call);
    const auto who = detail::meeters(c, call);
    if (!x.valid() || !code || !who) return {};
    return reduced(c, call, x, *code, *who);
  }
  /// `x` reduced over each group.
  static constexpr auto reduced(auto& c, const Call& call, hlo::Value x, hlo::Opcode code,
                                const detail::Meeters& who) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value result = b.all_reduce(x, b.scalar_computation(code, b.dtype(x)), who.groups, who.channel);
    return detail::averaged_over(c, call, result, who.group_size);
  }
};

/// The tensors of a group one after another along the first dimension.
struct LowerAllGather {
  static constexpr std::string_view op = "_c10d_functional.all_gather_into_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto who = detail::meeters_of_stated_size(c, call);
    if (!who) return {};
    return c.builder().all_gather(c.tensor(call, "input"), 0, who->groups, who->channel);
  }
};

/// The reduced tensor's part along the first dimension, one for each rank of a group.
struct LowerReduceScatter {
  static constexpr std::string_view op = "_c10d_functional.reduce_scatter_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "input");
    const auto code = detail::reduction_of(c, call);
    const auto who = detail::meeters_of_stated_size(c, call);
    if (!x.valid() || !code || !who) return {};
    return part(c, call, x, *code, *who);
  }
  /// This rank's part of `x` reduced over its group.
  static constexpr auto part(auto& c, const Call& call, hlo::Value x, hlo::Opcode code,
                             const detail::Meeters& who) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value result = b.reduce_scatter(x, 0, b.scalar_computation(code, b.dtype(x)), who.groups, who.channel);
    return detail::averaged_over(c, call, result, who.group_size);
  }
};

/// The collectives of lists of tensors: HLO has one for each tensor.
struct LowerAllReduceCoalesced {
  static constexpr std::string_view op = "_c10d_functional.all_reduce_coalesced";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto code = detail::reduction_of(c, call);
    return detail::for_each_tensor(c, call, detail::meeters(c, call), [&](hlo::Value x, const detail::Meeters& who) {
      return code ? LowerAllReduce::reduced(c, call, x, *code, who) : hlo::Value{};
    });
  }
};
struct LowerAllGatherCoalesced {
  static constexpr std::string_view op = "_c10d_functional.all_gather_into_tensor_coalesced";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    return detail::for_each_tensor(
        c, call, detail::meeters_of_stated_size(c, call),
        [&](hlo::Value x, const detail::Meeters& who) { return c.builder().all_gather(x, 0, who.groups, who.channel); });
  }
};
struct LowerReduceScatterCoalesced {
  static constexpr std::string_view op = "_c10d_functional.reduce_scatter_tensor_coalesced";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto code = detail::reduction_of(c, call);
    return detail::for_each_tensor(
        c, call, detail::meeters_of_stated_size(c, call), [&](hlo::Value x, const detail::Meeters& who) {
          return code ? LowerReduceScatter::part(c, call, x, *code, who) : hlo::Value{};
        });
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
    // On a channel its groups would be of partitions, and no attribute says otherwise (XLA's GetCollectiveOpGroupMode).
    return c.builder().all_to_all(c.tensor(call, "input"), 0, who->groups);
  }
};

/// The tensor of one rank of each group, by its place in the group: everyone else adds zeros, to the bits of floats, which
/// keeps the sign of zeros and the bits of NaN.
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
    const DType dtype = b.dtype(x);
    const hlo::Value bits = is_floating(dtype) ? b.bitcast_convert(x, integer_of_same_size(dtype)) : x;
    const hlo::Value sent = b.select(b.broadcast(mine, b.dims(x)), bits, c.full_like(bits, 0));
    const hlo::Opcode add = dtype == DType::boolean ? hlo::Opcode::or_ : hlo::Opcode::add;
    const hlo::Value got = b.all_reduce(sent, b.scalar_computation(add, b.dtype(bits)), who->groups, who->channel);
    return is_floating(dtype) ? b.bitcast_convert(got, dtype) : got;
  }
};

/// HLO's collectives are waited for by whoever uses their result.
struct LowerWaitTensor {
  static constexpr std::array<std::string_view, 2> op{"_c10d_functional.wait_tensor",
                                                      "_c10d_functional._wrap_tensor_autograd"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.tensor(call, call.has("tensor") ? "tensor" : "input");
  }
};

/// The lowerings of this file.
using CollectiveLowerings = lowerings<LowerAllReduce, LowerAllGather, LowerReduceScatter, LowerAllReduceCoalesced,
                                      LowerAllGatherCoalesced, LowerReduceScatterCoalesced, LowerAllToAll,
                                      LowerBroadcast, LowerWaitTensor>;

}  // namespace fxpass
