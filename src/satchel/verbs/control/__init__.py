"""What people decide: which data may go where, and which data models don't see."""

from satchel.verbs.control.flows import Flows
from satchel.verbs.privacy.boundary import Privacy
from satchel.verbs.privacy.opening import privacy_on

__all__ = ["Flows", "Privacy", "privacy_on"]
