// The clients of the TypeScript SDK: 1.x, and 2.x in the era of 2026-07-28.
//   node typescript_sdk.mjs NODE_MODULES 1|2 STORY
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [nodeModules, major, written] = process.argv.slice(2);
const story = JSON.parse(written);
const require = createRequire(join(nodeModules, 'package.json'));

function load() {
  if (major === '2') {
    return {
      ...require('@modelcontextprotocol/client'),
      ...require('@modelcontextprotocol/client/stdio'),
      options: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    };
  }
  return {
    ...require('@modelcontextprotocol/sdk/client/index.js'),
    ...require('@modelcontextprotocol/sdk/client/stdio.js'),
    ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    options: {},
  };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport, options } = load();

function makeTransport() {
  if (story.url) {
    const headers = { Authorization: `Bearer ${story.token}` };
    return new StreamableHTTPClientTransport(new URL(story.url), { requestInit: { headers } });
  }
  const [command, ...args] = story.command;
  return new StdioClientTransport({ command, args, env: story.env });
}

/** Wait until the server has logged a line that begins like this. */
async function logged(beginning) {
  for (let waited = 0; waited < 20_000; waited += 50) {
    const lines = existsSync(story.log) ? readFileSync(story.log, 'utf8').split('\n') : [];
    if (lines.some((line) => line.startsWith(beginning))) return true;
    await sleep(50);
  }
  return false;
}

const client = new Client({ name: 'driver', version: '1.0' }, options);
const transport = makeTransport();
await client.connect(transport);

async function call(name, args, signal) {
  const request = { name, arguments: args };
  const answer = await (major === '2'
    ? client.callTool(request, { signal })
    : client.callTool(request, undefined, { signal }));
  const text = answer.content.filter((block) => block.type === 'text').map((block) => block.text);
  return { is_error: answer.isError ?? false, structured: answer.structuredContent, text: text.join('\n') };
}

async function refused() {
  try {
    const answer = await call('no_such_tool', {});
    return answer.is_error ? answer.text : '';
  } catch (error) {
    return String(error);
  }
}

async function cancelled() {
  const controller = new AbortController();
  const running = call('execute_code', { code: story.endless }, controller.signal).catch(() => {});
  if (!(await logged('tools/call sleep'))) return false;
  controller.abort('no longer wanted');
  await running;
  return logged('cancelled ');
}

const report = {
  version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  found: await call('search_tools', { query: 'add two numbers' }),
  executed: await call('execute_code', { code: story.program }),
  failed: await call('execute_code', { code: story.failing }),
  unknown: await refused(),
  cancelled: await cancelled(),
  after: await call('list_servers', {}),
};
await client.close();
console.log(JSON.stringify(report));
