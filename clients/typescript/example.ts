/** What docs/typescript.md tells, as a program: `STEADHOLD_URL=… STEADHOLD_API_KEY=… node dist/example.js`. */

import { connect, ended, read, submit, write, type Job } from "./exact.js";

const client = connect(process.env["STEADHOLD_URL"] ?? "http://127.0.0.1:8750", process.env["STEADHOLD_API_KEY"] ?? "");

const order = '{"id": 9007199254740993, "total": 1.10}';
const name = `orders/${crypto.randomUUID()}`;

const revision = await write(client, name, order, undefined);
const stored = await read(client, name);
console.log(stored?.raw === order, stored?.revision === revision);

console.log(JSON.stringify(JSON.parse(order)));

function told(job: Job): string {
  switch (job.state) {
    case "completed":
      return job.result_ref;
    case "failed":
      return job.error_code;
    case "cancelled":
      return "nobody wants it any more";
    default:
      return `${job.state} at revision ${job.revision}`;
  }
}

const job = await submit(client, "invoice", order);
console.log(told(await ended(client, job)));
