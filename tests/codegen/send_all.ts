/**
 * Calls wrappers of a tree and prints what they sent.
 *
 * deno run --allow-read send_all.ts TREE CALLS.json, where CALLS.json has [{file, name, inputs: [{…}]}].
 */

interface Work {
  file: string;
  name: string;
  inputs: object[];
}
type Params = { server: string; tool: string; arguments: unknown };

const [tree, calls] = Deno.args;
const runtime = await import(`file://${tree}/satchel-runtime/index.ts`);
const sent: Params[] = [];
runtime.connect({
  request: (_method: string, params: Params) => Promise.resolve(sent.push(params)),
});
for (const work of JSON.parse(await Deno.readTextFile(calls)) as Work[]) {
  const module = await import(`file://${tree}/${work.file}`);
  for (const input of work.inputs) await module[work.name](input);
}
console.log(JSON.stringify(sent));
