// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-error: one sentence
template <int Depth>
struct Nested : Nested<Depth - 1> {};
template <>
struct Nested<0> {
#ifdef FXPASS_CONTROL
  static constexpr bool right = true;
#else
  static constexpr bool right = false;
#endif
};
template <int Depth>
constexpr bool check() {
  if constexpr (Depth == 0) {
    static_assert(Nested<Depth>::right, "one sentence");
    return true;
  } else {
    return check<Depth - 1>();
  }
}
static_assert(check<40>());
