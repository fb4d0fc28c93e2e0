/**
 * The errors a program can catch.
 *
 * Error
 * ├── ToolError            a call failed; carries server, tool, reason and kind
 * ├── PermissionError      a call that this program's agent may not make
 * └── NotConnectedError    nothing carries this program's calls to Satchel
 */

/**
 * A call that failed.
 *
 * `kind` is tool (it reported an error), arguments (they don't fit; nothing was sent), not_found, server (it
 * can't be used), timeout, connection, protocol, input, limit, request or internal. `message` has the names
 * and the reason.
 */
export class ToolError extends Error {
  readonly server: string;
  readonly tool: string;
  readonly reason: string;
  readonly kind: string;

  constructor(server: string, tool: string, reason: string, kind: string = "tool") {
    const place = server ? `${server}.${tool}` : tool;
    super(tool ? `${place}: ${reason}` : reason);
    this.server = server;
    this.tool = tool;
    this.reason = reason;
    this.kind = kind;
  }
}

/** A call that this program's agent may not make. */
export class PermissionError extends Error {}

/** There is no connection to Satchel. */
export class NotConnectedError extends Error {}

// On the prototype, so that it is no property of its own, and in the first line of the stack.
for (const type of [ToolError, PermissionError, NotConnectedError]) {
  Object.defineProperty(type.prototype, "name", { value: type.name, configurable: true, writable: true });
}
