import { count } from "../ui/format.ts"
import { outcomeOf, succeeded } from "./health.ts"
import type { Sent } from "./queries.ts"

/** What the receiver responded to a test or a replay. */
export const Result = ({ sent, what }: { sent: Sent; what: string }) => (
  <p className="result" role="status">
    <span className={`badge ${succeeded(sent) ? "good" : "bad"}`}>{outcomeOf(sent)}</span> {what} in{" "}
    {count(sent.latency_ms)} ms{sent.error === null ? "." : `: ${sent.error}`}
    {sent.response_body === "" ? null : <code>{sent.response_body}</code>}
  </p>
)
