// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// Which ranks form the groups that collectives name. PyTorch's graphs hold group names only.

namespace fxpass {

/// Process groups by name, each as a complete partition of the world: the groups of all ranks, not only of
/// one's own.
///
///     ProcessGroups groups(4);
///     const Status known = groups.add("tp", {{0, 1}, {2, 3}});
///     const auto passes = get_default_pass_manager({.groups = &groups});
class ProcessGroups {
 public:
  /// A partition of the world.
  struct Group {
    Text name;                     ///< as collectives have it
    Pool<std::int64_t> ranks;      ///< group by group; order inside a group decides which shard a rank owns
    std::uint32_t group_size = 0;  ///< ranks in each group

    friend constexpr auto operator==(const Group&, const Group&) -> bool = default;
  };

  /// No groups, and a world of unknown size.
  constexpr ProcessGroups() = default;

  /// No groups, and a world of that many ranks.
  constexpr explicit ProcessGroups(std::int64_t world_size) : world_size_(world_size) {}

  /// Number of ranks; 0 if nobody said.
  [[nodiscard]] constexpr auto world_size() const -> std::int64_t { return world_size_; }
  /// Says how many ranks there are.
  constexpr void set_world_size(std::int64_t size) { world_size_ = size; }

  /// Registers `name` as the partition `groups`. The groups are brought into canonical order: by first rank, order
  /// inside a group kept. Needs groups of equal size in which each rank of the world stands exactly once; the world is
  /// as large as the partition unless `world_size` says otherwise. A name stands for one partition: to add the same
  /// again is harmless, another one is refused.
  constexpr auto add(std::string_view name, Span<const std::vector<std::int64_t>> groups) -> Status {
    std::vector<std::vector<std::int64_t>> sorted(groups.begin(), groups.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i].empty() || sorted[i].size() != sorted[0].size())
        return invalid(name, "its groups have different sizes, or one is empty");
    if (sorted.empty()) return invalid(name, "it has no groups");
    for (std::size_t i = 1; i < sorted.size(); ++i)  // by first rank; partitions are short
      for (std::size_t k = i; k > 0 && sorted[k].front() < sorted[k - 1].front(); --k) std::swap(sorted[k], sorted[k - 1]);

    Group group;
    group.name = Text(name);
    group.group_size = static_cast<std::uint32_t>(sorted[0].size());
    for (const auto& g : sorted)
      for (const std::int64_t rank : g) group.ranks.push_back(rank);
    const std::int64_t world = world_size_ != 0 ? world_size_ : group.ranks.size();
    Pool<std::uint8_t> seen;
    seen.resize(static_cast<std::uint32_t>(world), 0);
    for (const std::int64_t rank : group.ranks) {
      if (rank < 0 || rank >= world) return invalid(name, text_of("rank ", rank, " is not in a world of ", world));
      if (seen[static_cast<std::uint32_t>(rank)]++ != 0) return invalid(name, text_of("rank ", rank, " stands twice"));
    }
    if (group.ranks.size() != world)
      return invalid(name, text_of("it names ", group.ranks.size(), " of ", world,
                                   " ranks; XLA needs the groups of all ranks"));
    for (const Group& g : groups_)
      if (g.name == name) {
        if (g == group) return {};
        return invalid_process_group(text_of("process group '", name, "' was given before with other ranks"));
      }
    groups_.push_back(std::move(group));
    return {};
  }
  constexpr auto add(std::string_view name, std::initializer_list<std::vector<std::int64_t>> groups) -> Status {
    return add(name, Span<const std::vector<std::int64_t>>(groups.begin(), groups.size()));
  }

  /// The partition of that name; null if unknown. O(groups).
  [[nodiscard]] constexpr auto find(std::string_view name) const -> const Group* {
    for (const Group& g : groups_)
      if (g.name == name) return &g;
    return nullptr;
  }
  /// All partitions, in the order in which they were added.
  [[nodiscard]] constexpr auto groups() const -> Span<const Group> { return groups_; }

 private:
  [[nodiscard]] static constexpr auto invalid_process_group(Text message) -> Status {
    return Diagnostic::error(DiagnosticCode::invalid_process_group, std::move(message));
  }
  [[nodiscard]] static constexpr auto invalid(std::string_view name, const Text& why) -> Status {
    return invalid_process_group(text_of("process group '", name, "' is no partition of the world: ", why));
  }

  std::int64_t world_size_ = 0;
  std::vector<Group> groups_;
};

}  // namespace fxpass
