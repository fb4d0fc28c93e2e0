"""Remarks for the person who runs a server: logged once, when they become true."""

import logging
import operator

from satchel.verbs.satchel import Satchel

logger = logging.getLogger(__name__)


class Remarks:
    """Looks at the configuration and the servers as they are now."""

    def __init__(self, satchel: Satchel) -> None:
        self._satchel = satchel
        self._seen: tuple[object, ...] = ()
        self._said: set[str] = set()

    def look(self) -> None:
        """Say what is new. What has gone away is said again if it comes back."""
        satchel = self._satchel
        seen = (satchel.catalog, satchel.configuration, satchel.project.configuration_error)
        if len(seen) == len(self._seen) and all(map(operator.is_, seen, self._seen)):
            return
        self._seen = seen
        remarks = satchel.project.remarks()
        for text in remarks:
            if text not in self._said:
                logger.warning("%s", text)
        self._said = set(remarks)
