"""The verbs for agents: for the people who keep them, and for those who have them work."""

from satchel.verbs.agents.agents import Agents
from satchel.verbs.agents.conversations import Conversations
from satchel.verbs.agents.packages import SkillPackages

__all__ = ["Agents", "Conversations", "SkillPackages"]
