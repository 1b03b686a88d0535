# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of torch.library that tests define."""

import torch


class CustomOperators:
    """Operators of one namespace, and their schemas as `fxpassc --custom-op` takes them."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.library = torch.library.Library(namespace, "FRAGMENT")
        self.schemas = []

    def define(self, signature, implementation, fake=None, tags=()):
        name = signature.split("(")[0]
        self.library.define(signature, tags=tags)
        self.library.impl(name, implementation, "CompositeExplicitAutograd")
        if fake is not None:
            torch.library.register_fake(f"{self.namespace}::{name}", fake, lib=self.library)
        self.schemas.append(f"{self.namespace}::{signature}")

    def options(self, *names):
        """What states the operators called so, or all of them, to fxpassc."""
        return [
            argument
            for schema in self.schemas
            if not names or schema.split("(")[0].removeprefix(f"{self.namespace}::") in names
            for argument in ("--custom-op", schema)
        ]
