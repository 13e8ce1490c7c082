/** A client of steadhold whose types are the server's own, and which hands JSON on as the bytes that it is. */

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./steadhold.js";

export type Job = components["schemas"]["Job"];
export type DomainEvent = components["schemas"]["DomainEvent"];
export type Problem = components["schemas"]["Problem"];
export type Steadhold = Client<paths>;

/** The JSON of a value and the revision at which it stands. `raw` is what was written, byte for byte. */
export interface Exact {
  readonly raw: string;
  readonly revision: number;
}

/** The server said no. `problem.code` is stable; `problem.next` says what to do about it. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
  }
}

export function connect(url: string, key: string): Steadhold {
  return createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } });
}

/** What a name holds, or undefined where there is nothing. `JSON.parse(raw)` would round its numbers. */
export async function read(client: Steadhold, name: string): Promise<Exact | undefined> {
  const { data, error, response } = await client.GET("/v1/state/{name}", {
    params: { path: { name } },
    parseAs: "text",
  });
  if (error !== undefined) {
    if (error.code === "not_found") return undefined;
    throw new Refused(error);
  }
  return { raw: data, revision: revisionOf(response) };
}

/** Write JSON as it is, where the name still stands at `seen` (undefined: where there is nothing); the new revision.
 *
 * An answer that was lost may be asked for again under the same `operation`: it takes effect once.
 */
export async function write(
  client: Steadhold,
  name: string,
  raw: string,
  seen: number | undefined,
  operation: string = crypto.randomUUID(),
): Promise<number> {
  const condition = seen === undefined ? { "If-None-Match": "*" } : { "If-Match": `"${seen}"` };
  const { error, response } = await client.PUT("/v1/state/{name}", {
    params: { path: { name }, header: { "Idempotency-Key": operation, ...condition } },
    headers: { "content-type": "application/json" },
    body: raw,
    bodySerializer: (body) => body as string,
  });
  if (error !== undefined) throw new Refused(error);
  return revisionOf(response);
}

/** Admit a job whose input is this JSON as it is; its id. */
export async function submit(
  client: Steadhold,
  type: string,
  raw: string,
  operation: string = crypto.randomUUID(),
): Promise<string> {
  const { data, error } = await client.POST("/v1/jobs", {
    params: { header: { "Idempotency-Key": operation } },
    headers: { "content-type": "application/json" },
    body: { type },
    bodySerializer: (body) => `${JSON.stringify(body).slice(0, -1)},"input":${raw}}`,
  });
  if (error !== undefined) throw new Refused(error);
  return data.job_id;
}

/** A job when it has ended. */
export async function ended(client: Steadhold, id: string): Promise<Job> {
  for (let seen: string | undefined; ; ) {
    const waiting = seen === undefined ? {} : { header: { "If-None-Match": seen } };
    const { data, error, response } = await client.GET("/v1/jobs/{id}", {
      params: { path: { id }, query: { wait_seconds: 30 }, ...waiting },
    });
    if (response.status !== 304) {
      if (error !== undefined) throw new Refused(error);
      if (isEnd(data)) return data;
    }
    seen = response.headers.get("etag") ?? seen;
  }
}

function isEnd(job: Job): boolean {
  return job.state === "completed" || job.state === "failed" || job.state === "cancelled";
}

function revisionOf(response: Response): number {
  return Number(response.headers.get("revision"));
}
