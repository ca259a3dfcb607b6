# SPDX-License-Identifier: Apache-2.0
"""The ports that a launch uses: a port that the user selects, or a rail policy for several ports."""

from collections.abc import Mapping, Sequence

from reframe.core.builtins import variable

from fabricbench.site.stacks import ONE_PORT, PORT_WORD

from .scale import ScaleBase


class PortsBase(ScaleBase):
    """Selects the ports of a launch."""

    port: str = variable(str, value="", loggable=True)
    """The fabric's port that all ranks use; empty for the default of site and stack."""

    @property
    def selected_port(self) -> str:
        """The one port that all ranks are set to use; empty if there is none."""
        return self.port

    @property
    def rail_policy(self) -> tuple[str, Sequence[str]] | None:
        """The rail policy (``site.stacks.RAIL_POLICIES``) and its ports; None for the default of site and stack."""
        return (ONE_PORT, [self.selected_port]) if self.selected_port else None

    @property
    def rail_settings(self) -> Mapping[str, Mapping[str, str]]:
        """The stack's variables on this transport by rail policy, with placeholders."""
        return self.stack.rails.get(self.fabric.transport, {})

    @property
    def supports_port_selection(self) -> bool:
        """Whether the stack has variables that select one port by its name."""
        return any(PORT_WORD in value for value in self.rail_settings.get(ONE_PORT, {}).values())

    def rail_variables(self) -> dict[str, str]:
        """Returns the variables of the rail policy, with the names of the ports filled in."""
        if self.rail_policy is None:
            return {}
        policy, ports = self.rail_policy
        words = {"{rails}": str(self.fabric.rail_count), "{ports}": ",".join(ports), PORT_WORD: "".join(ports[:1])}
        settings = dict(self.rail_settings[policy])
        for word, value in words.items():
            settings = {name: text.replace(word, value) for name, text in settings.items()}
        return settings

    def lane_variables(self) -> dict[str, str]:
        """Returns the environment variables of the launch; those of the rail policy override the lane's."""
        return super().lane_variables() | self.rail_variables()

    def lane_skip(self) -> tuple[str, str] | None:
        return super().lane_skip() or self.port_skip()

    def port_skip(self) -> tuple[str, str] | None:
        """Returns the reason why the selected port cannot be used and a hint; None if it can."""
        stack, fabric = self.stack.name, self.fabric
        if not self.port:
            return None
        if self.stack.level != "mpi":
            reason = f"{stack} has no option for a port: its programs listen at an address"
            return reason, "declare a fabric for the port, with its address (addresses=[…])"
        if not fabric.ports:
            return (
                f"the fabric {fabric.name} has no named ports",
                "name them in the site's settings.py: Fabric(ports=[…])",
            )
        if self.port not in fabric.ports:
            return (
                f"the fabric {fabric.name} has no port '{self.port[:40]}'",
                f"choose one of {', '.join(fabric.ports)}",
            )
        if not self.supports_port_selection:
            reason = f"no settings that restrict {stack} to one port on {fabric.transport}"
            return reason, f"add them to {stack} in site/stacks.py (rails)"
        return None
