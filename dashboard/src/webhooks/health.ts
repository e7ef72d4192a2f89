import { ago, plural } from "../ui/format.ts"
import type { Attempt, Sent, Webhook } from "./queries.ts"

export interface Health {
  readonly kind: "good" | "warn" | "bad" | ""
  readonly words: string
  /** Why, and what to do. */
  readonly why?: string
}

/** What is most in need of attention first. */
export const healthOf = (webhook: Webhook): Health => {
  const { active, disabled_at, disabled_reason, fail_count, last_attempt, table_exists, warning } = webhook
  if (disabled_at !== null) {
    const why = `The service stopped deliveries ${ago(disabled_at)}: ${disabled_reason ?? "the receiver failed"}.`
    return { kind: "bad", words: "disabled", why }
  }
  if (!active) return { kind: "", words: "paused", why: "Changes are neither recorded nor sent while it is paused." }
  if (!table_exists) {
    return {
      kind: "warn",
      words: "table missing",
      why: "There is no table of this name. Deliveries resume once there is one."
    }
  }
  if (warning !== undefined) return { kind: "warn", words: "refused", why: `${warning}.` }
  if (fail_count > 0) {
    return {
      kind: "warn",
      words: "failing",
      why: `${plural(fail_count, "attempt")} failed one after another. Deliveries are tried again, later each time.`
    }
  }
  return last_attempt === null ? { kind: "", words: "nothing sent yet" } : { kind: "good", words: "delivering" }
}

export const succeeded = ({ status_code }: Pick<Attempt, "status_code">) =>
  status_code !== null && status_code >= 200 && status_code < 300

/** What came of an attempt, in a few words. */
export const outcomeOf = (attempt: Pick<Sent, "status_code">) =>
  attempt.status_code === null ? "no response" : `HTTP ${attempt.status_code}`

export const nameOf = ({ id, name }: Pick<Webhook, "id" | "name">) => (name === "" ? `Webhook ${id}` : name)

export const tableOf = ({ table_name, table_schema }: Pick<Webhook, "table_name" | "table_schema">) =>
  table_schema === "public" ? table_name : `${table_schema}.${table_name}`
