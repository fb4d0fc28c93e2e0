/**
 * Put the findings of the latest quarterly report into a deal's notes, and tell the team.
 *
 *     satchel run programs/quarterly_report.ts
 *
 * The report has more than 100,000 characters. They stay in here: a model sees only what is printed.
 */
import { getDocument, listDocuments } from "./servers/google-drive";
import { addNote, getRecord } from "./servers/salesforce";
import { postMessage } from "./servers/slack";

const reports = await listDocuments({ folder: "Finance/Quarterly Reports", query: "Quarterly" });
const [latest] = reports.documents.sort((a, b) => b.modified_at.localeCompare(a.modified_at));
const report = await getDocument({ document_id: latest.id });
const findings = report.content.split("\n").filter((line) => line.startsWith("Finding:"));

const deal = await getRecord({ object_type: "Opportunity", record_id: "OPP-001" });
const summary = findings.map((line) => line.replace("Finding:", "-")).join("\n");
const note = await addNote({ record_id: "OPP-001", title: `Findings of ${report.title}`, body: summary });
const text = `${deal.fields.name}: ${findings.length} findings of ${report.title} are in ${note.id}`;
const message = await postMessage({ channel: "sales", text });

console.log(
  `${report.title}: ${report.content.length.toLocaleString("en-US")} characters, ${findings.length} findings`,
);
console.log(`noted as ${note.id} at OPP-001, ${deal.fields.name}`);
console.log(`told #${message.channel}`);
export const result = { document: latest.id, note: note.id, findings: findings.length };
