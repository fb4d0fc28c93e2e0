"""An OAuth 2.1 authorization server, and an MCP server that wants its tokens.

    python oauth.py [key=value …]

They listen on two ports of 127.0.0.1, so a client has to discover and remember where the authorization server
is. Prints `PORT n`, the port of the MCP server, and ends when its stdin does. It is written by hand, not with
the SDK, so that a client of the SDK is not tested with its own reading of the standards. What a server may
demand, it demands: S256, `resource` (RFC 8707), a scope, single use of codes, rotation of refresh tokens.
The authorization endpoint asks nobody: it redirects at once.

    log=PATH       one line is appended per event: `register`, `authorize`, `token GRANT_TYPE`, `reuse` when
                   a code or refresh token comes a second time, which revokes all that came from it
    deny=1         authorization is answered with access_denied
    ttl=N          seconds that access tokens live (3600)
    refresh=0      no refresh tokens
    moved=1        the token endpoint redirects to another one of the same server
    slow=N         seconds that the answer to a refresh takes, after the token is spent
    client_id=…    the only client, with client_secret=… or without; registration is refused
    scope=…        what the MCP server requires (mcp:use); `profile` is granted too, but isn't enough
    exact=1        redirect URIs are compared with their port (RFC 8252 wants any port on loopback)
    iss=… state=…  sent back instead of the right one

The MCP server has the tools of remote.py.
"""

import base64
import hashlib
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

import anyio
from remote import Options, guarded, listen, log, mcp_server, parse, port_of, serve
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp"
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
NO_STORE = {"Cache-Control": "no-store"}
CODE_SECONDS = 60


class OAuthError(Exception):
    def __init__(self, error: str, description: str = "") -> None:
        super().__init__(description)
        self.error = error


@dataclass(frozen=True, kw_only=True)
class Client:
    id: str
    redirect_uris: tuple[str, ...]
    secret: str | None = None


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What was authorised. Its code and all its tokens live and die together."""

    client_id: str
    scopes: frozenset[str]
    redirect_uri: str
    challenge: str
    family: str = field(default_factory=secrets.token_urlsafe)


class AuthorizationServer:
    def __init__(self, options: Options, issuer: str, resource: str) -> None:
        self.options = options
        self.issuer = issuer
        self.resource = resource
        self.required = frozenset(options.get("scope", "mcp:use").split())
        self.supported = self.required | {"profile"}
        self.clients: dict[str, Client] = {}
        self.codes: dict[str, tuple[Grant, float]] = {}
        self.access_tokens: dict[str, tuple[Grant, float]] = {}
        self.refresh_tokens: dict[str, Grant] = {}
        self.spent: dict[str, str] = {}
        if client_id := options.get("client_id"):
            self.clients[client_id] = Client(
                id=client_id, redirect_uris=("http://127.0.0.1",), secret=options.get("client_secret")
            )

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/moved", self.moved, methods=["POST"]),
            ]
        )

    async def metadata(self, request: Request) -> Response:
        body: dict[str, object] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/{'moved' if self.options.get('moved') else 'token'}",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
            "scopes_supported": sorted(self.supported),
            "authorization_response_iss_parameter_supported": True,
        }
        if "client_id" not in self.options:
            body["registration_endpoint"] = f"{self.issuer}/register"
        return JSONResponse(body)

    # Registration (RFC 7591)

    async def register(self, request: Request) -> Response:
        log(self.options, "register")
        if "client_id" in self.options:
            return failure("access_denied", "Clients are registered by hand", 403)
        body: dict[str, Any] = await request.json()
        uris = [str(uri) for uri in body.get("redirect_uris") or ()]
        if not uris or not all(urlsplit(uri).hostname in LOOPBACK for uri in uris):
            return failure("invalid_redirect_uri", "Give redirect_uris on loopback", 400)
        method = body.get("token_endpoint_auth_method", "client_secret_basic")
        client = Client(
            id=secrets.token_urlsafe(8),
            redirect_uris=tuple(uris),
            secret=None if method == "none" else secrets.token_urlsafe(),
        )
        self.clients[client.id] = client
        issued: dict[str, object] = {"client_id": client.id, "token_endpoint_auth_method": method}
        if client.secret:
            issued |= {"client_secret": client.secret, "client_secret_expires_at": 0}
        return JSONResponse(body | issued, 201, NO_STORE)

    # Authorization

    async def authorize(self, request: Request) -> Response:
        log(self.options, "authorize")
        query = request.query_params
        client = self.clients.get(query.get("client_id", ""))
        redirect_uri = query.get("redirect_uri", "")
        if client is None or not self.is_registered(client, redirect_uri):
            return PlainTextResponse("Unknown client or redirect_uri", 400)  # never redirect to a stranger
        try:
            answer = {"code": self.code_for(client, redirect_uri, query)}
        except OAuthError as error:
            answer = {"error": error.error, "error_description": str(error)}
        if "state" in query:
            answer["state"] = self.options.get("state", query["state"])
        answer["iss"] = self.options.get("iss", self.issuer)
        separator = "&" if "?" in redirect_uri else "?"
        return RedirectResponse(redirect_uri + separator + urlencode(answer), 302, NO_STORE)

    def is_registered(self, client: Client, uri: str) -> bool:
        if "client_id" in self.options:
            return urlsplit(uri).hostname in LOOPBACK
        if "exact" in self.options:
            return uri in client.redirect_uris
        return any(without_port(uri) == without_port(known) for known in client.redirect_uris)

    def code_for(self, client: Client, redirect_uri: str, query: Mapping[str, str]) -> str:
        if "deny" in self.options:
            raise OAuthError("access_denied", "The user said no")
        if query.get("response_type") != "code":
            raise OAuthError("unsupported_response_type")
        if query.get("code_challenge_method") != "S256" or len(query.get("code_challenge", "")) != 43:
            raise OAuthError("invalid_request", "Give a code_challenge by S256")
        self.check_resource(query)
        scopes = frozenset(query.get("scope", "").split())
        if not scopes or not scopes <= self.supported:
            raise OAuthError("invalid_scope", f"Ask for some of {sorted(self.supported)}")
        grant = Grant(
            client_id=client.id,
            scopes=scopes,
            redirect_uri=redirect_uri,
            challenge=query["code_challenge"],
        )
        code = secrets.token_urlsafe()
        self.codes[code] = grant, time.monotonic() + CODE_SECONDS
        return code

    def check_resource(self, parameters: Mapping[str, str]) -> None:
        if parameters.get("resource") != self.resource:
            raise OAuthError("invalid_target", f"The resource is {self.resource}")

    # Tokens

    async def moved(self, request: Request) -> Response:
        return RedirectResponse("/token", 307)

    async def token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        log(self.options, f"token {form.get('grant_type')}")
        try:
            client = self.authenticated(request, form)
            self.check_resource(form)
            match form.get("grant_type"):
                case "authorization_code":
                    grant = self.redeem_code(client, form)
                case "refresh_token":
                    grant = self.redeem_refresh_token(client, form)
                    await anyio.sleep(float(self.options.get("slow", 0)))
                case _:
                    raise OAuthError("unsupported_grant_type")
        except OAuthError as error:
            return failure(error.error, str(error), 401 if error.error == "invalid_client" else 400)
        return JSONResponse(self.issue(grant), headers=NO_STORE)

    def authenticated(self, request: Request, form: Mapping[str, str]) -> Client:
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            name, _, secret = base64.b64decode(credentials).decode().partition(":")
            name, secret = unquote(name), unquote(secret)
        else:
            name, secret = form.get("client_id", ""), form.get("client_secret")
        client = self.clients.get(name)
        if client is None or client.secret != secret:
            raise OAuthError("invalid_client", "Unknown client or wrong secret")
        return client

    def redeem_code(self, client: Client, form: Mapping[str, str]) -> Grant:
        code = form.get("code", "")
        self.refuse_spent(code)
        grant, expires = self.codes.pop(code, (None, 0.0))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            grant is None
            or expires < time.monotonic()
            or grant.client_id != client.id
            or grant.redirect_uri != form.get("redirect_uri")
            or grant.challenge != challenge
        ):
            raise OAuthError("invalid_grant", "The code is not good, or not for you")
        self.spent[code] = grant.family
        return grant

    def redeem_refresh_token(self, client: Client, form: Mapping[str, str]) -> Grant:
        token = form.get("refresh_token", "")
        self.refuse_spent(token)
        grant = self.refresh_tokens.get(token)
        if grant is None or grant.client_id != client.id:
            raise OAuthError("invalid_grant", "The refresh token is not good, or not for you")
        if not frozenset(form.get("scope", "").split()) <= grant.scopes:
            raise OAuthError("invalid_scope", "More than was granted")
        del self.refresh_tokens[token]
        self.spent[token] = grant.family
        return grant

    def refuse_spent(self, secret: str) -> None:
        """A second use means a leak, or two clients that don't know of each other: all of it is revoked."""
        if (family := self.spent.get(secret)) is None:
            return
        log(self.options, "reuse")
        self.refresh_tokens = {
            token: grant for token, grant in self.refresh_tokens.items() if grant.family != family
        }
        self.access_tokens = {
            token: (grant, expires)
            for token, (grant, expires) in self.access_tokens.items()
            if grant.family != family
        }
        raise OAuthError("invalid_grant", "Used before; everything that came from it is revoked")

    def issue(self, grant: Grant) -> dict[str, object]:
        lifetime = float(self.options.get("ttl", 3600))
        access = secrets.token_urlsafe()
        self.access_tokens[access] = grant, time.monotonic() + lifetime
        answer: dict[str, object] = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": int(lifetime),
            "scope": " ".join(sorted(grant.scopes)),
        }
        if self.options.get("refresh") != "0":
            refresh = secrets.token_urlsafe()
            self.refresh_tokens[refresh] = grant
            answer["refresh_token"] = refresh
        return answer

    # The protected resource

    def refusal(self, request: HTTPConnection) -> Response | None:
        """What the MCP server answers to a request without a good token (RFC 6750, RFC 9728)."""
        if request.url.path == RESOURCE_METADATA:
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        grant, expires = self.access_tokens.get(token, (None, 0.0))
        if scheme != "Bearer":
            return self.challenge(401)
        if grant is None or expires <= time.monotonic():
            return self.challenge(401, "invalid_token")
        if not self.required <= grant.scopes:
            return self.challenge(403, "insufficient_scope")
        return None

    def challenge(self, status: int, error: str | None = None) -> Response:
        metadata = self.resource.removesuffix("/mcp") + RESOURCE_METADATA
        parts = {"resource_metadata": metadata, "scope": " ".join(sorted(self.required))}
        if error:
            parts["error"] = error
        value = ", ".join(f'{key}="{text}"' for key, text in parts.items())
        return PlainTextResponse(error or "unauthorized", status, {"WWW-Authenticate": f"Bearer {value}"})

    async def resource_metadata(self, request: Request) -> Response:
        return JSONResponse(
            {
                "resource": self.resource,
                "authorization_servers": [self.issuer],
                "scopes_supported": sorted(self.required),
                "bearer_methods_supported": ["header"],
            }
        )


def failure(error: str, description: str, status: int) -> Response:
    return JSONResponse({"error": error, "error_description": description}, status, NO_STORE)


def without_port(uri: str) -> str:
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.hostname or "").geturl() if parts.hostname in LOOPBACK else uri


def main() -> None:
    options = parse(sys.argv[1:])
    resource_listener, issuer_listener = listen(), listen()
    authorization = AuthorizationServer(
        options,
        issuer=f"http://127.0.0.1:{port_of(issuer_listener)}",
        resource=f"http://127.0.0.1:{port_of(resource_listener)}/mcp",
    )
    server = mcp_server({})
    server.custom_route(RESOURCE_METADATA, methods=["GET"])(authorization.resource_metadata)
    serve(
        (resource_listener, guarded(server.streamable_http_app(), authorization.refusal)),
        (issuer_listener, authorization.app()),
    )


if __name__ == "__main__":
    main()
