/** The one way out of a program. The host sets a connection; tests set one of their own. */
import { NotConnectedError } from "./errors.ts";

/** Carries requests to Satchel. Rejects with ToolError or PermissionError for what fails or is refused. */
export interface Connection {
  request(method: string, params: Record<string, unknown>): Promise<unknown>;
}

let current: Connection | null = null;
let finding: Promise<Connection> | null = null; // two first calls at once must not make two connections

/** Send everything from now on through `connection`. */
export function connect(connection: Connection | null): void {
  current = connection;
}

export async function request(method: string, params: Record<string, unknown>): Promise<unknown> {
  // Without waiting where there is one, which in the box is always.
  const connection = current ?? await (finding ??= find());
  return await connection.request(method, params);
}

/** `satchel bridge` offers a connection outside of the box. */
async function find(): Promise<Connection> {
  try {
    const address = variable("SATCHEL_BRIDGE");
    if (!address) {
      throw new NotConnectedError(
        "this program is not connected to Satchel. Run it with: satchel run FILE; or start satchel bridge" +
          " and set SATCHEL_BRIDGE; or, to try it without servers:" +
          " connect({ request: (method, params) => Promise.resolve(…) })",
      );
    }
    const { connectToBridge } = await import("./local.ts");
    const connection = await connectToBridge(address);
    current ??= connection;
    return current;
  } finally {
    finding = null;
  }
}

function variable(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined; // Deno was not allowed to read it
  }
}
