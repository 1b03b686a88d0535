// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/argument.hpp>
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/editor.hpp>
#include <fxpass/graph/geometry.hpp>
#include <fxpass/graph/graph.hpp>
#include <fxpass/graph/names.hpp>
#include <fxpass/graph/node.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/resolve.hpp>
#include <fxpass/graph/users.hpp>
#include <fxpass/graph/verify.hpp>
