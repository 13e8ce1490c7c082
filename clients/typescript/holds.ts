/** What the types promise. This file is compiled and never run: a line that should be an error and is none is one. */

import type { DomainEvent, Job, Problem } from "./exact.js";
import type { components, paths } from "./steadhold.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

type Of<S extends Job["state"]> = Extract<Job, { state: S }>;

export const exactlyThese: Same<
  Job["state"],
  "accepted" | "running" | "waiting" | "completed" | "failed" | "cancelled"
> = true;
export const reference: Same<Of<"completed">["result_ref"], string> = true;
export const code: Same<Of<"failed">["error_code"], string> = true;

/** The union as the promise has it: each job that a door shows is one of these. */
type Promised =
  | { job_id: string; state: "accepted" | "running" | "waiting" }
  | { job_id: string; state: "completed"; result_ref: string }
  | { job_id: string; state: "failed"; error_code: string }
  | { job_id: string; state: "cancelled" };

export function isPromised(job: Job): Promised {
  return job;
}

export function isWhole(event: DomainEvent): Record<"event_id" | "schema_version" | "aggregate_id", string> &
  Record<"occurred_at" | "type" | "data_ref", string> & { aggregate_revision: number } {
  return event;
}

export function narrows(job: Job): string {
  // @ts-expect-error: not every job has a result.
  job.result_ref;
  // @ts-expect-error: nor has every job failed.
  job.error_code;
  if (job.state === "completed") {
    // @ts-expect-error: what is completed has not failed.
    job.error_code;
    return job.result_ref;
  }
  if (job.state === "failed") {
    // @ts-expect-error: what has failed has no result.
    job.result_ref;
    return job.error_code;
  }
  // @ts-expect-error: there is no such state.
  if (job.state === "done") return "";
  return job.job_id;
}

export function coversAll(job: Job): string {
  switch (job.state) {
    case "accepted":
    case "running":
    case "waiting":
    case "completed":
    case "failed":
    case "cancelled":
      return job.state;
    default: {
      const none: never = job;
      return none;
    }
  }
}

export function coversTooLittle(job: Job): string {
  switch (job.state) {
    case "completed":
    case "failed":
      return job.state;
    default: {
      // @ts-expect-error: four states are left.
      const none: never = job;
      return String(none);
    }
  }
}

// @ts-expect-error: a job that is completed has its reference.
export const withoutResult: Promised = { job_id: "1", state: "completed" };

// @ts-expect-error: user JSON may be anything, so it is told as nothing that could be relied on.
export const guessed: number = ({} as DomainEvent).data;

export const next: Same<Problem["next"], "resend" | "reread" | "wait" | "stop"> = true;

// @ts-expect-error: codes are a closed list.
export const unknownCode: Problem["code"] = "no_such_code";

// @ts-expect-error: a new job needs an operation's id.
export const withoutKey: paths["/v1/jobs"]["post"]["parameters"]["header"] = {};

export const least: components["schemas"]["SubmitBody"] = { type: "invoice" };
