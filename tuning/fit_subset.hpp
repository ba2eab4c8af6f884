#pragma once

#include <cstddef>

#include "tuning/fit_data.hpp"

namespace softmax_dispatch::tuning {

/// The data with the times of the candidates of at most `most` compiled kernels, which together lose the least at the
/// measured shapes: loss is the time of the fastest of them over that of the fastest of all, and a large one weighs
/// more than several small ones of the same product; so does one at a long shape. Candidates of the same code, which
/// differ in how they are launched, are one kernel. One kernel added after another, each the one that saves the most,
/// of equals the first; then each is exchanged for another while that saves something. The times of all others are left
/// out, so that a fit chooses among these. That of the simplest candidate without a limit on N is always among them.
/// All where there are no more than `most`.
FitData fastest_few(const FitData& data, std::size_t most);

}  // namespace softmax_dispatch::tuning
