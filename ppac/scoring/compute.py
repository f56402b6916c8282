"""Where and with how much training, tuning and evaluation run."""

from __future__ import annotations

import torch
from pydantic import Field

from ppac.core.config import Section
from ppac.core.errors import Problem


class ComputeConfig(Section):
    device: str
    threads: int = Field(gt=0)
    memory_mb: int = Field(gt=0)

    def use(self) -> torch.device:
        """Set torch up so that on CPU equal threads and seed give equal bytes."""
        torch.set_num_threads(self.threads)
        # The same as use_deterministic_algorithms, which takes a second to import a compiler.
        torch.set_deterministic_debug_mode("error")
        # Repeatability does not need new memory to be filled, which takes half an epoch's time.
        setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010
        if self.device != "auto":
            try:
                return torch.empty(0, device=self.device).device
            except (RuntimeError, AssertionError) as error:
                reason = str(error).splitlines()[0]
                raise Problem(
                    f"params.yaml: 'compute.device' is {self.device!r}: {reason}"
                ) from None
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
