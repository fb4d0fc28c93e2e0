"""OAuth for remote servers, on the SDK's client.

What the SDK's provider lacks is added here: tokens whose age survives a restart, the authorization server's
address kept with them, one refresh at a time between processes, and requests that don't wait for each other.
It overrides methods of the SDK that are not public; tests/upstream/test_auth.py holds it to them.
"""

import time
import webbrowser
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
import anyio.lowlevel
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared._httpx_utils import next_request_within_origin
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from satchel.config import Target
from satchel.config.hiding import spelled
from satchel.errors import NeedsAuthorizationError
from satchel.upstream.credentials import Credentials
from satchel.upstream.failures import describe, needs_authorization, place
from satchel.upstream.http import Exchange, make_client
from satchel.upstream.redacting import hide_from_logs, redact

CALLBACK_PATH = "/callback"
LOGIN_TIMEOUT = 300.0
_MOST_HIDDEN = 20  # secrets of one login, renewed every so often
_REFRESHING = 15.0  # seconds that the exchange of a token may take
_LONGEST_ANSWER = 1024 * 1024
_REDIRECTS = 5
_EARLY = 10.0  # seconds before its end at which a token counts as expired
_PAGE = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"


class _Storage:
    """The SDK's TokenStorage on our credentials. What passes through it is told to nobody."""

    def __init__(self, target: Target, credentials: Credentials) -> None:
        self._target = target
        self._credentials = credentials

    async def get_tokens(self) -> OAuthToken | None:
        stored = self._credentials.load().get("tokens")
        tokens = OAuthToken.model_validate(stored) if stored else None
        if tokens is not None:
            self._hide(tokens.access_token, tokens.refresh_token)
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._hide(tokens.access_token, tokens.refresh_token)
        expires_at = time.time() + tokens.expires_in if tokens.expires_in is not None else None
        self._credentials.save(
            tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=expires_at
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        stored = self._credentials.load().get("client")
        client = OAuthClientInformationFull.model_validate(stored) if stored else None
        if client is not None:
            self._hide(client.client_secret)
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._hide(client_info.client_secret)
        self._credentials.save(client=client_info.model_dump(mode="json", exclude_none=True))

    def _hide(self, *granted: str | None) -> None:
        """Those before stay hidden for a while: an answer that was late may still have them."""
        known, used = self._target.tokens, [secret for secret in granted if secret]
        if set(used) - set(known):
            hide_from_logs(spelled(used))
        known[:] = [*(secret for secret in known if secret not in used), *used][-_MOST_HIDDEN:]


class Authorization(OAuthClientProvider):
    """Adds a token to each request, refreshes it in time, and logs in where `login` allows it."""

    def __init__(self, target: Target, credentials: Credentials, login: "Login | None" = None) -> None:
        hints = target.oauth
        port = login.port if login else 0
        self._target = target
        self._credentials = credentials
        self._login = login
        self._scopes = " ".join(hints.scopes) if hints and hints.scopes else None
        super().__init__(
            target.url,
            OAuthClientMetadata.model_validate(
                {
                    "client_name": "Satchel",
                    "redirect_uris": [f"http://127.0.0.1:{port}{CALLBACK_PATH}"],
                    "grant_types": ["authorization_code", "refresh_token"],
                    "token_endpoint_auth_method": "none",
                    "scope": self._scopes,
                }
            ),
            _Storage(target, credentials),
            redirect_handler=login.open if login else None,
            callback_handler=login.wait if login else None,
        )

    async def _initialize(self) -> None:
        await super()._initialize()
        stored = self._credentials.load()
        context = self.context
        context.token_expiry_time = stored["expires_at"] - _EARLY if stored.get("expires_at") else None
        if stored.get("metadata"):
            context.oauth_metadata = OAuthMetadata.model_validate(stored["metadata"])
        if stored.get("resource"):
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(stored["resource"])
        hints = self._target.oauth
        if (
            hints
            and hints.clientId
            and (context.client_info is None or context.client_info.client_id != hints.clientId)
        ):
            context.client_info = OAuthClientInformationFull.model_validate(
                {
                    "client_id": hints.clientId,
                    "redirect_uris": context.client_metadata.redirect_uris,
                    "token_endpoint_auth_method": "none",
                }
            )

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        metadata, resource = self.context.oauth_metadata, self.context.protected_resource_metadata
        self._credentials.save(
            url=self._target.url,
            metadata=metadata.model_dump(mode="json", exclude_none=True) if metadata else None,
            resource=resource.model_dump(mode="json", exclude_none=True) if resource else None,
        )

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        if self._scopes:  # what the entry asks for goes before what the server suggests
            self.context.client_metadata.scope = self._scopes
        return await super()._perform_authorization_code_grant()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self._initialized:
            await self._initialize()
        response: httpx2.Response | None = None
        for attempt in range(2):
            used = self._access_token()
            if not self.context.is_token_valid() or attempt == 1:
                async with self._credentials.exclusive():
                    await self._initialize()  # another process may have refreshed it meanwhile
                    fresh = self.context.is_token_valid() and self._access_token() != used
                    if not fresh and self.context.can_refresh_token():
                        await self._refresh()
            if not self.context.is_token_valid():
                break
            self._add_auth_header(request)
            response = yield request
            if response.status_code != 401:
                break
        if response is not None and response.status_code != 401 and not _wants_more_scope(response):
            return
        if self._login is None:
            await anyio.lowlevel.checkpoint_if_cancelled()
            raise needs_authorization(self._target)
        flow = super()._auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            return
        except OAuthFlowError as error:
            raise self._no_login(error) from error
        finally:
            await flow.aclose()

    def _no_login(self, error: OAuthFlowError) -> NeedsAuthorizationError:
        """Why nobody could log in. A new attempt would end in the same way, so it is not the hint."""
        name, address = self._target.name, place(self._target)
        hint = (
            "write its key or token into `headers` of its entry, such as "
            '"headers": {"Authorization": "Bearer ${TOKEN}"}'
        )
        if self.context.oauth_metadata is None:
            message = f"{address} wants a key or token, and offers no login (no OAuth metadata can be read)"
            return NeedsAuthorizationError(name, message, hint=hint)
        said = redact(describe(error), self._target.secrets)
        if isinstance(error, OAuthRegistrationError):
            hint = f"register a client there and write its id as oauth.clientId, or {hint}"
        return NeedsAuthorizationError(name, f"{address}: the login failed: {said}", hint=hint)

    async def _refresh(self) -> None:
        """Exchange the refresh token, even if the caller gives up: the request uses it up.

        So not as a part of the request that wanted it, which ends when its call is cancelled.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()  # nor is it begun for one that was given up already
        request = await self._refresh_token()
        request.headers["Accept-Encoding"] = "identity"
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(_REFRESHING):
                async with (
                    make_client(Exchange(_LONGEST_ANSWER), {}) as client,
                    _sent(client, request) as response,
                ):
                    await self._handle_refresh_response(response)
        except (TimeoutError, httpx2.TransportError) as error:
            await anyio.lowlevel.checkpoint_if_cancelled()  # a caller that has given up gets no answer
            if isinstance(error, TimeoutError):
                raise httpx2.ReadTimeout(f"no new token within {_REFRESHING:g} s") from error
            raise

    def _access_token(self) -> str | None:
        return self.context.current_tokens.access_token if self.context.current_tokens else None


@asynccontextmanager
async def _sent(client: httpx2.AsyncClient, request: httpx2.Request) -> AsyncGenerator[httpx2.Response]:
    """The answer to a request, with redirects followed as the SDK does it: within the origin."""
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        for _ in range(_REDIRECTS):
            follow = next_request_within_origin(response)
            if follow is None:
                break
            await response.aclose()
            response = await client.send(follow, stream=True, follow_redirects=False)
        yield response
    finally:
        await response.aclose()


def _wants_more_scope(response: httpx2.Response) -> bool:
    return (
        response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    )


class Login:
    """A person's login in the browser: shows the address, and waits for the redirect on a loopback port."""

    def __init__(self, server: str, listener: Any, show: Callable[[str], None], *, browser: bool) -> None:
        self.port: int = listener.extra(anyio.abc.SocketAttribute.local_port)
        self._server = server
        self._listener = listener
        self._show = show
        self._browser = browser
        self._state: str | None = None
        self._tasks = anyio.create_task_group()
        self._send, self._receive = anyio.create_memory_object_stream[AuthorizationCodeResult | str](1)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._listener.serve, self._answer)
        return self

    async def __aexit__(self, *details: Any) -> None:
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        await self._listener.aclose()
        self._send.close()
        self._receive.close()

    async def open(self, url: str) -> None:
        self._state = parse_qs(urlsplit(url).query).get("state", [None])[0]
        self._show(url)
        if self._browser:
            # In the background: a browser in the terminal returns only when it is closed.
            self._tasks.start_soon(
                partial(anyio.to_thread.run_sync, abandon_on_cancel=True), webbrowser.open, url
            )

    async def wait(self) -> AuthorizationCodeResult:
        outcome: AuthorizationCodeResult | str = f"nobody logged in within {LOGIN_TIMEOUT:g} s"
        with anyio.move_on_after(LOGIN_TIMEOUT):
            outcome = await self._receive.receive()
        if isinstance(outcome, str):
            raise NeedsAuthorizationError(self._server, f"the login failed: {outcome}")
        return outcome

    async def _answer(self, stream: anyio.abc.ByteStream) -> None:
        """One request of the browser. Only the redirect of this login counts; anyone can reach the port."""
        odd = (anyio.BrokenResourceError, anyio.EndOfStream, anyio.WouldBlock, ValueError)
        with suppress(*odd), anyio.move_on_after(10):
            async with stream:
                first = (await stream.receive(65536)).split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                target = urlsplit(first[1]) if len(first) > 1 else urlsplit("")
                query = {key: values[0] for key, values in parse_qs(target.query).items()}
                if target.path != CALLBACK_PATH or self._state is None:
                    await stream.send(_page("404 Not Found", "Nothing here."))
                elif not compare_digest(query.get("state", "").encode(), self._state.encode()):
                    await stream.send(_page("400 Bad Request", "This is not the login that is awaited."))
                elif "code" in query:
                    await stream.send(_page("200 OK", "Done. You can close this window and go back."))
                    self._send.send_nowait(AuthorizationCodeResult.model_validate(query))
                else:
                    await stream.send(_page("200 OK", "The login was refused. You can close this window."))
                    reason = query.get("error_description") or query.get("error") or "no code came back"
                    self._send.send_nowait(reason)


def _page(status: str, text: str) -> bytes:
    body = f"<!doctype html><title>Satchel</title><p>{text}</p>".encode()
    return _PAGE % (status.encode(), len(body), body)


async def open_login(
    target: Target, credentials: Credentials, show: Callable[[str], None], *, browser: bool
) -> Login:
    """Listen where the client is registered to be called back, else on any free port."""
    hints = target.oauth
    wanted = (hints.callbackPort if hints else None) or _registered_port(credentials)
    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=wanted or 0)
    except OSError:
        if hints and hints.callbackPort:
            raise NeedsAuthorizationError(
                target.name,
                f"port {hints.callbackPort} for the login's redirect is in use",
                hint="free it, or change oauth.callbackPort",
            ) from None
        credentials.save(client=None)  # registered for a port that is taken: register again
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    return Login(target.name, listener, show, browser=browser)


def _registered_port(credentials: Credentials) -> int | None:
    uris = credentials.load().get("client", {}).get("redirect_uris") or [""]
    return urlsplit(str(uris[0])).port


def stored_authorization(
    directory: Path, store: Literal["file", "keyring"] = "file"
) -> Callable[[Target], httpx2.Auth | None]:
    """For connections without a person: uses and refreshes the tokens that a login left, if there are any."""

    def authorize(target: Target) -> httpx2.Auth | None:
        credentials = Credentials(directory, target.url, store)
        return Authorization(target, credentials) if credentials.load().get("tokens") else None

    return authorize
