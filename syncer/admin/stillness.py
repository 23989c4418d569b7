"""Stillness: the dynamic settings with which no bundle moves or splits by itself."""

from __future__ import annotations

from typing import Final

SHEDDING: Final = "loadBalancerSheddingEnabled"
STILL: Final = {
    SHEDDING: "false",
    "loadBalancerAutoBundleSplitEnabled": "false",
    "loadBalancerAutoUnloadSplitBundlesEnabled": "false",
}
"""They hold for the modular and for the extensible manager, from the next round on."""
