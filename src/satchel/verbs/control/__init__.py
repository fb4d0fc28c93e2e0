"""What people decide: which data may go where, and which data models don't see."""

from satchel.verbs.control.flows import Flows
from satchel.verbs.privacy.boundary import Privacy

__all__ = ["Flows", "Privacy"]
